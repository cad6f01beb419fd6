"""The tables of docs/results.md: the views of BGE-M3's paper and their fusion, by nDCG@10.

    python experiments/bge_m3/run.py --data ../shared/data --work build/bge_m3 [--tables english …]

Data are BEIR folders; settings.toml beside this file says which. Indexes are kept in the work folder and used again.
Prints each table as Markdown and writes it, with the figures as JSON, into the work folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomllib

from asterism import Retriever
from asterism.evaluation.datasets import EvaluationSet, read_evaluation_set
from asterism.evaluation.metrics import measure

HERE = Path(__file__).parent
MEASURE = "nDCG@10"
K = 10


def index_of(documents: Path, options: list[str], work: Path) -> Path:
    """Made by the command, or found from an earlier run."""
    name = "-".join([*documents.parts[-2:], *(option.strip("-").replace(",", "+") for option in options)])
    to = work / f"{name}.ast"
    if not to.exists() or Retriever.open(to).info()["unfinished"]:
        command = Path(sys.executable).with_name("asterism")
        subprocess.run([command, "index", documents, "--to", to, *options], check=True)
    return to


def quality_of(retriever: Retriever, judged: EvaluationSet, method: str) -> float:
    rankings = retriever.search_many(list(judged.queries.values()), min(K, len(retriever)), method=method)
    run = {name: {hit.id: hit.score for hit in ranking} for name, ranking in zip(judged.queries, rankings, strict=True)}
    return 100 * float(measure(judged.qrels, run)[MEASURE].mean())


def sample_queries(judged: EvaluationSet, row: dict[str, Any]) -> EvaluationSet:
    """All queries, or `sample` of them, by a hash of their ids."""
    names = sorted(judged.queries, key=lambda name: hashlib.sha256(name.encode()).digest())[: row.get("sample")]
    kept = {name: text for name, text in judged.queries.items() if name in set(names)}
    return replace(judged, queries=kept, qrels={name: judged.qrels[name] for name in kept})


def row_of(table: dict[str, Any], row: dict[str, Any], data: Path, work: Path) -> dict[str, Any]:
    documents = data / row["documents"]
    judged = sample_queries(read_evaluation_set(data / row.get("queries", row["documents"]), row["split"]), row)
    figures: dict[str, Any] = {}
    runs = [(table["index"], {method: method for method in table["methods"]})]
    runs += [(options, {"lexical": name}) for name, options in table.get("extra", {}).items()]
    for options, methods in runs:
        with Retriever.open(index_of(documents, options, work)) as retriever:
            figures |= {column: quality_of(retriever, judged, method) for method, column in methods.items()}
            if options == table["index"]:
                info = retriever.info()
                size = {"documents": info["documents"], "vectors": info["vectors"], "MB": info["bytes"] / 1e6}
    return {"name": row.get("queries", row["documents"]), "queries": len(judged), **size, "figures": figures}


def markdown(table: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    columns = list(rows[0]["figures"])
    best = [max(row["figures"].values()) for row in rows]
    lines = [f"### {table['title']}", ""]
    lines += [
        "| | " + " | ".join(columns) + " | queries | documents | vectors | MB |",
        "|---" * (len(columns) + 5) + "|",
    ]
    for row, most in zip(rows, best, strict=True):
        cells = [f"**{value:.2f}**" if value == most else f"{value:.2f}" for value in row["figures"].values()]
        size = [f"{row['queries']:,}", f"{row['documents']:,}", f"{row['vectors']:,}", f"{row['MB']:.0f}"]
        lines.append(f"| {row['name']} | " + " | ".join([*cells, *size]) + " |")
    if len(rows) > 1:
        means = [sum(row["figures"][column] for row in rows) / len(rows) for column in columns]
        cells = [f"**{value:.2f}**" if value == max(means) else f"{value:.2f}" for value in means]
        lines.append("| mean | " + " | ".join(cells) + " | | | | |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tables", nargs="*")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for table in tomllib.loads((HERE / "settings.toml").read_text())["table"]:
        if arguments.tables and table["name"] not in arguments.tables:
            continue
        rows = []
        for row in table["rows"]:
            rows.append(row_of(table, row, arguments.data, arguments.work))
            (arguments.work / f"{table['name']}.json").write_text(json.dumps(rows, indent=1))
        (arguments.work / f"{table['name']}.md").write_text(markdown(table, rows))
        print(markdown(table, rows), flush=True)


if __name__ == "__main__":
    main()
