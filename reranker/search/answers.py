"""Makes the answers of a search and of an explanation out of what the ranking found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from reranker.answers.explanation import (
    ExplainAnswer,
    ExplainedDocument,
    OrderParts,
    TranslatedWord,
    WordTranslation,
)
from reranker.answers.search import FoundBy, Hit, SearchAnswer
from reranker.ranking.explanation import cost_meaning, explain
from reranker.ranking.query import Query
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.ranking.standing import standing
from reranker.search.request import SearchRequest
from reranker.text.documents import Candidate, Document
from reranker.translation.groups import WordGroup
from reranker.transport import Parameters


def search_answer(
    request: SearchRequest,
    query: Query,
    hits: list[Hit],
    n_candidates: int,
    reranking: Reranking | None,
    took_ms: dict[str, float],
) -> SearchAnswer:
    """A page of hits.

    Args:
        reranking: None where the first stage's order was asked for, or is all there is.
    """
    is_asked = request.min_relevance is not None
    return SearchAnswer(
        hits=hits,
        index=request.index,
        n_candidates=n_candidates,
        n_reranked=reranking.n_candidates if reranking else 0,
        language=query.language,
        first_stage=cast(FoundBy, request.first_stage),  # `auto` is resolved
        method=reranking.method if reranking else "none",
        precision=reranking.precision if reranking else "none",
        n_converged=reranking.n_converged if reranking else 0,
        has_feedback=reranking.has_feedback if reranking else False,
        unknown_words=list(query.unknown_words),
        took_ms=took_ms,
        no_good_answer=reranking.has_no_good_answer if is_asked and reranking else None,
        n_cut=reranking.n_cut if is_asked and reranking else None,
    )


def reranked_hit(document: Document, candidate: Candidate, ranked: RankedDocument, with_relevance: bool) -> Hit:
    """A hit of the re-ranked window."""
    is_known = not ranked.without_known_word
    return Hit(
        **_document_fields(document),
        score=ranked.score,
        distance=ranked.distance if is_known else None,
        rank=ranked.reranked_rank,
        first_stage_score=candidate.first_stage_score,
        first_stage_rank=candidate.first_stage_rank,
        without_known_word=ranked.without_known_word,
        score_parts=ranked.parts,
        order_distance=ranked.order_distance if is_known else None,
        hubness=ranked.correction.hubness,
        lacking_words=list(ranked.correction.lacking_words),
        relevance=ranked.relevance if with_relevance else None,
    )


def hit_by_rank(document: Document, candidate: Candidate, rank: int, score: float) -> Hit:
    """A hit that was not re-ranked: its score falls with its rank."""
    return Hit(
        **_document_fields(document),
        score=score,
        distance=None,
        rank=rank,
        first_stage_score=candidate.first_stage_score,
        first_stage_rank=candidate.first_stage_rank,
        without_known_word=False,
        score_parts=None,
        order_distance=None,
        hubness=None,
        lacking_words=[],
    )


def explain_answer(
    index: str,
    query: Query,
    document: Document,
    ranking: Reranking,
    place: int,
    first_stage_rank: int | None,
    is_candidate: bool,
    parameters: Parameters,
    name: Callable[[int], str],
    groups: Sequence[WordGroup],
) -> ExplainAnswer:
    """The score of a document taken apart: its evidence, and the transport word by word.

    Args:
        ranking: of the candidates of the search, among them the document.
        place: of the document among the candidates as they were given.
        first_stage_rank, is_candidate: as of `standing`.
        name: the id of a candidate, from its place.
        groups: translations of the query's words, by which the first stage searched documents in this language.

    Raises:
        BadInput: no word of the document has an embedding.
    """
    embeddings = query.embeddings
    ranked = next(each for each in ranking.documents if each.index == place)
    explained = explain(query.weighted, ranked.weighted, embeddings, ranking.method, parameters, document)
    stands = standing(query, document, embeddings, ranking.documents, place, first_stage_rank, is_candidate)
    correction = ranked.correction
    return ExplainAnswer(
        id=document.doc_id,
        index=index,
        method=explained.method,
        precision=explained.precision,
        cost_meaning=cost_meaning(explained.method),
        distance=explained.distance,
        order_distance=correction.order_distance(explained.distance),
        order_parts=OrderParts(
            words=(1.0 - correction.unknown_share) * explained.distance,
            lacking_words=correction.added_by_lacking_words,
            hubness=correction.added_by_hubness,
        ),
        unknown_share=correction.unknown_share,
        unknown_words=list(query.unknown_words),
        lacking_words=list(correction.lacking_words),
        hubness=correction.hubness,
        score=ranked.score,
        score_parts=ranked.parts,
        score_sources=ranked.sources(embeddings, name),
        standing=stands,
        translations=[_translated(group) for group in groups],
        words=explained.words,
        telling_pairs=explained.telling_pairs,
        document=ExplainedDocument(document.title, document.url, document.language, document.text),
        document_words=explained.document_words,
    )


def _document_fields(document: Document) -> dict[str, Any]:
    return {
        "id": document.doc_id,
        "title": document.title,
        "url": document.url,
        "language": document.language,
        "text": document.text,
        "metadata": dict(document.metadata),
    }


def _translated(group: WordGroup) -> TranslatedWord:
    return TranslatedWord(group.token, [WordTranslation(each.term, each.weight) for each in group.translations])
