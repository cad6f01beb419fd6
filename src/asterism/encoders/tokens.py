"""Text to rows of token ids: markers, expansion, windows, and which tokens have a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from ..errors import CheckpointError, EncodingError
from ..terms.characters import is_ideograph
from ..terms.texts import check_texts
from .checkpoints.tokenizers.loading import open_tokenizer, translate_library_errors

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TextRules:
    """How the texts of one side, documents or queries, become token ids.

    length        the most tokens of a row, including special tokens
    prompt        put before each text
    strip         whether white space around the text is removed first
    lower         whether the text is converted to lower case first
    marker        an id after the first token (ColBERT's [Q] and [D]), or None
    expand_to     rows are filled up to this many tokens with `filler`; 0 for no expansion
    filler        the id that fills rows up (ColBERT's [MASK]); fillers have vectors like the text's own tokens
    attend        whether the other tokens attend to the fillers
    first_counts  whether the first token has a vector (it has none in BGE-M3)
    skipped       ids without a vector
    windows       whether a longer text continues in further rows; else it is cut and counted as truncated
    """

    length: int
    prompt: str = ""
    strip: bool = False
    lower: bool = False
    marker: int | None = None
    expand_to: int = 0
    filler: int = 0
    attend: bool = False
    first_counts: bool = True
    skipped: frozenset[int] = frozenset()
    windows: bool = True


@dataclass(frozen=True)
class Frame:
    """Ids around a text: before it, after it, between its parts (MCLS), and the one that fills up its row."""

    before: list[int]
    after: list[int]
    between: int
    filler: int

    def blank_out(self) -> Frame:
        """A frame of the same lengths with -1 for every id: for positions in a text instead of ids."""
        return Frame([-1] * len(self.before), [-1] * len(self.after), -1, -1)


@dataclass(frozen=True)
class Row:
    """One sequence for the transformer: a text or a window of it.

    ids (tokens,); attention sees the first `attended`. Places begin <= i < end are the row's own, the rest of a window
    is context.
    """

    text: int
    ids: Ids
    attended: int
    begin: int
    end: int


@dataclass(frozen=True)
class TokenisedTexts:
    """The rows of some texts, in order, and how many texts were cut."""

    texts: int
    rows: list[Row]
    truncated: int


class TextTokenizer:
    """A tokenizer, its file, the number of its ids (with added tokens), and the ids before and after a text."""

    def __init__(self, folder: Path) -> None:
        """From tokenizer.json, or the vocab.txt of a BERT."""
        self.file, self._tokenizer = open_tokenizer(folder)
        with translate_library_errors(lambda error: CheckpointError(f"{self.file} cannot be used on a text: {error}")):
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
            framed = self._tokenizer.encode("a").ids
            bare = self._tokenizer.encode("a", add_special_tokens=False).ids
            own = self._tokenizer.get_vocab(with_added_tokens=True).values()
            self.vocabulary = 1 + max([*own, *framed])
            self.unknown = _find_unknown(self._tokenizer)
        start = next((i for i in range(len(framed)) if framed[i : i + len(bare)] == bare), None) if bare else None
        if start is None:
            raise CheckpointError(
                f"{self.file} does not put a text between special tokens, expected its own tokens unchanged"
            )
        self.before, self.after = framed[:start], framed[start + len(bare) :]

    def find_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        found: int | None = self._tokenizer.token_to_id(token)
        return found

    def count_ideographs(self) -> int:
        """How many tokens are a single ideograph, with or without a mark of the tokenizer's own."""
        tokens = (token.lstrip("▁#") for token in self._tokenizer.get_vocab(with_added_tokens=False))
        return sum(len(token) == 1 and is_ideograph(token) for token in tokens)

    def get_least_length(self, rules: TextRules) -> int:
        """The smallest length of a row that leaves room for a text."""
        return len(self.before) + len(self.after) + (rules.marker is not None) + 4

    def find_token(self, number: int) -> str:
        """The token of an id; empty for an unknown id."""
        return self._tokenizer.id_to_token(number) or ""

    def make_frame(self, rules: TextRules) -> Frame:
        """The ids around a text of one side."""
        marker = [] if rules.marker is None else [rules.marker]
        return Frame(self.before + marker, self.after, self.before[0] if self.before else -1, rules.filler)

    def require_id(self, token: str, purpose: str) -> int:
        """The id of a token that must exist; `purpose` says in an error what it is for."""
        found = self.find_id(token)
        if found is None:
            raise CheckpointError(f"{self.file} has no token {token!r}, expected one for {purpose}")
        return found

    def encode(self, texts: Sequence[str], rules: TextRules) -> list[Encoding]:
        """The encodings of some texts, without special tokens."""
        with translate_library_errors(self._make_error):
            return list(self._tokenizer.encode_batch_fast(_prepare(texts, rules), add_special_tokens=False))

    def encode_with_offsets(self, text: str, rules: TextRules) -> Encoding:
        """The same with offsets in characters of the prepared text (see `find_origins`), which is slower."""
        with translate_library_errors(self._make_error):
            return self._tokenizer.encode(_prepare([text], rules)[0], add_special_tokens=False)

    def make_pair_frame(self) -> tuple[list[int], list[int], list[int]]:
        """The ids before, between and after the two texts of a pair."""
        with translate_library_errors(self._make_error):
            framed = self._tokenizer.encode("a", "a").ids
            bare = self._tokenizer.encode("a", add_special_tokens=False).ids
        first = next((i for i in range(len(framed)) if framed[i : i + len(bare)] == bare), None)
        if first is None:
            raise CheckpointError(
                f"{self.file} does not put two texts between special tokens, expected their own tokens unchanged"
            )
        rest = framed[first + len(bare) :]
        second = next((i for i in range(len(rest)) if rest[i : i + len(bare)] == bare), len(rest))
        return framed[:first], rest[:second], rest[second + len(bare) :]

    def _make_error(self, error: BaseException) -> EncodingError:
        return EncodingError(f"{self.file} cannot be used on these texts: {error}")


def _find_unknown(tokenizer: Tokenizer) -> int | None:
    """The id of the unknown token, or None; a unigram model does not name its own, which is `<unk>` by convention."""
    found: int | None = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "<unk>")
    return found


def tokenise(
    tokenizer: TextTokenizer, rules: TextRules, texts: Sequence[str], cls_every: int = 0, first: int = 0
) -> TokenisedTexts:
    """All rows of `texts`; errors name the number of a text, counted from `first`."""
    check_texts(texts, first)
    frame = tokenizer.make_frame(rules)
    rows: list[Row] = []
    truncated = 0
    for number, encoding in enumerate(tokenizer.encode(texts, rules)):
        parts, cut = make_rows(number, np.array(encoding.ids, np.int64), frame, rules, cls_every)
        rows += parts
        truncated += cut
    return TokenisedTexts(len(texts), rows, truncated)


def _prepare(texts: Sequence[str], rules: TextRules) -> list[str]:
    if rules.strip:
        texts = [text.strip() for text in texts]
    if rules.lower:
        texts = [text.lower() for text in texts]
    return [rules.prompt + text for text in texts] if rules.prompt else list(texts)


def find_origins(text: str, rules: TextRules) -> list[int]:
    """For each character of the prepared text, the character of `text` it comes from; -1 for the prompt."""
    first = len(text) - len(text.lstrip()) if rules.strip else 0
    kept = text.strip() if rules.strip else text
    made = [first + i for i, character in enumerate(kept) for _ in (character.lower() if rules.lower else character)]
    return [-1] * len(rules.prompt) + made


def make_rows(number: int, content: Ids, frame: Frame, rules: TextRules, cls_every: int) -> tuple[list[Row], bool]:
    """content (tokens,) of text `number` -> its rows, with their frame, and whether the text was cut."""
    before, after = frame.before, frame.after
    if cls_every:  # BGE-M3's MCLS: another [CLS] before every `cls_every` tokens
        content = np.insert(content, np.arange(cls_every, len(content), cls_every), frame.between)
    room = rules.length - len(before) - len(after)
    cut = not rules.windows and len(content) > room
    rows = []
    if cut:
        content = content[:room]
    for begin, end, own_from, own_to in cut_windows(len(content), room):
        real = len(before) + end - begin + len(after)
        ids = np.full(max(real, rules.expand_to), frame.filler, np.int64)
        ids[:real] = np.concatenate([before, content[begin:end], after])
        # The special tokens of a document count once: those before it in the first window, those after it in the last.
        own_begin = len(before) + own_from - begin if begin else 0
        own_end = len(before) + own_to - begin if own_to < len(content) else len(ids)
        rows.append(Row(number, ids, len(ids) if rules.attend else real, own_begin, own_end))
    return rows, cut


def cut_windows(tokens: int, room: int) -> list[tuple[int, int, int, int]]:
    """Begin and end of each window of `tokens`, and begin and end of the part whose vectors are taken from it.

    Windows overlap by a quarter; each vector of an overlap is taken from the window that has more context for it.
    """
    if tokens <= room:
        return [(0, tokens, 0, tokens)]
    overlap = room // 4
    begins = list(range(0, tokens - overlap, room - overlap))
    ends = [min(begin + room, tokens) for begin in begins]
    borders = [0] + [(end + begin) // 2 for end, begin in zip(ends[:-1], begins[1:], strict=True)] + [tokens]
    return [(begins[i], ends[i], borders[i], borders[i + 1]) for i in range(len(begins))]
