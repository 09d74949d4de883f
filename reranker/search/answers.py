"""Turns answers and explanations into the JSON of `/v1/search`, `/v1/explain` and `--json` (docs/http.md)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from reranker.ranking.evidence import ScoreParts
from reranker.ranking.explanation import DocumentWord, Explanation
from reranker.search.searcher import SearchAnswer, SearchHit
from reranker.translation.groups import WordGroup
from reranker.transport.shares import LONG_QUERY, SHORT_QUERY


def search_answer(index: str, answer: SearchAnswer) -> dict[str, Any]:
    """A page of hits."""
    return {
        "hits": [_hit(hit) for hit in answer.hits],
        "index": index,
        "n_candidates": answer.n_candidates,
        "language": answer.language,
        "first_stage": answer.first_stage,
        "method": answer.method,
        "precision": answer.precision,
        "n_converged": answer.n_converged,
        "has_feedback": answer.has_feedback,
        "unknown_words": list(answer.unknown_words),
        "took_ms": answer.took_ms,
    }


def _hit(hit: SearchHit) -> dict[str, Any]:
    document = hit.document
    return {
        "id": document.doc_id,
        "title": document.title,
        "url": document.url,
        "language": document.language,
        "text": document.text,
        "metadata": dict(document.metadata),
        "score": hit.score,
        "distance": hit.distance,
        "rank": hit.reranked_rank,
        "first_stage_score": hit.first_stage_score,
        "first_stage_rank": hit.first_stage_rank,
        "without_known_word": hit.without_known_word,
        "score_parts": _parts(hit.parts),
        "order_distance": hit.order_distance,
        "hubness": hit.correction.hubness,
        "lacking_words": list(hit.correction.lacking_words),
    }


def _parts(parts: ScoreParts | None) -> dict[str, float] | None:
    return None if parts is None else asdict(parts)


def cost_meaning(method: str) -> str:
    """What the costs of an explanation's pairs are."""
    of_means = "scaled so that all pairs sum to 1 - cosine of the whole texts"
    if method == "auto":
        return (
            "1 - cosine of the two words, 0 (the same) to 2 (opposite); for the part of nbow "
            f"({LONG_QUERY.nbow:.0%} to {SHORT_QUERY.nbow:.0%} of all mass) {of_means}"
        )
    if method == "nbow":
        return f"1 - cosine of the two words, {of_means}"
    return "the Euclidean distance of the two words' embeddings, 0 (the same) to 2 (opposite)"


def explanation(index: str, doc_id: str, explained: Explanation) -> dict[str, Any]:
    """A score taken apart; `distance` is finite.

    mass · cost of all pairs of a word and its `rest_distance` sum to the word's distance, these to `distance`, the
    values of `order_parts` to `order_distance`, and those of `score_parts` to `score`.
    """
    correction = explained.correction
    return {
        "id": doc_id,
        "index": index,
        "method": explained.method,
        "precision": explained.precision,
        "cost_meaning": cost_meaning(explained.method),
        "distance": explained.distance,
        "order_distance": explained.order_distance,
        "order_parts": {
            "words": (1.0 - correction.unknown_share) * explained.distance,
            "lacking_words": correction.added_by_lacking_words,
            "hubness": correction.added_by_hubness,
        },
        "unknown_share": correction.unknown_share,
        "unknown_words": list(explained.unknown_words),
        "lacking_words": list(correction.lacking_words),
        "hubness": correction.hubness,
        "score": explained.score,
        "score_parts": _parts(explained.parts),
        "translations": [_translations(group) for group in explained.translations],
        "words": [asdict(word) for word in explained.words],
        "document": _explained_document(explained),
        "document_words": [_document_word(word) for word in explained.document_words],
    }


def _translations(group: WordGroup) -> dict[str, Any]:
    return {
        "word": group.token,
        "translations": [{"term": each.term, "weight": each.weight} for each in group.translations],
    }


def _explained_document(explained: Explanation) -> dict[str, str] | None:
    document = explained.document
    if document is None:
        return None
    return {"title": document.title, "url": document.url, "language": document.language, "text": document.text}


def _document_word(word: DocumentWord) -> dict[str, Any]:
    """A term id says nothing to people, and may be another's with the next embeddings."""
    shown = asdict(word)
    del shown["term_id"]
    return shown
