"""The files of a folder, in a fixed order, and a reason for each that is left out."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from asterism.documents.folders.names import escape_name
from asterism.documents.folders.selecting import Selection, check_globs
from asterism.documents.folders.walking import Walk, walk_folder
from asterism.errors import SettingError

AS_ROOT = os.geteuid() == 0


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    return root


def names_in(root: Path, *include: str, exclude: tuple[str, ...] = (), index: Path | None = None) -> list[str]:
    return [file.name for file in walk_folder(root, Selection(include, exclude), index).files]


def reasons_in(root: Path, *include: str, exclude: tuple[str, ...] = ()) -> dict[str, str]:
    return {one.file: one.reason for one in walk_folder(root, Selection(include, exclude)).skipped}


def test_every_file_once_in_a_fixed_order(tmp_path: Path) -> None:
    make(tmp_path, "b.md", "a/z.md", "a.md", "a/b/c.txt", "ä.md", "B.md", "c/x")
    assert names_in(tmp_path) == ["B.md", "a/b/c.txt", "a/z.md", "a.md", "b.md", "c/x", "ä.md"]


def test_hidden_files_and_folders_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, ".a", ".git/config", "b/.c", "b/d")
    assert names_in(tmp_path) == ["b/d"]
    assert reasons_in(tmp_path) == {".a": "hidden", ".git/": "hidden", "b/.c": "hidden"}


def test_links_special_files_and_loops(tmp_path: Path) -> None:
    root = make(tmp_path / "root", "a.md", "sub/b.md")
    os.mkfifo(root / "fifo.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(root / "socket"))
    (root / "loop").symlink_to(root)
    (root / "sub" / "up").symlink_to("..")
    (root / "circle").symlink_to("circle")
    (root / "same.md").symlink_to("a.md")
    (root / "nowhere.md").symlink_to("missing")
    (root / "out.md").symlink_to(make(tmp_path, "secret.md") / "secret.md")
    (root / "zero").symlink_to("/dev/zero")
    assert names_in(root) == ["a.md", "sub/b.md"]
    assert reasons_in(root) == {
        "fifo.md": "special file",
        "socket": "special file",
        "loop": "inner link",
        "sub/up": "inner link",
        "circle": "broken link",
        "same.md": "inner link",
        "nowhere.md": "broken link",
        "out.md": "outer link",
        "zero": "outer link",
    }


def test_gitignore_at_every_level(tmp_path: Path) -> None:
    make(tmp_path, "a.log", "b.md", "build/x.md", "sub/a.log", "sub/keep.log", "sub/deep/keep.log", "sub/deep/t.md")
    (tmp_path / ".gitignore").write_text("*.log\n/build/\n\n# a comment\n")
    (tmp_path / "sub" / ".gitignore").write_text("!keep.log\n")
    (tmp_path / "sub" / "deep" / ".gitignore").write_text("*\n!t.md\n")
    assert names_in(tmp_path) == ["b.md", "sub/deep/t.md", "sub/keep.log"]
    ignored = {file for file, reason in reasons_in(tmp_path).items() if reason == "ignored"}
    assert ignored == {"a.log", "build/", "sub/a.log", "sub/deep/keep.log"}


def test_gitignore_agrees_with_git(tmp_path: Path) -> None:
    make(tmp_path, "a.o", "lib/a.o", "lib/b.c", "docs/x/y.txt", "docs/y.txt", "foo", "sub/foo/z", "tmp/k", "sub/tmp/k")
    (tmp_path / ".gitignore").write_text("*.o\n!lib/a.o\ndocs/**/y.txt\n/foo\nsub/foo/\n[t]mp\n\\#x\ninvalid[\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert names_in(tmp_path) == sorted(set(listed) - {".gitignore"})


def test_a_gitignore_with_a_byte_order_mark(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.txt")
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbf*.txt\n")
    assert names_in(tmp_path) == ["a.md"]


@pytest.mark.parametrize("name", ["dir", "dir ", "in ner/x\t", "\udcff"])
def test_files_below_what_could_not_be_read_may_be_there(name: str) -> None:
    walk = Walk(unreadable=[name])
    assert all(walk.may_have(escape_name(file)) for file in (name, f"{name}/a.md", f"{name}/b/c"))
    assert not any(walk.may_have(escape_name(file)) for file in (f"{name}2/a.md", "a.md", f"z{name}"))


def test_a_pattern_may_have_any_character_but_a_newline(tmp_path: Path) -> None:
    """As in git, which drops a carriage return before the newline."""
    make(tmp_path, "a.md", "b.txt", "c.log", "x\x0cc.log")
    (tmp_path / ".gitignore").write_bytes("*.txt\r\nx\x0bz\u2028c.log\nq\x85a.md\nx\x0cc.log".encode())
    assert names_in(tmp_path) == ["a.md", "c.log"]


@pytest.mark.parametrize("content", [b"\xff\xfe*.md\n", b"[\n!\n\\\n", b"[z-a]\n", b"*" * 5000, b""])
def test_an_odd_gitignore(tmp_path: Path, content: bytes) -> None:
    make(tmp_path, "a.md")
    (tmp_path / ".gitignore").write_bytes(content)
    assert names_in(tmp_path) == ["a.md"]


def test_a_gitignore_that_is_no_file_is_told(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    os.mkfifo(tmp_path / ".gitignore")
    found = walk_folder(tmp_path, Selection())
    assert [file.name for file in found.files] == ["a.md"]
    assert {(one.file, one.reason) for one in found.skipped} == {(".gitignore", "unreadable"), (".gitignore", "hidden")}


def test_include_and_exclude(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.txt", "docs/c.md", "docs/d.txt", "node_modules/e.md")
    assert names_in(tmp_path, "*.md") == ["a.md", "docs/c.md", "node_modules/e.md"]
    assert names_in(tmp_path, "*.md", exclude=("node_modules/",)) == ["a.md", "docs/c.md"]
    assert names_in(tmp_path, "/docs/", "b.txt") == ["b.txt", "docs/c.md", "docs/d.txt"]
    assert names_in(tmp_path, exclude=("docs", "*.txt", "")) == ["a.md", "node_modules/e.md"]
    assert reasons_in(tmp_path, exclude=("docs",)) == {"docs/": "excluded"}


@pytest.mark.parametrize(
    "globs", ["*.md", [1], ["a\nb"], ["x" * 2000], None, ["\ud800"], ["[z-a"], ["[z-a]"], ["# a"], ["/"]]
)
def test_globs_that_are_none(globs: object) -> None:
    with pytest.raises(SettingError, match="include"):
        check_globs("include", globs)


def test_the_index_itself_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "x.ast/manifest.json")
    assert names_in(tmp_path, index=tmp_path / "x.ast") == ["a.md"]


def test_other_indexes_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "web/manifest.json", "web/b.md", "deep/copy.ast/segment-000001/numbers.json")
    (tmp_path / "deep" / "copy.ast" / "manifest.json").write_text('{"crc32": 1, "content": "{}"}')
    assert names_in(tmp_path) == ["a.md", "web/b.md", "web/manifest.json"]
    assert reasons_in(tmp_path) == {"deep/copy.ast/": "index"}


def test_names_that_are_not_utf8_or_have_newlines(tmp_path: Path) -> None:
    for name in (b"caf\xe9.md", b"new\nline.md", b"tab\t.md", b"back\\slash.md", b" space.md", b"#1.md"):
        (tmp_path / os.fsdecode(name)).write_text("text")
    assert set(names_in(tmp_path)) == {
        *(r"caf\xe9.md", r"new\x0aline.md", r"tab\x09.md", r"back\\slash.md", r"\x20space.md", "#1.md")
    }


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_an_unreadable_folder_may_have_files(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "closed/b.md")
    (tmp_path / "closed").chmod(0)
    try:
        found = walk_folder(tmp_path, Selection())
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert [file.name for file in found.files] == ["a.md"]
    assert (found.may_have("closed/b.md"), found.may_have("closed.md")) == (True, False)


def test_deep_folders_under_few_descriptors(tmp_path: Path) -> None:
    """Each level is closed before the next one is opened."""
    deep = tmp_path
    for level in range(300):
        deep = deep / f"d{level % 10}"
    deep.mkdir(parents=True)
    (deep / "end.md").write_text("text")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        assert len(names_in(tmp_path)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.slow
def test_a_hundred_thousand_files(tmp_path: Path) -> None:
    for folder in range(100):
        inside = tmp_path / f"f{folder:03}"
        inside.mkdir()
        for number in range(1000):
            os.close(os.open(inside / f"{number}.md", os.O_CREAT | os.O_WRONLY))
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from pathlib import Path
from asterism.documents.folders.selecting import Selection
from asterism.documents.folders.walking import walk_folder
print(len(walk_folder(Path({str(tmp_path)!r}), Selection()).files))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "100000\n"
