"""Measures other systems on the first stage's candidates: BM25, and sentence encoders alone or mixed with BM25."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ingest.progress import Progress, no_progress
from papers.base.stopwatch import Stopwatch
from papers.judged.encoders import ENCODERS, Encoder
from papers.systems.vectors import VectorCache
from reranker.base.errors import EmptyQuery
from reranker.search.request import MAX_DEPTH
from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import Store
from sinkrank.evaluation.comparison import Run, Way, measures_of
from sinkrank.evaluation.judgments import JudgedQuery

BM25 = "bm25"
COMPARATORS = (BM25, *ENCODERS)
"""The names for `python -m papers.judged --systems`."""

Scores = Mapping[str, Mapping[str, float]]
"""By query id, then by document id."""

CandidateScores = Mapping[str, NDArray[np.float64]]
"""Scores of a query's candidates, in their order, by query id."""


@dataclass(frozen=True)
class Cost:
    """CPU time in ms, all threads; None if not measured.

    Attributes:
        query_ms: of a query; for a comparator without the first stage's search.
        document_ms: of a document, once.
    """

    query_ms: float | None
    document_ms: float | None


@dataclass(frozen=True)
class Candidates:
    """The candidates that a comparator ranks.

    Attributes:
        ranking: document ids of the first stage, in its order, by query id.
        texts: title and text, by document id.
        bm25: scores of the candidates; a missing one is 0.
    """

    queries: Sequence[JudgedQuery]
    ranking: Mapping[str, Sequence[str]]
    texts: Mapping[str, str]
    bm25: Scores


def bm25_scores(
    store: Store, index: str, queries: Sequence[JudgedQuery], depth: int = MAX_DEPTH, progress: Progress = no_progress
) -> tuple[Scores, float]:
    """Returns the store's BM25 of each query's best `depth` documents, and its CPU time (ms) per query in this
    process."""
    watch, reader = Stopwatch(), store.open(index)
    scores: dict[str, dict[str, float]] = {}
    for done, query in enumerate(queries, start=1):
        with watch.running():
            try:
                found = reader.bm25(query.text, depth, Filters.parse(query.languages or None))
            except EmptyQuery:
                found = []
        scores[query.query_id] = {one.doc_id: one.first_stage_score for one in found}
        progress(done, len(queries), "searching by BM25")
    return scores, 1000 * watch.seconds / len(queries)


def rank_by_bm25(candidates: Candidates) -> Run:
    """Orders the candidates by BM25."""
    return _run(BM25, candidates, lambda query_id, docs: _bm25_of(candidates, query_id, docs))


def rank_by_encoder(
    name: str, encoder: Encoder, candidates: Candidates, folder: Path, progress: Progress = no_progress
) -> tuple[list[Run], Cost]:
    """Orders the candidates by the cosine of an encoder's vectors, alone and mixed with BM25 in equal parts. Returns
    the cost too.

    Args:
        folder: keeps vectors; the cost is that of the first encoding.
    """
    cosines, cost = encoder_scores(name, encoder, candidates, folder, progress)
    alone = rank_by_scores(name, candidates, cosines)
    return [alone, mixed_with_bm25(f"{name}+{BM25}", candidates, cosines, 0.5)], cost


def encoder_scores(
    name: str, encoder: Encoder, candidates: Candidates, folder: Path, progress: Progress = no_progress
) -> tuple[CandidateScores, Cost]:
    """Returns the cosines between the encoder's vectors of a query and of its candidates, and their cost.

    Args:
        folder: keeps vectors; the cost is that of the first encoding.
    """
    doc_ids = list(dict.fromkeys(doc_id for docs in candidates.ranking.values() for doc_id in docs))
    n_texts = len(doc_ids) + len(candidates.queries)

    def report(done: int) -> None:
        progress(done, n_texts, f"encoding by {name}")

    with VectorCache(folder / encoder.file, encoder.version) as cache:
        passages = [candidates.texts[doc_id] for doc_id in doc_ids]
        vectors, document_s = cache.encoded("passage", passages, encoder.document, report)
        asked = [query.text for query in candidates.queries]
        queries, query_s = cache.encoded("query", asked, encoder.query, lambda done: report(len(doc_ids) + done))
    report(n_texts)
    documents = dict(zip(doc_ids, vectors, strict=True))
    cosines: dict[str, NDArray[np.float64]] = {}
    watch = Stopwatch()
    for query, vector in zip(candidates.queries, queries, strict=True):
        found = [documents[doc_id] for doc_id in candidates.ranking[query.query_id]]
        with watch.running():
            cosines[query.query_id] = np.array([each @ vector for each in found], dtype=np.float64)
    n_queries = len(candidates.queries)
    return cosines, Cost(1000 * (query_s + watch.seconds) / n_queries, 1000 * document_s / max(1, len(doc_ids)))


def rank_by_scores(name: str, candidates: Candidates, scores: CandidateScores) -> Run:
    """Orders the candidates by falling score, ties in the first stage's order."""
    return _run(name, candidates, lambda query_id, _: scores[query_id])


def mixed_with_bm25(name: str, candidates: Candidates, scores: CandidateScores, share: float) -> Run:
    """Orders the candidates by scores with this share, and BM25 with the rest, both scaled to 0 to 1 (`scaled`)."""

    def mixed(query_id: str, docs: Sequence[str]) -> NDArray[np.float64]:
        return share * scaled(scores[query_id]) + (1 - share) * scaled(_bm25_of(candidates, query_id, docs))

    return _run(name, candidates, mixed)


def scaled(scores: ArrayLike) -> NDArray[np.float64]:
    """Scales scores to 0 to 1 by their minimum and maximum; all 0 if these are equal.

    >>> scaled([2, 4, 3]).tolist()
    [0.0, 1.0, 0.5]
    """
    values = np.asarray(scores, dtype=np.float64)
    if not values.size:
        return values
    least, spread = values.min(), np.ptp(values)
    return (values - least) / spread if spread else np.zeros_like(values)


def _bm25_of(candidates: Candidates, query_id: str, docs: Sequence[str]) -> NDArray[np.float64]:
    scores = candidates.bm25.get(query_id, {})
    return np.array([scores.get(doc_id, 0.0) for doc_id in docs], dtype=np.float64)


def _run(name: str, candidates: Candidates, scores: Callable[[str, Sequence[str]], NDArray[np.float64]]) -> Run:
    """Orders the candidates by falling score, ties in the first stage's order."""
    ranking = {}
    for query_id, docs in candidates.ranking.items():
        order = np.argsort(-scores(query_id, docs), kind="stable")
        ranking[query_id] = tuple(docs[place] for place in order)
    return Run(Way(name, name), ranking, measures_of(candidates.queries, ranking))
