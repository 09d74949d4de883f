"""Turns answers and explanations into the JSON of `/v1/search`, `/v1/explain` and `--json` (docs/http.md)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from reranker.explanation import Explanation
from reranker.scores import score
from reranker.search import SearchAnswer, SearchHit


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
        "order_distance": hit.order_distance,
        "hubness": hit.correction.hubness,
        "lacking_words": list(hit.correction.lacking_words),
    }


def explanation(index: str, doc_id: str, explained: Explanation) -> dict[str, Any]:
    """A distance taken apart; `distance` is finite. The values of `order_parts` sum to `order_distance`."""
    correction = explained.correction
    return {
        "id": doc_id,
        "index": index,
        "method": explained.method,
        "distance": explained.distance,
        "order_distance": explained.order_distance,
        "order_parts": {
            "words": (1.0 - correction.unknown_share) * explained.distance,
            "lacking_words": correction.added_by_lacking_words,
            "hubness": correction.added_by_hubness,
        },
        "unknown_share": correction.unknown_share,
        "lacking_words": list(correction.lacking_words),
        "hubness": correction.hubness,
        "score": score(explained.order_distance),
        "words": [asdict(word) for word in explained.words],
    }
