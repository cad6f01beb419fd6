"""Terms by language: stems, function words, and which language a text has."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from Stemmer import Stemmer

from asterism.settings import LANGUAGES
from asterism.terms.characters import fold
from asterism.terms.counting import (
    LETTERS,
    count_query_words,
    count_words,
    find_query_word_spans,
    find_word_spans,
)
from asterism.terms.function_words import WORDS, find_function_words
from asterism.terms.languages import ALGORITHMS, detect_language, load_stemmer
from tests.unit.terms.test_counting import TEXT

CODES = sorted(ALGORITHMS)
SENTENCES = {
    "ar": "هذا هو الكتاب الذي قرأته في المدرسة، وقد كان من أجمل الكتب التي كانت على الطاولة",
    "cs": "To je kniha, kterou jsem četl ve škole, a byla to jedna z nejlepších, které tam jsou",
    "da": "Det blev kun læst af jer, og hvad er der nu at blive af? Hvornår bliver den læst af dem, som har været her",
    "de": "Das ist das Buch, das ich in der Schule gelesen habe, und es war eines der besten",
    "el": "Αυτό είναι το βιβλίο που διάβασα στο σχολείο και ήταν ένα από τα καλύτερα",
    "en": "This is the book that I have read at school, and it was one of the best of them",
    "es": "Este es el libro que he leído en la escuela, y fue uno de los mejores que había",
    "fi": "Tämä on kirja, jonka olen lukenut koulussa, ja se oli yksi parhaista, mitä siellä on",
    "fr": "C'est le livre que j'ai lu à l'école, et il était un des meilleurs qui sont dans la liste",
    "hi": "यह वह किताब है जो मैंने स्कूल में पढ़ी थी और यह सबसे अच्छी किताबों में से एक है",
    "it": "Questo è il libro che ho letto nella scuola, ed era uno dei migliori che sono nella lista",
    "nl": "Dit is het boek dat ik op school heb gelezen, en het was een van de beste die er zijn",
    "no": "Dette er boken som jeg har lest, og hva blir det av den? Den ble bare lest av dere etter meg, mellom oss",
    "pl": "To jest książka, którą czytałem w szkole, i była to jedna z najlepszych, które tam są",
    "pt": "Este é o livro que eu li na escola, e foi um dos melhores que não são da lista",
    "ro": "Aceasta este cartea pe care am citit-o la școală și a fost una dintre cele mai bune",
    "ru": "Это книга, которую я читал в школе, и она была одной из лучших, которые там были",
    "sv": "Det här är boken som jag har läst i skolan, och den var en av de bästa av dem, inte sant",
    "tr": "Bu benim okulda okuduğum kitap ve o kitap gibi bir kitap daha yok, ne için var",
}


def terms(text: str, language: str) -> Counter[int]:
    found, counts = count_words([text], language)[0]
    return Counter(dict(zip(found.tolist(), counts.astype(int).tolist(), strict=True)))


def asked(text: str, language: str) -> Counter[int]:
    found, counts = count_query_words([text], language)[0]
    return Counter(dict(zip(found.tolist(), counts.astype(int).tolist(), strict=True)))


def test_one_list_of_languages() -> None:
    assert set(LANGUAGES) == {"auto", "none", "en", *ALGORITHMS}
    assert {"en", *ALGORITHMS} == WORDS.keys() == SENTENCES.keys()


@pytest.mark.parametrize("code", CODES)
def test_stems_are_snowballs(code: str) -> None:
    """A word's term is that of the first letters of its stem, which counts as it is without a language."""
    snowball = Stemmer(ALGORITHMS[code])
    for word in (span.word for span in find_word_spans(SENTENCES[code])):
        stem = snowball.stemWord(word) if len(word) > 3 else word
        assert load_stemmer(code)(word) == snowball.stemWord(word)
        assert terms(word, code) == terms(stem[:LETTERS], "none")


def test_english_words_lose_the_s_of_their_plural() -> None:
    """Harman, 1991: ies to y, but not eies, aies; es to e, but not aes, ees, oes; s to nothing, but not us, ss."""
    stems = {"queries": "query", "aeies": "aeie", "waves": "wave", "shoes": "shoe", "trees": "tree", "cats": "cat"}
    stems |= {"virus": "virus", "glass": "glass", "flow": "flow", "s": ""}
    assert {word: load_stemmer("en")(word) for word in stems} == stems


def test_words_with_one_stem_are_one_term() -> None:
    assert terms("cats CAT Cats'", "en") == dict.fromkeys(terms("cat", "en"), 3)
    assert terms("connection connections connected", "en").most_common()[0][1] == 3
    assert terms("книга книги книгой", "ru").most_common()[0][1] == 3
    assert len(terms("cats cat", "none")) == 2


