"""Cross-encoders: one score for a query and a text that the model reads together.

[CLS] form: layers over the state of the first token. [EMB] form (ANNCUR): the query is between two markers, the text
after a third; score = mean of the states of the first two · state of the third.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import SettingError
from ..models.file_hashes import find_hashes
from ..settings import LARGEST, EncoderSettings, check_whole_number, count_threads
from ..terms.texts import check_texts
from .checkpoints.pair_models import PairModel
from .graph.bert import Bert
from .graph.graph import Graph
from .graph.heads import apply_layers
from .pairs import SHORTEST_PAIR, PairMaker, make_pair_batches
from .runtimes.onnx import (
    OnnxSession,
    find_weights_folder,
    identify_files,
    load_or_write_graph,
    write_model,
    write_pooling,
    write_states,
)
from .tokens import TextRules

Floats = npt.NDArray[np.float32]


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
            settings.document_length or model.length,
            SHORTEST_PAIR,
            model.transformer.most_tokens or LARGEST,
        )
        self._maker = PairMaker(model.tokenizer, self._length, model.markers)
        self.truncated = 0
        folder = find_weights_folder(model.transformer.list_tensors(), model.folder)
        graph = load_or_write_graph(
            ["pair", settings.precision, *identify_files(model.files)],
            lambda: write_model(
                lambda graph: _write_graph(graph, model), settings.precision, model.tokenizer, model.transformer, folder
            ),
        )
        self._session = OnnxSession(graph, folder, count_threads(settings.threads))

    def __repr__(self) -> str:
        """The folder and the length of a pair."""
        return f"<PairScorer {str(self._model.folder)!r}, {self._length} tokens>"

    def hash_files(self) -> list[str]:
        """The hashes of the model's files, sorted."""
        return sorted(find_hashes(self._model.files).values())

    def score(self, query: str, texts: Sequence[str]) -> Floats:
        """(n,) one score for each text; higher is better. The scale depends on the model."""
        if isinstance(texts, str):
            texts = [texts]
        check_texts([query], name="query")
        check_texts(texts)
        first, *others = self._model.tokenizer.encode([query, *texts], TextRules(self._length))
        pairs = [self._maker.make(number, first.ids, other.ids) for number, other in enumerate(others)]
        self.truncated += sum(pair.cut for pair in pairs)
        scores = np.zeros(len(texts), np.float32)
        for found in make_pair_batches(pairs, self._settings.batch_tokens):
            batch = found.batch
            inputs = {"ids": batch.ids, "lengths": batch.lengths, "types": found.types, "pool": found.pool}
            pooled = self._session.run(["pooled"], inputs)["pooled"]  # (pairs, 2, hidden)
            if self._model.layers is not None:
                scores[batch.numbers] = apply_layers(self._model.layers, pooled[:, 0])[:, 0]
            else:
                scores[batch.numbers] = np.einsum("rh,rh->r", pooled[:, 0], pooled[:, 1])
        return scores


def _write_graph(graph: Graph, model: PairModel) -> None:
    two_types = isinstance(model.transformer, Bert) and model.transformer.shape.types > 1
    write_pooling(graph, write_states(graph, model.transformer, with_types=two_types), model.transformer.hidden)
