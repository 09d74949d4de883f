"""Says where a document stands among the candidates of a search, and what keeps it from the first page."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from reranker.answers.explanation import FellAt, NearWord, Standing
from reranker.answers.search import ScoreParts
from reranker.embeddings import Embeddings
from reranker.ranking.matches import Mark, find_marks
from reranker.ranking.query import Query
from reranker.ranking.ranked import RankedDocument
from reranker.ranking.scores import SCORE_DECIMALS
from reranker.text.documents import Document
from reranker.text.normalization import as_written
from reranker.text.stems import stem

PAGE_SIZE = 10
"""Hits of the first page."""

# What is read of a document: more than of one that is ranked, so that no word seems to lack that stands at its end.
_MAX_WORDS = 20_000


def standing(
    query: Query,
    document: Document,
    embeddings: Embeddings,
    documents: Sequence[RankedDocument],
    index: int,
    first_stage_rank: int | None,
    is_candidate: bool,
) -> Standing:
    """Where a document stands.

    Args:
        documents: the candidates in their order, among them the document; `index`: its place as they were given.
        first_stage_rank: None where the first stage does not find it.
        is_candidate: whether it is one of the candidates by itself, and not added to be explained.
    """
    own = next(one for one in documents if one.index == index)
    others = [one for one in documents if one.index != index]
    place = own.reranked_rank if is_candidate else first_stage_rank  # behind the candidates that order stays
    is_on_page = place is not None and place <= PAGE_SIZE
    last = None if is_on_page or len(others) < PAGE_SIZE else others[PAGE_SIZE - 1]
    words = _words(query, document, embeddings)
    return Standing(
        fell_at=_fell_at(is_on_page, is_candidate, first_stage_rank),
        rank=own.reranked_rank if is_candidate else None,
        n_candidates=len(others) + is_candidate,
        first_stage_rank=first_stage_rank,
        score_behind=None if last is None else round(last.score - own.score, SCORE_DECIMALS),
        parts_behind=None if last is None else _difference(last.parts, own.parts),
        lacking_query_words=list(words),
        near_words=[near for near in words.values() if near is not None],
    )


def _fell_at(is_on_page: bool, is_candidate: bool, first_stage_rank: int | None) -> FellAt | None:
    if is_on_page:
        return None
    if is_candidate:
        return "score"
    return "first_stage" if first_stage_rank is None else "window"


def _difference(parts: ScoreParts | None, others: ScoreParts | None) -> ScoreParts | None:
    if parts is None or others is None:
        return None
    return ScoreParts(**{name: value - others[name] for name, value in parts.items()})


def _words(query: Query, document: Document, embeddings: Embeddings) -> dict[str, NearWord | None]:
    """The query's words that the document lacks, each with its nearest word that the document has, if one is near."""
    ((marks,),) = find_marks(query, embeddings, [[document.full_text]], [document.language], _MAX_WORDS)
    held = {stem(mark.query_word, query.language) for mark in marks if mark.likeness >= 1}
    nearest: dict[str, Mark] = {}
    for mark in marks:
        if mark.query_word not in nearest or mark.likeness > nearest[mark.query_word].likeness:
            nearest[mark.query_word] = mark
    found: dict[str, NearWord | None] = {}
    for token in dict.fromkeys(query.tokens):
        if stem(token, query.language) not in held:
            near = [nearest[one] for one in (token, *embeddings.parts(query.language, token)) if one in nearest]
            best = max(near, key=attrgetter("likeness"), default=None)
            word = as_written(token, query.language)
            found[word] = best and NearWord(word, as_written(best.word, document.language), round(best.likeness, 4))
    return found