def test_what_is_not_stemmed() -> None:
    """Abbreviations, words with digits, and scripts without spaces; letters after the seventh do not count."""
    for text in ("als its", "b2bs 1990s", "東京の猫 ภาษาไทย 한국어"):
        assert terms(text, "en") == terms(text, "none")
    assert terms("internationalisation", "en") == terms("internally", "en")


def test_words_of_other_scripts_in_a_text() -> None:
    text = "Russian книги and 東京 cats"
    assert terms(text, "en") == terms("russian книги and cat", "none") + terms("東京", "none")


def test_function_words_are_dropped_from_queries_only() -> None:
    assert asked("What is the speed of light?", "en") == terms("speed light", "en")
    assert asked("What is the speed of light?", "none") == terms("what is the speed of light", "none")
    assert sum(terms("What is the speed of light?", "en").values()) == 6
    assert [span.word for span in find_query_word_spans("What is the speed of light?", "en")] == ["speed", "light"]


def test_a_query_of_function_words_keeps_them() -> None:
    assert asked("To be or not to be", "en") == terms("to be or not to be", "en")
    assert [span.word for span in find_query_word_spans("The Who", "en")] == ["the", "who"]
    assert asked("", "en") == asked("?!", "en") == {}
    assert find_query_word_spans("?!", "en") == []
    assert count_query_words([], "en").offsets.tolist() == [0]


@pytest.mark.parametrize("code", CODES)
def test_function_words_are_in_the_form_of_words(code: str) -> None:
    words = find_function_words(code)
    assert len(words) > 50
    assert {span.word for word in words for span in find_word_spans(word)} == words
    assert all(fold(word) == word for word in words)
    assert find_function_words("none") == frozenset()


@pytest.mark.parametrize("code", [*CODES, "none"])
@settings(derandomize=True, deadline=None, max_examples=60)
@given(data=st.data())
def test_counts_and_places_agree(code: str, data: st.DataObject) -> None:
    known = st.lists(st.sampled_from((SENTENCES.get(code, "") + " What is the Straße 東京 B2B").split()), max_size=8)
    text = data.draw(st.one_of(TEXT, known.map(" ".join)))
    assert Counter(span.term for span in find_word_spans(text, code)) == terms(text, code)
    assert Counter(span.term for span in find_query_word_spans(text, code)) == asked(text, code)
    assert set(find_query_word_spans(text, code)) <= set(find_word_spans(text, code))


@pytest.mark.parametrize("code", CODES)
def test_the_language_of_a_text(code: str) -> None:
    assert detect_language([SENTENCES[code]]) == code
    assert detect_language(["", "1234", SENTENCES[code].upper(), "fox"]) == code


def test_no_language_is_clear() -> None:
    assert detect_language([]) == detect_language([""]) == detect_language(["?", "12 34"]) == "none"
    assert detect_language(["東京は日本の首都です。"]) == detect_language(["Đây là một quyển sách"]) == "none"
    assert detect_language([SENTENCES["en"], SENTENCES["de"]]) == "none"
    assert detect_language(["fox dog zebra speed light seconds python"]) == "none"
    assert detect_language([SENTENCES["en"], *["東京は日本の首都です。" * 9] * 3]) == "none"


def test_only_the_first_texts_are_read() -> None:
    english = [SENTENCES["en"]] * 256
    assert detect_language([*english, *[SENTENCES["de"]] * 10_000]) == "en"
    assert detect_language([SENTENCES["en"] * 20 + SENTENCES["de"] * 1000]) == "en"


def test_threads_get_the_same_stems() -> None:
    words = [f"{word}{ending}" for word in ("arbeit", "katze", "nation") for ending in ("en", "er", "n", "s", "ung")]
    expected = Stemmer("german").stemWords(words)
    found: list[list[str]] = []

    def stem_all() -> None:
        for _ in range(200):
            found.append([load_stemmer("de")(word) for word in words])

    threads = [threading.Thread(target=stem_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800
    assert all(stems == expected for stems in found)


def test_the_stemmer_is_loaded_late() -> None:
    code = (
        "import sys, asterism, asterism.retriever; from asterism.terms.counting import count_words; "
        "count_words(['the foxes']); before = 'Stemmer' in sys.modules; count_words(['die Katzen'], 'de'); "
        "print(before, 'Stemmer' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False True\n"


def test_texts_do_not_mind_each_other() -> None:
    texts = list(SENTENCES.values())
    for language in ("en", "ru", "none"):
        together = count_words(texts, language)
        for i, text in enumerate(texts):
            np.testing.assert_array_equal(together[i][0], count_words([text], language).terms)
