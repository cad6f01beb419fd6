"""Settings: frozen values. Build settings are stored with an index, search settings are an argument."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from .errors import SettingError

View = Literal["dense", "lexical", "multi"]  # one vector per document, weighted terms, one vector per token
TokenMethod = Literal["colbert", "xtr", "exact"]
Method = Literal["colbert", "xtr", "exact", "dense", "lexical", "hybrid"]
Fusion = Literal[
    "standard", "linear", "rrf", "m3-dense+lexical", "m3-multi", "m3-all", "m3-long-dense+lexical", "m3-long-all"
]
CrossMethod = Literal["adacur", "anncur", "axn", "rerank"]
Imputation = Literal["kth", "cluster", "zero", "none"]
Bits = Literal[1, 2, 4, 16, 32]
Levels = Literal["gaussian", "quantile"]
Refinement = Literal["none", "float16"]
Precision = Literal["float32", "int8"]
Runtime = Literal["onnx", "torch"]
LongText = Literal["windows", "truncate"]
Terms = Literal["model", "tokens", "words"]

Self = TypeVar("Self", bound="Settings")

LANGUAGES = (
    *("auto", "none", "ar", "cs", "da", "de", "el", "en", "es", "fi", "fr", "hi", "it", "nl", "no", "pl", "pt", "ro"),
    *("ru", "sv", "tr"),
)
VIEWS: tuple[View, ...] = get_args(View)
LARGEST = 2**31 - 1
MOST_THREADS = 256
K1, B = 1.2, 0.75  # chosen on cranfield, cisi and scifact, with the terms of TermCounting
MOST_PENALTY = 10.0  # similarities are seldom above 1, and log(1 + vectors) is at least 0.69
MOST_K1 = 1000.0  # beyond it, weights grow with the count; and float32 arithmetic stays far from its limits


class Settings:
    """Base of frozen dataclasses; an unknown keyword raises a SettingError that names the nearest known one."""

    def __new__(cls: type[Self], *args: object, **keywords: object) -> Self:
        """Refuse unknown names before the dataclass sees them."""
        known = [field.name for field in fields(cls)]  # type: ignore[arg-type]  # subclasses are dataclasses
        for name in keywords:
            if name not in known:
                raise SettingError(f"{cls.__name__} has no setting {name!r}: {suggest_name(name, known)}")
        return super().__new__(cls)

    def check_types(self) -> None:
        """Refuse texts in place of true and false, and anything but texts where the annotation is `str`."""
        for field in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, field.name)
            if field.type == "bool" and not isinstance(value, bool):
                raise SettingError(f"{field.name} is {value!r}, expected true or false")
            if field.type == "str" and not isinstance(value, str):
                raise SettingError(f"{field.name} is {value!r}, expected a text")

    @classmethod
    def from_json(cls: type[Self], keywords: Mapping[str, Any]) -> Self:
        """The settings with these values, the rest at their defaults."""
        return cls(**keywords)


def suggest_name(name: str, known: Sequence[str]) -> str:
    """What an unknown name was probably meant to be, for an error message."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"


def check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise SettingError(f"{name} is {value!r}, expected one of {', '.join(repr(c) for c in choices)}")


def check_whole_number(name: str, value: Any, least: int, most: int = LARGEST) -> int:
    """`value` as an int from `least` to `most`; accepts NumPy's integers, refuses booleans."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool | np.bool_) or not least <= number <= most:
        raise SettingError(f"{name} is {value!r}, expected a whole number from {least} to {most}")
    return number


def check_number(name: str, value: Any, least: float, most: float) -> float:
    """`value` as a float from `least` to `most`; accepts NumPy's numbers, refuses booleans and NaN."""
    right = isinstance(value, float | int | np.floating | np.integer) and not isinstance(value, bool)
    if not right or not least <= value <= most:
        raise SettingError(f"{name} is {value!r}, expected a number from {least:g} to {most:g}")
    return float(value)


def count_threads(threads: int) -> int:
    """`threads`; for 0, the number of cores that this process may use."""
    if threads:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class TokenBuild(Settings):
    """How token vectors are stored.

    bits         bits per dimension: 1, 2 or 4 (codes of the residual to a centroid), 16 or 32 (the floats themselves)
    fixed        vectors per document, if all documents have the same number (0: any number)
    seed         of every random choice; the same vectors and seed give the same bytes
    levels       "gaussian": random rotation, Lloyd–Max levels, an unbiased scale per vector (RaBitQ);
                 "quantile": ColBERTv2's pooled quantiles and unit length after decoding
    refinement   "float16" stores a second, finer copy that is read only for the last few documents
    centroids    about how many centroids (0: 2^⌊log2(16·√vectors)⌋, bounded by the sample)
    threads      used while building (0: all cores); does not change the result
    """

    bits: Bits = 4
    fixed: int = 0
    seed: int = 7
    levels: Levels = "gaussian"
    refinement: Refinement = "none"
    centroids: int = 0
    threads: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("bits", "fixed", "seed", "centroids"):
            object.__setattr__(self, name, check_whole_number(name, getattr(self, name), 0))
        object.__setattr__(self, "threads", check_whole_number("threads", self.threads, 0, MOST_THREADS))
        check_choice("bits", self.bits, get_args(Bits))
        check_choice("levels", self.levels, get_args(Levels))
        check_choice("refinement", self.refinement, get_args(Refinement))
        if self.refinement != "none" and self.bits >= 16:
            raise SettingError(f"refinement={self.refinement!r} needs bits 1, 2 or 4, not {self.bits}")


