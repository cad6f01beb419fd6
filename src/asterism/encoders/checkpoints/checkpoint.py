"""What every layout is read into: a transformer, a tokenizer, the rules of both sides, and heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...errors import AsterismError, CheckpointError
from ...settings import VIEWS, View
from ..graph.bert import Bert
from ..graph.graph import Graph
from ..graph.heads import DenseHead, Gated, LexicalHead, MultiVectorHead, Projection
from ..graph.t5 import T5
from ..tokens import TextRules, TextTokenizer
from .settings import read_json, read_whole, shorten
from .size_limits import LONGEST_PROMPT, LONGEST_TEXT, MOST_FILLED, MOST_POOLED, WIDEST, WIDEST_INNER
from .weights.tensors import StoredTensor, Weights

TRANSFORMERS: dict[str, type[Bert] | type[T5]] = {
    "bert": Bert,
    "roberta": Bert,
    "xlm-roberta": Bert,
    "t5": T5,
    "mt5": T5,
}


class Transformer(Protocol):
    """Token ids to states, as nodes of a graph."""

    hidden: int
    vocabulary: int
    most_tokens: int | None

    def list_tensors(self) -> list[StoredTensor]:
        """All tensors that are used."""

    def is_ignored(self, name: str) -> bool:
        """Whether a tensor of the file is known but not needed."""

    def write(self, graph: Graph, ids: str, lengths: str, types: str | None = None) -> str:
        """ids (texts, tokens), lengths (texts,), types -> states (texts, tokens, hidden)."""


class UnwrittenTransformer:
    """An architecture that only the torch runtime can run, because no graph is written for it."""

    def __init__(self, config: Mapping[str, Any], weights: Weights, file: Path) -> None:
        """The sizes in the configuration; none may exceed those of the weights."""
        self.kind = shorten(config.get("model_type"))
        largest = max((extent for tensor in weights.values() if tensor.length for extent in tensor.shape), default=0)
        for name, value in config.items():
            most = len(weights) if "layers" in name else largest if name.endswith(("size", "dim")) else None
            if most is not None and type(value) is int and value > most:
                raise CheckpointError(f"{file}: {name} is {shorten(value)}, expected at most {most}, as in the weights")
        wide = "dim" if "hidden_size" not in config and "dim" in config else "hidden_size"  # DistilBERT has dim
        self.hidden = read_whole(config, wide, file, most=largest)
        self.vocabulary = read_whole(config, "vocab_size", file, most=largest)
        self.most_tokens = read_whole(config, "max_position_embeddings", file, 0, least=0) or None

    def list_tensors(self) -> list[StoredTensor]:
        """Empty: no names are known."""
        return []

    def is_ignored(self, name: str) -> bool:
        """All of them: transformers checks the tensors."""
        return True

    def write(self, graph: Graph, ids: str, lengths: str, types: str | None = None) -> str:
        """Raise: there is no graph."""
        raise CheckpointError(
            f"model_type {self.kind} has no ONNX graph here, expected one of {', '.join(TRANSFORMERS)}: "
            "load it with runtime='torch' (pip install 'asterism[train]')"
        )


@dataclass(frozen=True)
class Checkpoint:
    """A model as read from its folder. `document` and `query` are the rules of the two sides."""

    family: str
    folder: Path  # of the transformer's config.json and weights
    transformer: Transformer
    tokenizer: TextTokenizer
    files: tuple[Path, ...]
    document: TextRules
    query: TextRules
    dense: DenseHead | None = None
    lexical: LexicalHead | None = None
    multi: MultiVectorHead | None = None

    def __post_init__(self) -> None:
        """Check the tokenizer's ids, the lengths of both sides and the sizes of the heads."""
        refuse_foreign_ids(self.tokenizer, self.transformer)
        for side, rules in (("documents", self.document), ("queries", self.query)):
            self._check(side, rules)
        heads = [head for head in (self.dense, self.multi) if head]
        for layer in (layer for head in heads for layer in head.layers if isinstance(layer, Projection)):
            if layer.outputs > WIDEST:
                raise CheckpointError(f"{self.folder}: vectors of {layer.outputs} numbers, expected up to {WIDEST}")
            if isinstance(layer, Gated) and len(layer.gate) > WIDEST_INNER:
                raise CheckpointError(
                    f"{self.folder}: a gated layer of {len(layer.gate)} numbers, expected up to {WIDEST_INNER}"
                )
        pooling = self.multi.pooling if self.multi else None
        if pooling and not pooling.positions == self.document.length == self.document.expand_to:
            raise CheckpointError(
                f"{self.folder}: documents of {self.document.length} tokens, filled up to {self.document.expand_to}, "
                f"but pooling takes {pooling.positions}"
            )
        if pooling and len(pooling.weight) * self.transformer.hidden > MOST_POOLED:
            raise CheckpointError(
                f"{self.folder}: pooling makes {len(pooling.weight)} vectors of {self.transformer.hidden} numbers, "
                f"expected at most {MOST_POOLED} numbers"
            )

    def _check(self, side: str, rules: TextRules) -> None:
        least, most = self.tokenizer.get_least_length(rules), self.transformer.most_tokens
        if rules.length < least:
            raise CheckpointError(f"{self.folder}: {side} of {rules.length} tokens, expected at least {least}")
        if most is not None and max(rules.length, rules.expand_to) > most:
            raise CheckpointError(f"{self.folder}: {side} of {rules.length} tokens, but the model has {most} positions")
        if rules.length > LONGEST_TEXT or rules.expand_to > MOST_FILLED:
            raise CheckpointError(
                f"{self.folder}: {side} of {rules.length} tokens, filled up to {rules.expand_to}, "
                f"expected at most {LONGEST_TEXT} and {MOST_FILLED}"
            )
        if len(rules.prompt) > LONGEST_PROMPT:
            raise CheckpointError(
                f"{self.folder}: a prompt of {len(rules.prompt)} characters before {side}, "
                f"expected at most {LONGEST_PROMPT}"
            )

    @property
    def views(self) -> tuple[View, ...]:
        """The views that the model has."""
        return tuple(name for name in VIEWS if getattr(self, name) is not None)


