"""The data: mentions and classes of one ontology to search, those of the others to train on."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism import Document, read_documents
from asterism.documents.judgements import read_judged_queries, read_queries

MENTION = re.compile(r"^(.*)\[START\](.*)\[END\](.*)$", re.DOTALL)
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Task:
    """What is searched: items, anchor queries, test queries, and the right item of each test query."""

    items: list[Document]
    anchors: list[str]
    tests: list[str]
    right: list[str]


def prepare(folder: Path, settings: dict[str, Any], work: Path) -> tuple[Task, Path]:
    """The task of the held-out ontology, and a BEIR folder of the others for training."""
    name, counts = settings["held_out"], settings["queries"]
    documents = list(read_documents(folder))
    inside = [document for document in documents if document.id.startswith(f"{name}:")]
    texts = {
        id: write_query(text, settings["context"]) for id, text in read_queries(folder / "queries.jsonl.gz").items()
    }
    links = {split: read_links(folder, split) for split in SPLITS}
    if settings["most_items"]:
        mentioned = {right for split in links.values() for right in split.values()}
        inside = sorted(inside, key=lambda one: (one.id not in mentioned, one.id))[: settings["most_items"]]
    kept = {document.id for document in inside}
    anchors = [texts[id] for id in choose(links["train"], kept, texts, max(counts["anchors"]))]
    tests = choose(links["test"], kept, texts, counts["test"], set(anchors))
    task = Task(inside, anchors, [texts[id] for id in tests], [links["test"][id] for id in tests])
    others = [document for document in documents if not document.id.startswith(f"{name}:")]
    chosen = choose(links["train"], {document.id for document in others}, texts, counts["train"])
    return task, write_beir(
        work / f"anncur-{describe(settings)}", others, texts, {id: links["train"][id] for id in chosen}
    )


def write_query(text: str, context: int) -> str:
    """The mention, then itself among some words: what it is comes first, for every kind of model."""
    found = MENTION.match(text)
    if found is None:
        raise SystemExit(f"a query has no mention: {text[:80]!r}")
    before, mention, after = (part.split() for part in found.groups())
    near = [*before[len(before) - min(context, len(before)) :], *mention, *after[:context]]
    return f"{' '.join(mention)}: {' '.join(near)}"


def read_links(folder: Path, split: str) -> dict[str, str]:
    """Mention -> its class."""
    return {query: next(iter(judged)) for query, judged in read_judged_queries(folder, split).judged.items()}


def choose(
    links: dict[str, str], items: set[str], texts: dict[str, str], count: int, without: set[str] | None = None
) -> list[str]:
    """Ids of mentions of these items, by a hash; each text once."""
    seen, chosen = set(without or ()), []
    for id in sorted(links, key=lambda one: hashlib.sha256(one.encode()).digest()):
        if len(chosen) < count and links[id] in items and texts[id] not in seen:
            seen.add(texts[id])
            chosen.append(id)
    return chosen


def describe(settings: dict[str, Any]) -> str:
    """A name that changes with what the data depend on."""
    names = ("data", "held_out", "context", "most_items", "queries")
    return hashlib.sha256(json.dumps({name: settings[name] for name in names}).encode()).hexdigest()[:10]


def write_beir(to: Path, documents: list[Document], texts: dict[str, str], links: dict[str, str]) -> Path:
    """The folder of a training set, made once."""
    if not (to / "qrels" / "train.tsv").exists():
        (to / "qrels").mkdir(parents=True, exist_ok=True)
        rows = [{"_id": document.id, "title": document.title, "text": document.text} for document in documents]
        (to / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        lines = [json.dumps({"_id": id, "text": texts[id]}) + "\n" for id in links]
        (to / "queries.jsonl").write_text("".join(lines))
        judged = "".join(f"{id}\t{right}\t1\n" for id, right in links.items())
        (to / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return to
