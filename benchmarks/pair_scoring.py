"""Pairs a second of a cross-encoder: ours against CrossEncoder of sentence-transformers, in one run.

    make bench-pair-scoring      (or: python benchmarks/pair_scoring.py --data ../shared/data --work .bench)

40 mentions of craft_el, each with 50 classes, through one checkpoint: all-MiniLM-L6-v2 with a classifier drawn from a
seed, written by transformers. Scores mean nothing, but all engines must agree on them. Two threads. The peer gets all
pairs at once, which suits it best; ours gets a query with its texts, as a search does. Each engine is a process of its
own (environments asterism and encode of benchmarks/peers/setup.sh). Engines take turns; the best round of each counts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

ENGINES = {
    "asterism float32": ("asterism", ["--engine", "asterism", "--precision", "float32"]),
    "asterism int8": ("asterism", ["--engine", "asterism", "--precision", "int8"]),
    "sentence-transformers": ("encode", ["--engine", "sentence-transformers"]),
}
PEER = "sentence-transformers"
QUERIES, TEXTS, ROUNDS, TURNS, THREADS = 40, 50, 2, 2, 2

Groups = list[tuple[str, list[str]]]
Score = Callable[[Groups], np.ndarray]


def read_pairs(data: Path, queries: int) -> Groups:
    """Queries with their texts, by a seed."""

    def read(name: str, most: int) -> list[str]:
        with gzip.open(data / "craft_el" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in islice(lines, most)]
        return [f"{record.get('title', '')} {record['text']}".strip() for record in records]

    rng = np.random.default_rng(7)
    asked, classes = read("queries", 20_000), read("corpus", 20_000)
    chosen = rng.choice(len(asked), queries, replace=False)
    return [(asked[one], [classes[other] for other in rng.choice(len(classes), TEXTS)]) for one in chosen]


def write_checkpoint(model: Path, to: Path) -> None:
    """The transformer of a sentence encoder with a classifier from a seed, as cross-encoders are published."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(1)
    made = AutoModelForSequenceClassification.from_pretrained(str(model), num_labels=1)
    made.save_pretrained(to)
    AutoTokenizer.from_pretrained(str(model)).save_pretrained(to)


def load_asterism(folder: Path, precision: str) -> Score:
    import asterism

    scorer = asterism.load_pair_scorer(folder, precision=precision, threads=THREADS)
    return lambda groups: np.concatenate([scorer.score(query, texts) for query, texts in groups])


def load_sentence_transformers(folder: Path) -> Score:
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(THREADS)
    model = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    return lambda groups: model.predict(
        [(query, text) for query, texts in groups for text in texts], batch_size=32, show_progress_bar=False
    )


def run_engine(options: argparse.Namespace) -> None:
    """One engine, in its own process."""
    if options.engine == "checkpoint":
        write_checkpoint(options.model, options.out)
        return
    groups = read_pairs(options.data, options.queries)
    score = (
        load_asterism(options.model, options.precision)
        if options.engine == "asterism"
        else load_sentence_transformers(options.model)
    )
    score(groups[:1])
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        scores = score(groups)
        seconds.append(time.perf_counter() - begin)
    np.save(options.out.with_suffix(".npy"), np.asarray(scores, np.float32))
    options.out.write_text(json.dumps(seconds))


def start(options: argparse.Namespace, environment: str, arguments: list[str], model: Path, out: Path) -> None:
    """Run this script in an environment."""
    command = [str(options.work / "envs" / environment / "bin" / "python"), __file__, *arguments]
    command += ["--data", str(options.data), "--work", str(options.work), "--queries", str(options.queries)]
    subprocess.run([*command, "--model", str(model), "--out", str(out)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--engine")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.engine:
        run_engine(options)
        return
    try:
        from asterism.models.registry import find_or_fetch_model
    except ImportError:
        sys.exit("run this with the asterism environment's Python")
    out = options.work / "pair_scoring"
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / "checkpoint"
    if not (checkpoint / "config.json").exists():
        start(options, "encode", ["--engine", "checkpoint"], Path(find_or_fetch_model("all-MiniLM-L6-v2")), checkpoint)
    best: dict[str, float] = {}
    scores: dict[str, np.ndarray] = {}
    for _ in range(TURNS):
        for name, (environment, arguments) in ENGINES.items():
            file = out / f"{name.replace(' ', '_')}.json"
            start(options, environment, arguments, checkpoint, file)
            best[name] = min([best.get(name, np.inf), *json.loads(file.read_text())])
            scores[name] = np.load(file.with_suffix(".npy"))
    print("| engine | pairs a second | times sentence-transformers | correlation with it |\n|---|---|---|---|")
    for name, seconds in best.items():
        same = float(np.corrcoef(scores[name], scores[PEER])[0, 1])
        print(f"| {name} | {len(scores[name]) / seconds:.0f} | {best[PEER] / seconds:.2f} | {same:.5f} |")


if __name__ == "__main__":
    main()
