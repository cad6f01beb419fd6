"""What people do first with folders of their own: nothing stale is found, nothing collides, nothing goes unsaid."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cli.running import CORPUS, IDS, beir, ids, jsonl, run

WORDS = ("--views", "lexical")


def write_files(folder: Path, **contents: str | bytes) -> Path:
    """Files of a folder; two underscores in a name stand for a dot."""
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def test_add_with_update_leaves_nothing_stale(tmp_path: Path) -> None:
    """One file shrinks, another is deleted."""
    parts = "\n\n".join(f"## Part {i}\n\nThe fox number{i} jumps over dogs." for i in range(9))
    notes = write_files(tmp_path / "notes", a__md=parts, b__md="The lazy dog.")
    assert run("index", notes, "--to", tmp_path / "x.ast", *WORDS, "-q").code == 0
    assert len(ids(tmp_path / "x.ast")) == 10
    write_files(notes, a__md="A hen.")
    (notes / "b.md").unlink()
    ran = run("add", tmp_path / "x.ast", notes, "--update")
    assert (ran.code, ran.err.splitlines()[0]) == (0, "files: 0 read, 1 replaced, 0 unchanged, 1 removed")
    assert ids(tmp_path / "x.ast") == ["notes/a.md#1"]
    assert run("search", tmp_path / "x.ast", "fox lazy dog number7").out == ""


def test_add_with_update_does_not_overwrite_another_folder(tmp_path: Path) -> None:
    first, second = (write_files(tmp_path / name, README__md=f"about {name}") for name in ("pa", "pb"))
    assert run("index", first, "--to", tmp_path / "x.ast", *WORDS, "-q").code == 0
    assert run("add", tmp_path / "x.ast", second, "--update", "-q").code == 0
    assert sorted(ids(tmp_path / "x.ast")) == ["pa/README.md#1", "pb/README.md#1"]
    assert run("search", tmp_path / "x.ast", "pa").out.count("\n") == 1


def test_a_folder_of_many_formats_says_what_was_read(tmp_path: Path) -> None:
    text = "fox,dog\nred,brown\n"
    mixed = write_files(
        tmp_path / "mixed", page__html=text, table__csv=text, code__py=text, README=text, paper__pdf=b"%PDF-1.4 cut"
    )
    ran = run("index", mixed, "--to", tmp_path / "x.ast", *WORDS)
    lines = ran.err.splitlines()
    assert ran.code == 0
    assert lines[0].startswith("files: 4 read, 0 replaced, 0 unchanged, 0 removed, 1 skipped (1 ")
    assert lines[1].startswith("  mixed/paper.pdf: ")
    assert {id.partition("#")[0] for id in ids(tmp_path / "x.ast")} == {
        f"mixed/{name}" for name in ("page.html", "table.csv", "code.py", "README")
    }


def test_one_run_tells_all_that_is_odd(tmp_path: Path) -> None:
    """A broken link, Latin-1 and UTF-16."""
    notes = write_files(
        tmp_path / "notes",
        good__md="A good text.",
        latin__txt="Ein früher Käfer läuft über die Straße.".encode("latin-1"),
        wide__txt="The wide text.".encode("utf-16"),
    )
    (notes / "broken.md").symlink_to("nowhere")
    ran = run("index", notes, "--to", tmp_path / "x.ast", *WORDS)
    assert ran.code == 0
    assert ran.err.splitlines()[:4] == [
        "files: 3 read, 0 replaced, 0 unchanged, 0 removed, 1 skipped (1 broken link)",
        "  notes/broken.md: broken link: a link to nothing",
        "  notes/latin.txt: read as latin-1",
        "  notes/wide.txt: read as utf-16",
    ]
    for query in ("good", "Käfer", "wide"):
        assert run("search", tmp_path / "x.ast", query).out.count("\n") == 1


def test_twenty_of_seven_documents_are_seven(tmp_path: Path) -> None:
    notes = write_files(tmp_path / "notes", **{f"n{i}__txt": f"The fox of note {i}." for i in range(7)})
    assert run("index", notes, "--to", tmp_path / "x.ast", *WORDS, "-q").code == 0
    ran = run("search", tmp_path / "x.ast", "fox", "-k", 20)
    assert (ran.code, ran.out.count("\n"), ran.err) == (0, 7, "")


def test_a_folder_that_also_has_a_corpus_is_one_of_files(tmp_path: Path) -> None:
    mixed = jsonl(tmp_path / "mixed" / "corpus.jsonl", CORPUS).parent
    (mixed / "a.md").write_text("a fox")
    assert run("index", mixed, "--to", tmp_path / "x.ast", "--views", "lexical", "-q").code == 0
    assert {id.partition("#")[0] for id in ids(tmp_path / "x.ast")} == {"mixed/a.md", "mixed/corpus.jsonl"}


def test_a_beir_folder_is_told(tmp_path: Path) -> None:
    (made,) = beir(tmp_path)
    folder = Path(str(made))
    (folder / "qrels").mkdir()
    (folder / "a.md").write_text("a fox")
    ran = run("index", folder, "--to", tmp_path / "x.ast", "--views", "lexical")
    assert ran.err.startswith(f"{folder}: read as a BEIR folder, its corpus.jsonl alone; left out: a.md\n")
    assert set(ids(tmp_path / "x.ast")) == IDS
