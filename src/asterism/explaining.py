"""An explanation with its words: the tokens that answered, as pieces of the stored text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .corpus import Document
from .indexes.collection import MatchedDocument
from .results import Explanation, Match
from .search.explanation import Answer, maxsim_answers, total_score, xtr_answers
from .settings import TokenSearch

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from .encoders.encoder import Encoder
    from .encoders.spans import TokenSpan


def explained(query: str, matched: MatchedDocument, settings: TokenSearch, encoder: Encoder) -> Explanation:
    """Why a document has its score for a query."""
    if not len(matched.similarities):
        return Explanation(query, settings.method, matched.document, float("-inf"), ())
    answers = _answers(matched, settings)
    matches = _matches(query, matched, answers, encoder)
    score = total_score(answers, settings, matched.imputed)
    return Explanation(query, settings.method, matched.document, score, matches)


def _answers(matched: MatchedDocument, settings: TokenSearch) -> list[Answer]:
    if settings.method != "xtr":
        return maxsim_answers(matched.similarities)
    return xtr_answers(matched.similarities, matched.centroids, matched.imputed, matched.probed, settings.imputation)


def _matches(query: str, matched: MatchedDocument, answers: list[Answer], encoder: Encoder) -> tuple[Match, ...]:
    document = matched.document
    asked = encoder.query_spans(query)
    spans = encoder.document_spans(document.full_text)
    if asked is None or len(asked) != len(answers):
        asked = [_nowhere() for _ in answers]
    if spans is None or len(spans) != len(matched.similarities):  # pooled vectors stand for no single token
        spans = [_nowhere() for _ in matched.similarities]
    matches = []
    for span, answer in zip(asked, answers, strict=True):
        found = _nowhere() if answer.token < 0 else spans[answer.token]
        field, begin, end = _place(document, found.begin, found.end)
        place = (found.token, field, begin, end, answer.similarity, answer.imputed)
        matches.append(Match(span.token, span.begin, span.end, *place))
    return tuple(matches)


def _place(document: Document, begin: int, end: int) -> tuple[str, int, int]:
    """Offsets into what the model read -> the field, and offsets into that."""
    if begin < 0:
        return "", -1, -1
    before = len(document.full_text) - len(document.text)
    if end <= len(document.title) and before:
        return "title", begin, end
    return "text", max(0, begin - before), max(0, end - before)


def _nowhere() -> TokenSpan:
    from .encoders.spans import TokenSpan

    return TokenSpan("", -1, -1)
