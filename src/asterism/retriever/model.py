"""The model of an index: chosen views, lazy loading, and identification by the hashes of its files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ..collection.kept_views import Views
from ..encoders.loading import load_encoder
from ..errors import InputError, ModelDiffers, UnknownModel
from ..models.registry import DEFAULT
from ..settings import VIEWS, EncoderSettings, TermCounting, Terms, TokenBuild
from ..storage.facts import Facts

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder


class LazyEncoder:
    """An index's model, loaded once, at the first call from any thread."""

    def __init__(self, load: Callable[[], Encoder]) -> None:
        """`load` is called at most once."""
        self._load = load
        self._loaded: Encoder | None = None
        self._guard = threading.Lock()

    def keep(self, loaded: Encoder) -> None:
        """Use a model that is already loaded."""
        with self._guard:
            self._loaded = loaded

    def follow(self, other: LazyEncoder) -> None:
        """Use the model of another, loaded when one of them needs it."""
        with self._guard:
            self._load, self._loaded = other, None

    def __call__(self) -> Encoder:
        """Return the model; load it if necessary."""
        with self._guard:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


def load_model(model: str | os.PathLike[str], settings: EncoderSettings) -> Encoder:
    """Load a model by name or folder."""
    return load_encoder(model, **asdict(settings))


def is_of_words_alone(model: str | os.PathLike[str], views: Sequence[str] | None, terms: Terms | None) -> bool:
    """Whether an index counts words and keeps nothing else, so that it needs no model.

    A model other than the default may have a lexical head, whose terms it would keep.
    """
    return _are_views(views) and set(views or ()) == {"lexical"} and (terms or model) in ("words", DEFAULT)


def choose_views(
    encoder: Encoder,
    wanted: Sequence[str] | None,
    terms: Terms | None,
    counting: TermCounting | None,
    most_vectors: int,
    build: TokenBuild,
) -> Views:
    """The wanted views of a model, or all for None; without a lexical head, words are counted."""
    there: list[str] = [view for view in VIEWS if view == "lexical" or view in encoder.views]
    if wanted is None:
        wanted = there
    if not _are_views(wanted):
        raise InputError(f"views is {wanted!r}, expected some of {', '.join(VIEWS)}")
    for view in wanted:
        if view not in there:
            raise InputError(
                f"the model has no {view} vectors (it has {', '.join(encoder.views)}): choose another view"
            )
    constant = encoder.describe()["vectors_per_document"]
    multi = replace(build, fixed=constant) if constant else build
    lexical = _choose_terms(encoder, terms) if "lexical" in wanted else None
    kept = Views(
        multi if "multi" in wanted else None,
        "dense" in wanted,
        lexical,
        most_vectors,
        _choose_counting(counting, lexical),
    )
    if kept.multi is not None and 0 < kept.most_vectors < kept.multi.fixed:
        given = f"most_vectors is {most_vectors}, but the model gives every document {constant} vectors"
        raise InputError(f"{given}: leave it out")
    return kept


def _are_views(wanted: object) -> bool:
    return isinstance(wanted, list | tuple) and bool(wanted) and all(view in VIEWS for view in wanted)


def _choose_terms(encoder: Encoder, terms: Terms | None) -> Terms:
    if terms not in (None, *get_args(Terms)):
        raise InputError(f"terms is {terms!r}, expected one of {', '.join(get_args(Terms))}")
    has_head = "lexical" in encoder.views
    if terms == "model" and not has_head:
        raise InputError("terms is 'model', but the model has no lexical head: use 'words' or 'tokens'")
    return terms or ("model" if has_head else "words")


def _choose_counting(counting: TermCounting | None, lexical: Terms | None) -> TermCounting | None:
    """The given settings where terms are counted; a language only where words are."""
    if lexical == "words":
        return counting or TermCounting()
    if counting is not None and counting.language not in ("auto", "none"):
        raise InputError(f"language is {counting.language!r}, but the index counts no words: leave it out")
    if lexical == "tokens":
        return replace(counting or TermCounting(), language="none")
    return None if counting == TermCounting() else counting


def describe_model(model: str | os.PathLike[str], encoder: Encoder, settings: EncoderSettings) -> dict[str, Any]:
    """What an index stores about its model: where to find it, its settings, and the hashes of its files."""
    described = encoder.describe()
    folder = Path(model).expanduser()
    kept = {name: value for name, value in asdict(settings).items() if name not in ("threads", "batch_tokens")}
    return {
        "name": str(folder.resolve()) if folder.is_dir() else str(model),
        "settings": kept,
        "family": described["family"],
        "dimensions": described["views"].get("multi", described["views"].get("dense", 0)),
        "vectors_per_document": described["vectors_per_document"],
        "files": sorted(described["files"].values()),
    }


def load_same_model(model: str | os.PathLike[str] | None, stored: dict[str, Any], path: Path) -> Encoder:
    """Load the model of the index at `path`, from `model` or from its stored location; refuse any other model."""
    if not stored:
        raise InputError(f"{path} is an index of words alone, which has no model: build another one with --views")
    facts = Facts(stored, f"{path}: its model")
    settings = facts.read("settings", EncoderSettings.from_json)
    place = facts.text("name") if model is None else model
    try:
        loaded = load_model(place, settings)
    except UnknownModel as error:
        if model is not None:
            raise
        raise UnknownModel(f"{error}: pass the model's new location with open(path, model=) or --model") from error
    if describe_model(place, loaded, settings)["files"] != stored.get("files"):
        raise ModelDiffers(
            f"{place} is not the model that {path} was built with ({facts.text('name')}): use that one, "
            "or build a new index"
        )
    return loaded
