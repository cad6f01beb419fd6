"""Builds explanations: the tokens and terms that matched, with their positions in the stored text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..collection.kept_views import Views
from ..documents.document import Document
from ..results import Explanation, Match, Share
from ..search.examine import Seen, SeenTerms, SeenTokens
from ..search.plan import SearchPlan
from ..search.token_answers import Answer, find_maxsim_answers, find_xtr_answers, sum_answers
from ..settings import TokenSearch, View
from ..terms.counting import TermSpan, find_query_word_spans, find_word_spans

if TYPE_CHECKING:  # onnxruntime is loaded when the first text is encoded
    from ..encoders.encoder import Encoder
    from ..encoders.spans import TokenSpan


class Explainer:
    """Explains the score of one document for one query."""

    def __init__(self, query: str, document: Document, views: Views, encoder: Callable[[], Encoder]) -> None:
        """`encoder` is called only if tokens must be located."""
        self._query = query
        self._document = document
        self._views = views
        self._encoder = encoder

    def explain(self, seen: Seen, plan: SearchPlan) -> Explanation:
        """Why the document has its score."""
        if plan.method == "hybrid":
            shares = tuple(self._explain_share(view, seen, plan) for view in seen.shares)
            score = plan.read_total(sum(share.share for share in shares))
            return Explanation(self._query, plan.method, self._document, score, (), shares)
        matches: tuple[Match, ...] = ()
        score, penalty = seen.shares[plan.view], 0.0
        if seen.tokens is not None and len(seen.tokens.similarities):
            answers = _find_answers(seen.tokens, plan.tokens)
            matches = self._match_tokens(seen.tokens, answers)
            penalty = seen.tokens.length_penalty
            score = sum_answers(answers, plan.tokens, seen.tokens.imputed, penalty)
        elif seen.terms is not None:
            matches = self._match_terms(seen.terms)
        return Explanation(self._query, plan.method, self._document, score, matches, length_penalty=penalty)

    def _explain_share(self, view: View, seen: Seen, plan: SearchPlan) -> Share:
        matches: tuple[Match, ...] = ()
        if view == "lexical" and seen.terms is not None:
            matches = self._match_terms(seen.terms)
        elif view == "multi" and seen.tokens is not None and len(seen.tokens.similarities):
            matches = self._match_tokens(seen.tokens, find_maxsim_answers(seen.tokens.similarities))
        return Share(view, seen.scores[view], seen.shares[view], matches)

    def _match_tokens(self, seen: SeenTokens, answers: list[Answer]) -> tuple[Match, ...]:
        encoder = self._encoder()
        asked = encoder.query_spans(self._query)
        spans = encoder.document_spans(self._document.full_text)
        if asked is None or len(asked) != len(answers):
            asked = [_make_empty_span() for _ in answers]
        if spans is None or len(spans) != len(seen.similarities):  # pooled vectors do not belong to a single token
            spans = [_make_empty_span() for _ in seen.similarities]
        matches = []
        for span, answer in zip(asked, answers, strict=True):
            found = _make_empty_span() if answer.token < 0 else spans[answer.token]
            field, begin, end = _locate(self._document, found.begin, found.end)
            place = (found.token, field, begin, end, answer.similarity, answer.imputed)
            matches.append(Match(span.token, span.begin, span.end, *place))
        return tuple(matches)

    def _match_terms(self, seen: SeenTerms) -> tuple[Match, ...]:
        """The query's terms in the order of the query, each once."""
        if self._views.lexical == "words":
            language = self._views.language
            asked = _take_first(find_query_word_spans(self._query, language))
            written = _take_first(find_word_spans(self._document.full_text, language))
        else:
            asked, written = (
                _take_first(self._encoder().term_spans(text)) for text in (self._query, self._document.full_text)
            )
        added = dict(zip(seen.terms.tolist(), seen.added.tolist(), strict=True))
        matches = []
        for term, span in asked.items():
            found = written.get(term)
            field, begin, end = _locate(self._document, found.begin, found.end) if found else ("", -1, -1)
            word = found.word if found else ""
            matches.append(Match(span.word, span.begin, span.end, word, field, begin, end, added.get(term, 0.0), False))
        return tuple(matches)


def _take_first(spans: Iterable[TermSpan]) -> dict[int, TermSpan]:
    """Term -> its first occurrence."""
    found: dict[int, TermSpan] = {}
    for span in spans:
        found.setdefault(span.term, span)
    return found


def _find_answers(seen: SeenTokens, settings: TokenSearch) -> list[Answer]:
    if settings.method != "xtr":
        return find_maxsim_answers(seen.similarities)
    return find_xtr_answers(seen.similarities, seen.centroids, seen.imputed, seen.probed, settings.imputation)


def _locate(document: Document, begin: int, end: int) -> tuple[str, int, int]:
    """Offsets into the encoded text -> the field, and offsets into that field."""
    if begin < 0:
        return "", -1, -1
    before = len(document.full_text) - len(document.text)
    if end <= len(document.title) and before:
        return "title", begin, end
    return "text", max(0, begin - before), max(0, end - before)


def _make_empty_span() -> TokenSpan:
    from ..encoders.spans import TokenSpan

    return TokenSpan("", -1, -1)
