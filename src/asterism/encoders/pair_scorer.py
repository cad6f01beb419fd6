"""Cross-encoders: one score for a query and a text that the model reads together.

[CLS] form: layers over the state of the first token. [EMB] form (ANNCUR): the query is between two markers, the text
after a third; score = mean of the states of the first two · state of the third.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import CheckpointError, SettingError
from ..models.file_hashes import find_hashes
from ..settings import LARGEST, EncoderSettings, check_whole_number, count_threads
from ..terms.texts import check_texts
from .batching import make_batches
from .checkpoints.checkpoint import Transformer, open_transformer, refuse_foreign_ids, refuse_unknown, translate_errors
from .checkpoints.layouts import asterism
from .checkpoints.settings import read_strings, shorten
from .checkpoints.weights.files import open_weights
from .checkpoints.weights.tensors import Weights
from .graph.bert import Bert
from .graph.graph import Graph
from .graph.heads import Layers, Linear, apply_layers
from .runtimes.onnx import (
    OnnxSession,
    find_weights_folder,
    identify_files,
    load_or_write_graph,
    write_model,
    write_pooling,
    write_states,
)
from .tokens import Row, TextRules, TextTokenizer

Floats = npt.NDArray[np.float32]

SHORTEST_PAIR = 16  # tokens


@dataclass(frozen=True)
class Markers:
    """The marker ids of the [EMB] form: before and after the query, before the text."""

    query_begin: int
    query_end: int
    text: int


@dataclass(frozen=True)
class PairModel:
    """A cross-encoder as read from its folder: layers over [CLS], or markers."""

    folder: Path
    transformer: Transformer
    tokenizer: TextTokenizer
    files: tuple[Path, ...]
    layers: Layers | None
    markers: Markers | None


class PairScorer:
    """A loaded cross-encoder. Made by `load_pair_scorer`. `truncated` counts the pairs that were cut so far."""

    def __init__(self, model: PairModel, settings: EncoderSettings) -> None:
        """Load the weights into onnxruntime."""
        for name in ("runtime", "query_length", "long", "cls_every"):
            if getattr(settings, name) != getattr(EncoderSettings, name):
                raise SettingError(f"{name} is {getattr(settings, name)!r}, but a cross-encoder has no such setting")
        self._model = model
        self._settings = settings
        self._length = check_whole_number(
            "document_length",
            settings.document_length or model.transformer.most_tokens or 512,
            SHORTEST_PAIR,
            model.transformer.most_tokens or LARGEST,
        )
        self.truncated = 0
        folder = find_weights_folder(model.transformer.list_tensors(), model.folder)
        graph = load_or_write_graph(
            ["pair", settings.precision, *identify_files(model.files)],
            lambda: write_model(
                lambda graph: _write_graph(graph, model), settings.precision, model.tokenizer, model.transformer, folder
            ),
        )
        self._session = OnnxSession(graph, folder, count_threads(settings.threads))

    def hash_files(self) -> list[str]:
        """The hashes of the model's files, sorted."""
        return sorted(find_hashes(self._model.files).values())

    def score(self, query: str, texts: Sequence[str]) -> Floats:
        """(n,) one score for each text; higher is better. The scale depends on the model."""
        if isinstance(texts, str):
            texts = [texts]
        check_texts([query], name="query")
        check_texts(texts)
        scores = np.zeros(len(texts), np.float32)
        rows, seconds, shares = self._make_pairs(query, texts)
        for batch in make_batches(rows, self._settings.batch_tokens):
            rows_in_batch, tokens = batch.ids.shape
            types = batch.seen & (np.arange(tokens) >= seconds[batch.numbers][:, None])
            pool = np.zeros((rows_in_batch, 2, tokens), np.float32)
            for line, number in zip(pool, batch.numbers, strict=True):
                for side, places in enumerate(shares[number]):
                    line[side, places] = 1 / len(places)
            inputs = {"ids": batch.ids, "lengths": batch.lengths, "types": types.astype(np.int64), "pool": pool}
            pooled = self._session.run(["pooled"], inputs)["pooled"]  # (rows, 2, hidden)
            if self._model.layers is not None:
                scores[batch.numbers] = apply_layers(self._model.layers, pooled[:, 0])[:, 0]
            else:
                scores[batch.numbers] = np.einsum("rh,rh->r", pooled[:, 0], pooled[:, 1])
        return scores

    def _make_pairs(
        self, query: str, texts: Sequence[str]
    ) -> tuple[list[Row], npt.NDArray[np.int64], list[list[list[int]]]]:
        """The rows, where the text begins in each, and the places whose states stand for query and text."""
        tokenizer, markers = self._model.tokenizer, self._model.markers
        first, *others = tokenizer.encode([query, *texts], TextRules(self._length))
        before, between, after = tokenizer.make_pair_frame()
        opening = [markers.query_begin] if markers else []
        closing = [markers.query_end] if markers else []
        leading = [markers.text] if markers else []
        room = self._length - len(before + between + after + opening + closing + leading)
        rows, seconds, shares = [], [], []
        for number, other in enumerate(others):
            # The text is cut first; the query keeps at least half of the room.
            kept = first.ids[: max(room // 2, room - len(other.ids))]
            text = other.ids[: room - len(kept)]
            self.truncated += len(kept) < len(first.ids) or len(text) < len(other.ids)
            head = [*before, *opening, *kept, *closing]
            ids = np.array([*head, *between, *leading, *text, *after], np.int64)
            rows.append(Row(number, ids, len(ids), 0, len(ids)))
            seconds.append(len(head) + len(between))
            query_places = [len(before), len(head) - 1] if markers else [0]
            shares.append([query_places, [len(head) + len(between)] if markers else [0]])
        return rows, np.array(seconds, np.int64), shares


def open_pair_model(folder: Path) -> PairModel:
    """Asterism's own layout with a pair section, or a sequence classifier with one label."""
    with translate_errors(folder, "cross-encoder"):
        model = _open_own(folder) if asterism.recognises(folder) else _open_classifier(folder)
        refuse_foreign_ids(model.tokenizer, model.transformer)
        return model


def _open_classifier(folder: Path) -> PairModel:
    weights = open_weights(folder)
    transformer = open_transformer(folder, weights)
    tokenizer = TextTokenizer(folder)
    if not isinstance(transformer, Bert):
        raise CheckpointError(
            f"{folder}: cross-encoders of this architecture are not supported, expected BERT, RoBERTa or XLM-R"
        )
    layers = _read_classifier(weights, transformer)
    known = [name for name in weights if name.startswith("classifier.") or ".pooler." in name]
    refuse_unknown(weights, transformer, known)
    return PairModel(
        folder, transformer, tokenizer, (folder / "config.json", tokenizer.file, *weights.list_files()), layers, None
    )


def _read_classifier(weights: Weights, transformer: Bert) -> Layers:
    """BERT: pooler with tanh, then classifier; RoBERTa: dense with tanh, then out_proj."""
    hidden = transformer.hidden
    for inner, outer in (
        (f"{transformer.prefix}pooler.dense", "classifier"),
        ("classifier.dense", "classifier.out_proj"),
    ):
        if f"{outer}.weight" in weights:
            labels = len(weights.read_matrix(f"{outer}.weight", hidden))
            if labels != 1:
                raise CheckpointError(f"{weights.source}: {outer}.weight has {labels} labels, expected 1 for a score")
            return (_read_layer(weights, inner, hidden, hidden, True), _read_layer(weights, outer, 1, hidden, False))
    raise CheckpointError(
        f"{weights.source} has no tensor classifier.weight or classifier.out_proj.weight, expected a cross-encoder"
    )


def _read_layer(weights: Weights, name: str, outputs: int, inputs: int, tanh: bool) -> Linear:
    weight, bias = (
        weights.find_shaped(f"{name}.weight", (outputs, inputs)),
        weights.find_shaped(f"{name}.bias", (outputs,)),
    )
    return Linear(weight.read(), bias.read(), "tanh" if tanh else "identity")


def _open_own(folder: Path) -> PairModel:
    settings, backbone, heads = asterism.open_parts(folder)
    pair, file = settings.get("pair"), folder / asterism.SETTINGS
    if not isinstance(pair, dict) or len({"layers", "markers"} & set(pair)) != 1:
        raise CheckpointError(f"{file}: pair is {shorten(pair)}, expected layers over [CLS] or three markers")
    weights = open_weights(backbone)
    transformer = open_transformer(backbone, weights)
    tokenizer = TextTokenizer(backbone)
    reader = asterism.HeadReader(heads, transformer.hidden)
    markers = None
    if "markers" in pair:
        tokens = read_strings(pair["markers"], "markers", file)
        if len(tokens) != 3:
            raise CheckpointError(f"{file} has {len(tokens)} markers, expected three tokens")
        markers = Markers(*(tokenizer.require_id(token, "a marker") for token in tokens))
    return PairModel(
        backbone,
        transformer,
        tokenizer,
        (file, *heads.list_files(), backbone / "config.json", tokenizer.file, *weights.list_files()),
        reader.read_layers(pair["layers"]) if "layers" in pair else None,
        markers,
    )


def _write_graph(graph: Graph, model: PairModel) -> None:
    two_types = isinstance(model.transformer, Bert) and model.transformer.shape.types > 1
    write_pooling(graph, write_states(graph, model.transformer, with_types=two_types), model.transformer.hidden)