@dataclass(frozen=True)
class TermCounting(Settings):
    """How the terms of documents and queries are counted, and how BM25 turns counts into weights.

    k1         how much further occurrences of a term add: with 0 nothing, and the more, the larger it is
    b          how much a document's length counts: from 0, not at all, to 1, in proportion
    language   of words: ISO 639-1 code of the language whose endings and function words are removed; "none" for no
               language; "auto": found from the first 256 documents, "none" if they have no clear language
    """

    k1: float = K1
    b: float = B
    language: str = "auto"

    def __post_init__(self) -> None:
        """Check every value."""
        object.__setattr__(self, "k1", check_number("k1", self.k1, 0, MOST_K1))
        object.__setattr__(self, "b", check_number("b", self.b, 0, 1))
        check_choice("language", self.language, LANGUAGES)


FIRST_COUNTING = TermCounting(k1=0.9, b=0.75, language="none")  # of indexes that do not store theirs: formats 2 and 3


@dataclass(frozen=True)
class TokenSearch(Settings):
    """How token vectors are searched. Zero means: chosen from k and the index.

    method       "colbert": probe, centroid interaction, MaxSim over all tokens of the survivors;
                 "xtr": only the retrieved tokens, missing ones imputed; "exact": MaxSim with every document
    probes       centroids probed for each query token
    candidates   documents scored by centroid interaction (colbert)
    refine       maximum documents scored by MaxSim (colbert)
    confidence   they are scored best estimates first, until the next estimate is this many standard deviations below
                 the k-th score found (colbert); inf scores all of them
    rescore      documents scored with the finer copy, in an index built with one (colbert)
    imputation   the similarity of a query token that found nothing in a document (xtr): "kth" the k'-th retrieved
                 similarity, "cluster" the centroid at which t' tokens are reached (WARP), "zero", or "none":
                 the mean over the query tokens that found something
    retrieved    XTR's k': tokens kept for each query token (imputation "kth")
    cluster_tokens   WARP's t' (imputation "cluster")
    length_penalty   times log(1 + vectors of the document): taken from the mean similarity of a query token, because
                 MaxSim favours long documents; try 0.03 with the default model (0: none)
    threads      that share one query (not used by search_many); does not change the result
    """

    method: TokenMethod = "colbert"
    probes: int = 0
    candidates: int = 0
    refine: int = 0
    confidence: float = 3.0
    rescore: int = 0
    imputation: Imputation = "kth"
    retrieved: int = 0
    cluster_tokens: int = 0
    length_penalty: float = 0.0
    threads: int = 1

    def __post_init__(self) -> None:
        """Check every value."""
        check_choice("method", self.method, get_args(TokenMethod))
        check_choice("imputation", self.imputation, get_args(Imputation))
        for name in ("probes", "candidates", "refine", "rescore", "retrieved", "cluster_tokens"):
            object.__setattr__(self, name, check_whole_number(name, getattr(self, name), 0))
        object.__setattr__(self, "threads", check_whole_number("threads", self.threads, 1, MOST_THREADS))
        penalty = check_number("length_penalty", self.length_penalty, 0, MOST_PENALTY)
        object.__setattr__(self, "length_penalty", penalty)
        if (
            isinstance(self.confidence, bool)
            or not isinstance(self.confidence, float | int)
            or not self.confidence >= 0
        ):
            raise SettingError(f"confidence is {self.confidence!r}, expected a number of at least 0")


