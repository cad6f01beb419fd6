"""The language of an index: found from its first texts, it decides how words become terms."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from .function_words import WORDS, find_function_words
from .words import find_words

NONE = "none"  # words are only cut, in any language
ALGORITHMS = {
    "ar": "arabic",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
"""ISO 639-1 code -> the name of Snowball's algorithm; English has a lighter one, which found more."""

READ_DOCUMENTS = 256  # texts that decide the language, from the first on
READ_CHARACTERS = 1000  # of each of them
LEAST_SHARE = 0.14  # of the words that are function words: 0.16 of Turkish texts, 0.4 of English ones
LEAST_FOUND = 3  # function words of that language only: one or two may be names
LEAST_LEAD = 2.0  # times the next language's share of words that are function words of one language only


def detect_language(texts: Sequence[str]) -> str:
    """The code of the language whose function words the first texts have; "none" if none is clear, or several are."""
    words = Counter(word for text in texts[:READ_DOCUMENTS] for word, _, _ in find_words(text[:READ_CHARACTERS]))
    own = {code: sum(words[word] for word in found) for code, found in _list_distinctive_words().items()}
    first, second = sorted(own, key=lambda code: own[code], reverse=True)[:2]
    known = sum(words[word] for word in find_function_words(first))
    clear = own[first] >= max(LEAST_FOUND, LEAST_LEAD * own[second]) and known >= LEAST_SHARE * words.total()
    return first if clear else NONE


@cache
def _list_distinctive_words() -> dict[str, frozenset[str]]:
    """Code -> function words that no other language has: Danish and Norwegian have most in common."""
    languages = Counter(word for code in WORDS for word in find_function_words(code))
    return {code: frozenset(word for word in find_function_words(code) if languages[word] == 1) for code in WORDS}


@cache
def load_stemmer(language: str) -> Callable[[str], str]:
    """Word -> its stem, by Snowball's algorithm for most languages; for "none", the word itself."""
    if language == NONE:
        return str
    if language == "en":
        return remove_plural
    from Stemmer import Stemmer  # loaded when the first text is counted

    # Terms are cached by the caller. Calls take turns, because a stemmer keeps its work in itself.
    stemmer, guard = Stemmer(ALGORITHMS[language], 0), threading.Lock()

    def stem(word: str) -> str:
        with guard:
            stemmed: str = stemmer.stemWord(word)
        return stemmed

    return stem


def remove_plural(word: str) -> str:
    """An English word without the s of its plural (the S stemmer of Harman, 1991)."""
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word[:-1] if word.endswith("s") and not word.endswith(("us", "ss")) else word
