"""What every layout is read into: a transformer, a tokenizer, the rules of both sides, and heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import CheckpointError
from .graph import Graph
from .heads import DenseHead, LexicalHead, MultiVectorHead
from .tokens import TextRules, TextTokenizer
from .transformer_bert import Bert
from .transformer_t5 import T5
from .weights import StoredTensor, Weights, read_json

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

    def tensors(self) -> list[StoredTensor]:
        """All that are used."""

    def ignores(self, name: str) -> bool:
        """Whether a tensor of the file is known and not needed."""

    def write(self, graph: Graph, ids: str, lengths: str, types: str | None = None) -> str:
        """States (texts, tokens, hidden)."""


class UnwrittenTransformer:
    """An architecture of which no graph can be written: the torch runtime alone can run it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Sizes, as far as the configuration names them."""
        self.kind = str(config.get("model_type"))
        hidden = config.get("hidden_size") or config.get("dim")  # the latter in DistilBERT
        if not hidden or not config.get("vocab_size"):
            raise CheckpointError(f"config.json of a {self.kind!r} model has no hidden_size and vocab_size")
        self.hidden, self.vocabulary = int(hidden), int(config["vocab_size"])
        positions = config.get("max_position_embeddings")
        self.most_tokens = int(positions) if positions else None

    def tensors(self) -> list[StoredTensor]:
        """None that we know by name."""
        return []

    def ignores(self, name: str) -> bool:
        """Everything: transformers checks them."""
        return True

    def write(self, graph: Graph, ids: str, lengths: str, types: str | None = None) -> str:
        """Not possible."""
        raise CheckpointError(
            f"model_type {self.kind!r} cannot run on onnxruntime here, expected one of {', '.join(TRANSFORMERS)}: "
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
    multi_vector: MultiVectorHead | None = None

    def __post_init__(self) -> None:
        """The tokenizer must fit the transformer, the rules its positions."""
        if self.tokenizer.vocabulary > self.transformer.vocabulary:
            raise CheckpointError(
                f"{self.tokenizer.file} has ids up to {self.tokenizer.vocabulary - 1}, expected fewer than the "
                f"{self.transformer.vocabulary} rows of the word embeddings"
            )
        most = self.transformer.most_tokens
        for side, rules in (("documents", self.document), ("queries", self.query)):
            least = self.tokenizer.shortest(rules)
            if rules.length < least:
                raise CheckpointError(f"{self.folder}: {side} of {rules.length} tokens, expected at least {least}")
            if most is not None and max(rules.length, rules.expand_to) > most:
                raise CheckpointError(
                    f"{self.folder}: {side} of {rules.length} tokens, but the model has {most} positions"
                )

    @property
    def views(self) -> tuple[str, ...]:
        """Of dense, lexical, multi_vector: those it has."""
        return tuple(name for name in ("dense", "lexical", "multi_vector") if getattr(self, name) is not None)


def open_transformer(folder: Path, weights: Weights) -> Transformer:
    """By the `model_type` of config.json."""
    config = read_json(folder / "config.json")
    kind = TRANSFORMERS.get(str(config.get("model_type")))
    if kind is None:
        return UnwrittenTransformer(config)
    try:
        return kind(config, weights)
    except KeyError as error:
        raise CheckpointError(f"{folder / 'config.json'} has no {error}, expected it in a {kind.__name__}") from None
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{folder / 'config.json'} has something that is no number: {error}") from error
    except ZeroDivisionError:
        raise CheckpointError(f"{folder / 'config.json'} has no attention heads") from None


def refuse_unknown(
    weights: Weights, transformer: Transformer, known: Sequence[str], ignored: Sequence[str] = ()
) -> None:
    """A tensor that nobody uses means that the model is not what it is taken for."""
    used = {tensor.name for tensor in transformer.tensors()} | set(known)
    for name in weights:
        if name not in used and not transformer.ignores(name) and not name.startswith(tuple(ignored)):
            raise CheckpointError(f"{weights[name].file}: tensor {name!r} is not part of this layout")
