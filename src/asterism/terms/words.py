"""The words of a text in any script, and where in the text they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .characters import LONGEST, compile_writings, fold

Placed = tuple[str, int, int]


def find_words(text: str) -> Iterator[Placed]:
    """Each word with the piece text[begin:end] that it is made from; not in the order of the text.

    A word is a run of letters, digits and their marks, normalised (NFKC, case folded). Scripts without spaces between
    words give overlapping n-grams instead.
    """
    kinds = compile_writings()
    for pattern in (kinds.spaced, kinds.symbol):
        for match in pattern.finditer(text):
            for word in split_run(match.group()):
                yield word, match.start(), match.end()
    for kind in kinds.unspaced:
        for match in kind.run.finditer(text):
            letters, begins, ends = _fold_letters(match.group(), match.start())
            yield from zip(make_grams(letters, kind.grams), *_find_places(begins, ends, kind.grams), strict=True)


def split_run(run: str) -> list[str]:
    """The words of a run with spaces around it, or of a symbol: usually one, but ½ ㏂ ㍿ are several."""
    if run.isascii():
        return [run[:LONGEST].lower()]
    folded = fold(run[:LONGEST])
    kinds = compile_writings()
    if kinds.spaced.fullmatch(folded):
        return [folded]
    words = kinds.spaced.findall(folded)
    for kind in kinds.unspaced:
        for part in kind.run.findall(folded):
            words += make_grams(part, kind.grams)
    return words


def split_unspaced_run(run: str, lengths: Sequence[int]) -> list[str]:
    """The n-grams of a run without spaces."""
    return make_grams(run if fold(run) == run else _fold_letters(run, 0)[0], lengths)


def make_grams(letters: str, lengths: Sequence[int]) -> list[str]:
    """All n-grams of each length; if there are too few letters for any, all of them together."""
    shortest = min(lengths)
    if len(letters) < shortest:
        return [letters] if letters else []
    return [letters[i : i + length] for length in lengths for i in range(len(letters) - length + 1)]


def _find_places(begins: list[int], ends: list[int], lengths: Sequence[int]) -> tuple[list[int], list[int]]:
    """Begin and end of each n-gram of `make_grams`."""
    if len(begins) < min(lengths):
        return begins[:1], ends[-1:]
    count = len(begins)
    return (
        [begin for length in lengths for begin in begins[: max(count - length + 1, 0)]],
        [end for length in lengths for end in ends[length - 1 :]],
    )


def _fold_letters(run: str, start: int) -> tuple[str, list[int], list[int]]:
    """A normalised run, and the begin and end in the text of what each letter comes from.

    Normalising can change the number of letters, so it is done piece by piece.
    """
    letters, begins, ends = [], [], []
    for piece in compile_writings().piece.finditer(run):
        made = fold(piece.group())
        letters.append(made)
        begins += [start + piece.start()] * len(made)
        ends += [start + piece.end()] * len(made)
    return "".join(letters), begins, ends