def refuse_foreign_ids(tokenizer: TextTokenizer, transformer: Transformer) -> None:
    """Refuse a tokenizer with ids that have no row in the word embeddings."""
    if tokenizer.vocabulary > transformer.vocabulary:
        raise CheckpointError(
            f"{tokenizer.file} has ids up to {tokenizer.vocabulary - 1}, expected fewer than the "
            f"{transformer.vocabulary} rows of the word embeddings"
        )


@contextmanager
def translate_errors(folder: Path, family: str) -> Iterator[None]:
    """Any error that a wrong setting leads to becomes a CheckpointError."""
    try:
        yield
    except AsterismError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, OSError) as error:
        raise CheckpointError(f"{folder} cannot be read as a {family} folder: {error!r}") from error


def open_transformer(folder: Path, weights: Weights) -> Transformer:
    """The transformer of a folder, by the `model_type` of its config.json."""
    config = read_json(folder / "config.json")
    kind = TRANSFORMERS.get(str(config.get("model_type")), UnwrittenTransformer)
    return kind(config, weights, folder / "config.json")


def refuse_unknown(
    weights: Weights, transformer: Transformer, known: Sequence[str], ignored: Sequence[str] = ()
) -> None:
    """Refuse tensors that nothing uses: the model is probably not of this layout."""
    used = {tensor.name for tensor in transformer.list_tensors()} | set(known)
    for name in weights:
        if name not in used and not transformer.is_ignored(name) and not name.startswith(tuple(ignored)):
            raise CheckpointError(f"{weights[name].file}: tensor {name!r} is not part of this layout")
