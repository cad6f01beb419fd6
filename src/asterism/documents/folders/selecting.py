"""Which files of a folder are wanted: globs of the user, and the .gitignore files on the way to a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from ...errors import SettingError
from ...files.regular_files import read_regular

GITIGNORE = ".gitignore"
LARGEST_GITIGNORE = 1 << 20
LONGEST_PATTERN = 1000
INVALID = (ValueError, re.error)  # what pathspec raises for a pattern that it cannot use


class Selection:
    """Globs as in a .gitignore: *.md at any depth, /a.md only at the top, docs/ a folder with all it has.

    include: a file must match one of them, if there are any · exclude: what matches one of them is left out.
    """

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        """Check the globs; empty ones are dropped."""
        self.include = check_globs("include", include)
        self.exclude = check_globs("exclude", exclude)
        self._include = _compile(self.include)
        self._exclude = _compile(self.exclude)

    def wants_file(self, name: str) -> bool:
        """Whether a file, by its relative path, is wanted."""
        return (not self.include or self._include.match_file(name)) and not self._exclude.match_file(name)

    def wants_folder(self, name: str) -> bool:
        """Whether a folder may have files that are wanted."""
        return not self._exclude.match_file(f"{name}/")


def check_globs(option: str, globs: Sequence[str]) -> tuple[str, ...]:
    """Refuse what is no list of globs; SettingError."""
    if isinstance(globs, str | bytes) or not isinstance(globs, Sequence):
        raise SettingError(f"{option} is {globs!r}, expected a list of globs such as ['*.md']")
    for glob in globs:
        if not isinstance(glob, str) or "\n" in glob or len(glob) > LONGEST_PATTERN:
            raise SettingError(f"{option} has {str(glob)[:60]!r}, expected a glob in one line, such as '*.md'")
        try:
            glob.encode()
            is_pattern = all(pattern.include is not None for pattern in _compile([glob]).patterns)
        except INVALID as error:
            raise SettingError(f"{option} has {glob[:60]!r}, expected a glob such as '*.md' ({error})") from error
        if glob.strip() and not is_pattern:
            raise SettingError(f"{option} has {glob[:60]!r}, which matches nothing, expected a glob such as '*.md'")
    return tuple(glob for glob in globs if glob.strip())


def _compile(patterns: Iterable[str]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(patterns)


@dataclass(frozen=True)
class Ignoring:
    """The .gitignore of a folder, and those above it; the nearest that has a matching pattern decides, as in git."""

    prefix: str  # the folder's relative path with a slash at its end; empty for the top
    spec: GitIgnoreSpec
    above: Ignoring | None

    def ignores(self, name: str) -> bool:
        """Whether the relative path, with a slash at its end for a folder, is ignored."""
        found = self.spec.check_file(name[len(self.prefix) :]).include
        if found is not None:
            return found
        return self.above is not None and self.above.ignores(name)


def read_gitignore(folder: Path, prefix: str, above: Ignoring | None) -> Ignoring | None:
    """The rules in a folder that has a .gitignore; OSError if that cannot be read. Odd patterns are no patterns."""
    text = read_regular(folder / GITIGNORE, LARGEST_GITIGNORE).decode("utf-8-sig", "surrogateescape")
    lines = []
    for line in text.split("\n"):  # other ends of lines may be in names
        line = line.removesuffix("\r")
        try:
            _compile([line])
        except INVALID:  # git takes such a line for a pattern that matches nothing
            continue
        if len(line) <= LONGEST_PATTERN:
            lines.append(line)
    return Ignoring(prefix, _compile(lines), above) if lines else above
