"""Passages a second in training: ours, all layers and the top two, against sentence-transformers and PyLate.

    make bench-training    (or: python benchmarks/training.py --data ../shared/data --work .bench)

ColBERT's objective on all-MiniLM-L6-v2: batches of 32 queries with a positive and a hard negative each, from
fairytaleqa_section. All start from the same weights, read the same batches in the same order with the same optimiser
and no dropout, in float32 on two threads; their first and last losses are printed, because they should agree. Each
engine is a process of its own, in an environment that benchmarks/peers/setup.sh makes. The first steps do not count.
Preparing is what lies before them: loading, tokenising and, for the top layers, the frozen ones.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENGINES = {
    "asterism": ("training", "asterism"),
    "asterism, top 2 of 6 layers": ("training", "asterism-top"),
    "sentence-transformers 6": ("training", "sentence-transformers"),
    "sentence-transformers 6, mini-batches": ("training", "sentence-transformers-mini"),
    "PyLate": ("pylate-training", "pylate"),
}
STEPS, SKIPPED, BATCH, THREADS = 16, 4, 32, 2
RATE, WARMUP, WEIGHT_DECAY, QUERY_LENGTH, DOCUMENT_LENGTH = 2e-5, 0.1, 0.01, 32, 180
MINI_BATCH = 16  # rows of a forward pass, where a library offers that


@dataclass
class Clock:
    """When the engine began, and when each step ended."""

    begin: float = field(default_factory=time.perf_counter)
    ends: list[float] = field(default_factory=list)

    def stamp(self) -> None:
        self.ends.append(time.perf_counter() - self.begin)


def make_recipe(train_layers: int = 0) -> Any:
    from asterism.recipes.recipe import read_recipe

    changes = {
        "model.train_layers": train_layers,
        "model.query_length": QUERY_LENGTH,
        "model.document_length": DOCUMENT_LENGTH,
        "loss.temperature": 1 / QUERY_LENGTH,
        "run.batch": BATCH,
        "run.negatives": 1,
        "run.steps": STEPS,
        "run.rate": RATE,
        "run.warmup": WARMUP,
        "run.weight_decay": WEIGHT_DECAY,
        "run.dropout": 0.0,
        "run.evaluate_every": 0,
        "run.precision": '"float32"',
        "run.threads": THREADS,
    }
    return read_recipe("colbert", [f"{key}={value}" for key, value in changes.items()])


def prepare(data: Path, out: Path) -> None:
    """Write the batches (a line for each query) and the model in all three layouts."""
    from asterism.encoders.checkpoints.exporting import export_model
    from asterism.encoders.checkpoints.layouts import open_checkpoint
    from asterism.models.registry import find_or_fetch_model
    from asterism.training.batches import BatchDrawer
    from asterism.training.examples import Example, read_training_set
    from asterism.training.late_interaction import LateInteraction
    from asterism.training.model import make_model
    from asterism.training.texts import TrainingTexts

    whole = read_training_set(data / "fairytaleqa_section", "train")
    # Every positive answers one query and is nobody's negative: the libraries treat other cases differently.
    by_passage = {example.positives[0]: example.query for example in whole.examples if len(example.positives) == 1}
    pairs = list(by_passage.items())
    half = len(pairs) // 2
    examples = [
        Example(query, (passage,), (negative,))
        for (passage, query), (negative, _) in zip(pairs[:half], pairs[half:], strict=False)
    ]
    (out / "examples.json").write_text(
        json.dumps(
            {
                "queries": list(whole.queries),
                "passages": list(whole.passages),
                "examples": [(one.query, one.positives, one.negatives) for one in examples],
            }
        )
    )
    drawer = BatchDrawer(examples, len(whole.passages), 1, BATCH, 1)
    parts = [drawer.draw(number) for number in range(STEPS)]
    with open(out / "batches.jsonl", "w", encoding="utf-8") as lines:
        for part in parts:
            for query, (positive, negative) in zip(part.queries, part.documents, strict=True):
                texts = {"positive": whole.passages[positive], "negative": whole.passages[negative]}
                lines.write(json.dumps({"query": whole.queries[query], **texts}) + "\n")
    settings = make_recipe().training
    checkpoint = open_checkpoint(find_or_fetch_model(settings.model.backbone))
    texts = TrainingTexts(checkpoint, settings.model, ["a"], ["b"])
    if not (out / "model").exists():
        LateInteraction(checkpoint, make_model(checkpoint, settings.model, 1), texts, settings.loss).write(
            out / "model", ""
        )
        for layout in ("pylate", "sentence-transformers"):
            export_model(out / "model", out / layout, layout)
            config = json.loads((out / layout / "config.json").read_text())
            config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
            (out / layout / "config.json").write_text(json.dumps(config))


def train_ours(out: Path, train_layers: int, clock: Clock) -> list[float]:
    import tempfile

    from asterism.encoders.checkpoints.layouts import open_checkpoint
    from asterism.training.examples import Example, TrainingSet
    from asterism.training.making import make_learner
    from asterism.training.trainer import Run

    found = json.loads((out / "examples.json").read_text())
    examples = [Example(query, tuple(pos), tuple(neg)) for query, pos, neg in found["examples"]]
    data = TrainingSet(found["queries"], found["passages"], examples)
    settings = make_recipe(train_layers).training
    checkpoint = open_checkpoint(out / "model")  # its own projection is the start
    with tempfile.TemporaryDirectory(dir=out) as folder:
        learner = make_learner(checkpoint, settings, data, Path(folder) / "states", lambda _: None)
        run = Run(learner, data, settings, Path(folder) / "run")
        return run.train(report=lambda _: clock.stamp()).losses


def make_arguments(kind: type, out: Path, **more: Any) -> Any:
    return kind(
        output_dir=str(out / "trainer"),
        max_steps=STEPS,
        per_device_train_batch_size=BATCH,
        learning_rate=RATE,
        weight_decay=WEIGHT_DECAY,
        warmup_steps=round(WARMUP * STEPS),
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=1,
        **more,
    )


def train_by_trainer(trainer: Any, clock: Clock) -> list[float]:
    from transformers import TrainerCallback

    class Stamp(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.stamp()

    trainer.add_callback(Stamp())
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def read_batches(out: Path) -> Any:
    from datasets import Dataset

    with open(out / "batches.jsonl", encoding="utf-8") as lines:
        return Dataset.from_list([json.loads(line) for line in lines])


def train_sentence_transformers(out: Path, mini_batch: int | None, clock: Clock) -> list[float]:
    import torch
    from sentence_transformers import MultiVectorEncoder, MultiVectorEncoderTrainer, MultiVectorEncoderTrainingArguments
    from sentence_transformers.base.sampler import DefaultBatchSampler
    from sentence_transformers.multi_vector_encoder.losses import MultiVectorMultipleNegativesRankingLoss

    torch.set_num_threads(THREADS)
    model = MultiVectorEncoder(str(out / "sentence-transformers"), device="cpu")
    arguments = make_arguments(
        MultiVectorEncoderTrainingArguments,
        out,
        batch_sampler=lambda dataset, **given: DefaultBatchSampler(range(len(dataset)), **given),
        prompts={"query": model.prompts["query"], **dict.fromkeys(["positive", "negative"], model.prompts["document"])},
    )
    loss = MultiVectorMultipleNegativesRankingLoss(model, mini_batch_size=mini_batch)
    trainer = MultiVectorEncoderTrainer(model=model, args=arguments, train_dataset=read_batches(out), loss=loss)
    return train_by_trainer(trainer, clock)


def train_pylate(out: Path, clock: Clock) -> list[float]:
    import torch
    from pylate import losses, models, utils
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sampler import DefaultBatchSampler

    torch.set_num_threads(THREADS)
    model = models.ColBERT(str(out / "pylate"), device="cpu")
    arguments = make_arguments(
        SentenceTransformerTrainingArguments,
        out,
        batch_sampler=lambda dataset, **given: DefaultBatchSampler(range(len(dataset)), **given),
    )
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=read_batches(out),
        loss=losses.Contrastive(model=model),
        data_collator=utils.ColBERTCollator(model.tokenize),
    )
    return train_by_trainer(trainer, clock)


def run(engine: str, out: Path) -> None:
    """One engine, in its own process."""
    clock = Clock()
    trained = {
        "asterism": lambda: train_ours(out, 0, clock),
        "asterism-top": lambda: train_ours(out, 2, clock),
        "sentence-transformers": lambda: train_sentence_transformers(out, None, clock),
        "sentence-transformers-mini": lambda: train_sentence_transformers(out, MINI_BATCH, clock),
        "pylate": lambda: train_pylate(out, clock),
    }
    losses = trained[engine]()
    (out / f"{engine}.json").write_text(json.dumps({"ends": clock.ends, "losses": losses}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    options = parser.parse_args()
    out = options.work / "training"
    out.mkdir(parents=True, exist_ok=True)
    if options.engine:
        run(options.engine, out)
        return
    prepare(options.data, out)
    print("| engine | passages a second | times PyLate | s to prepare | first loss | last loss |")
    print("|---|---|---|---|---|---|")
    rows = {}
    for name, (environment, engine) in ENGINES.items():
        command = [str(options.work / "envs" / environment / "bin" / "python"), str(HERE / "training.py")]
        given = ["--data", str(options.data), "--work", str(options.work), "--engine", engine]
        subprocess.run([*command, *given], check=True, stdout=subprocess.DEVNULL)
        found = json.loads((out / f"{engine}.json").read_text())
        ends = found["ends"]
        speed = 2 * BATCH * (STEPS - SKIPPED) / (ends[-1] - ends[SKIPPED - 1])
        rows[name] = (speed, ends[0], found["losses"][0], found["losses"][-1])
    for name, (speed, prepared, first, last) in rows.items():
        print(f"| {name} | {speed:.1f} | {speed / rows['PyLate'][0]:.2f} | {prepared:.0f} | {first:.4f} | {last:.4f} |")


if __name__ == "__main__":
    main()