@dataclass(frozen=True)
class HybridSearch(Settings):
    """How the scores of several views are fused into one.

    fusion    "standard": each view's scores on the scale that they have in this index, weighted by how well the view
              finds documents there and by how well the model can read the query; token vectors only score what the
              other views find, if there are two others;
              "linear": candidates from every view, each scored by every view, weighted sum of the scores as they are;
              "rrf": the same candidates, sum of reciprocal ranks;
              "m3-…": the protocols of BGE-M3, for models whose scores have its scales: dense+lexical (both top 1000),
              multi and all (dense top 200), and their weights for long documents
    weights   of dense, lexical and multi, instead of the fusion's own
    depth     candidates of each view, instead of the fusion's own (0); never fewer than k
    tokens    how token vectors are searched for candidates; None for TokenSearch()
    calibrated  scores from 0 to 1, in the same order: 0.5 is halfway between a random document and the one that a
              sentence was taken from (fusion "standard")
    """

    fusion: Fusion = "standard"
    weights: tuple[float, float, float] | None = None
    depth: int = 0
    tokens: TokenSearch | None = None
    calibrated: bool = False

    @classmethod
    def from_json(cls, keywords: Mapping[str, Any]) -> HybridSearch:
        """The settings from JSON, in which `tokens` is a nested object."""
        tokens = keywords.get("tokens")
        if isinstance(tokens, Mapping):
            keywords = {**keywords, "tokens": TokenSearch.from_json(tokens)}
        return cls(**keywords)

    def __post_init__(self) -> None:
        """Check every value."""
        check_choice("fusion", self.fusion, get_args(Fusion))
        object.__setattr__(self, "depth", check_whole_number("depth", self.depth, 0))
        if self.weights is not None:
            object.__setattr__(self, "weights", _check_weights(self.weights))
        if not isinstance(self.tokens, TokenSearch | None):
            raise SettingError(f"tokens is a {type(self.tokens).__name__}, expected TokenSearch(...) or None")
        if not isinstance(self.calibrated, bool):
            raise SettingError(f"calibrated is {self.calibrated!r}, expected True or False")
        if self.calibrated and self.fusion != "standard":
            raise SettingError(f"calibrated scores need fusion='standard', not {self.fusion!r}")


@dataclass(frozen=True)
class CrossSearch(Settings):
    """How a scorer searches an index within a budget.

    method    "adacur": in rounds, predict all scores from those known so far, ask about the best, and begin anew;
              "anncur": the same in one round, from fixed anchor items; "axn": rounds over the dense vectors of the
              index instead of its anchor scores, where it has them; "rerank": the best of an ordinary search
    calls     of the scorer, for a query
    rounds    of "adacur" and "axn"
    first     the ordinary search that finds the first candidates; None for the default method of the index
    ridge     of "axn", relative to the largest eigenvalue; the ridge of the others is chosen when the index is built
    mix       of "axn": the share of the query's own dense vector, on the scale of the scores, from 0 to 1
    """

    method: CrossMethod = "adacur"
    calls: int = 200
    rounds: int = 5
    first: str | None = None
    ridge: float = 1e-2
    mix: float = 0.0

    def __post_init__(self) -> None:
        """Check every value."""
        check_choice("method", self.method, get_args(CrossMethod))
        object.__setattr__(self, "calls", check_whole_number("calls", self.calls, 1))
        object.__setattr__(self, "rounds", check_whole_number("rounds", self.rounds, 1, 1000))
        object.__setattr__(self, "ridge", check_number("ridge", self.ridge, 0, 1e6))
        object.__setattr__(self, "mix", check_number("mix", self.mix, 0, 1))
        if not isinstance(self.first, str | None):
            raise SettingError(f"first is a {type(self.first).__name__}, expected the name of a method")


def _check_weights(given: Any) -> tuple[float, float, float]:
    try:
        dense, lexical, multi = (float(weight) for weight in given)
        right = all(0 <= weight <= 1e6 for weight in (dense, lexical, multi)) and max(dense, lexical, multi) >= 1e-6
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        expected = "three numbers for dense, lexical and multi, not all 0, the largest from 1e-6 to 1e6"
        raise SettingError(f"weights is {given!r}, expected {expected}")
    return dense, lexical, multi


@dataclass(frozen=True)
class EncoderSettings(Settings):
    """How a model runs. Zero means: as the model's own files say.

    precision        "float32", or "int8": weights and products in 8 bits where the loss is small
    runtime          "onnx": onnxruntime, on the CPU; "torch": torch and transformers, for GPUs and other architectures
    threads          cores to use (0: all)
    document_length  tokens of a document, or of a window of one
    query_length     tokens of a query
    long             longer documents: "windows" that overlap and belong to one document, or "truncate"
    cls_every        another [CLS] before each further block of this many tokens, all averaged (BGE-M3's MCLS; 0: off)
    batch_tokens     approximate number of tokens in a batch
    """

    precision: Precision = "float32"
    runtime: Runtime = "onnx"
    threads: int = 0
    document_length: int = 0
    query_length: int = 0
    long: LongText = "windows"
    cls_every: int = 0
    batch_tokens: int = 2048

    def __post_init__(self) -> None:
        """Check every value."""
        check_choice("precision", self.precision, get_args(Precision))
        check_choice("runtime", self.runtime, get_args(Runtime))
        check_choice("long", self.long, get_args(LongText))
        for name in ("document_length", "query_length", "cls_every"):
            object.__setattr__(self, name, check_whole_number(name, getattr(self, name), 0))
        object.__setattr__(self, "threads", check_whole_number("threads", self.threads, 0, MOST_THREADS))
        object.__setattr__(self, "batch_tokens", check_whole_number("batch_tokens", self.batch_tokens, 1))
        if self.runtime == "torch" and self.precision != "float32":
            raise SettingError(f"precision={self.precision!r} needs runtime='onnx', not 'torch'")
