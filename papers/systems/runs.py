"""Turns a task into runs: all documents, or the candidates of a first stage, in a method's order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ir_measures import ScoredDoc
from numpy.typing import NDArray

from ingest.progress import Progress, no_progress
from papers.base.stopwatch import Stopwatch
from papers.corpora.tasks import Task, Texts
from papers.systems.corrected import order_distances
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import Hubness, HubnessSample
from reranker.ranking.corrections import CORRECTED_METHOD
from reranker.text.bags import BagOfWords, WeightedBag, WeightedBags
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.transport import Parameters, distances

# Below the score of every finite distance (at most 2), so that documents without a known word come last.
_LOWEST_SCORE = -10.0


@dataclass(frozen=True, eq=False)
class EncodedTask:
    """A task with weighted bags of words of one embedding store.

    Attributes:
        queries: a weighted bag for each query, in the order of `query_ids`; empty without a known word.
        documents: the documents' bags, in the order of `doc_ids`.
        cosines: (n_queries, n_documents) float32, of the nBOW embeddings; -inf if one of the two has none.
        order: (n_queries, n_documents) int32, positions of documents by falling cosine: the kNN first stage.
        unknown_shares: share (0 to 1) of the tokens without an embedding, in the queries and in the documents.
        hubness: (n_documents,) for queries in the task's language; None without a sample.
        document_s, query_s: CPU time (s) of encoding the documents and the queries, with idf and cosines.
    """

    task: Task
    embeddings: Embeddings
    query_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    queries: tuple[WeightedBag, ...]
    documents: WeightedBags
    cosines: NDArray[np.float32]
    order: NDArray[np.int32]
    unknown_shares: tuple[float, float]
    hubness: NDArray[np.float64] | None = None
    document_s: float = 0.0
    query_s: float = 0.0


def encode(task: Task, embeddings: Embeddings, sample: HubnessSample = HubnessSample()) -> EncodedTask:
    """Weights every text by tf·idf and computes its nBOW embedding.

    The idf of each language is counted over the task's documents; for the query's language over the same documents in
    that language.

    Args:
        sample: sample for the hubness of the documents, from pages that are neither queries nor documents.
    """
    ours, theirs = task.direction.query_language, task.direction.document_language
    preparing, asking = Stopwatch(), Stopwatch()
    with preparing.running():
        document_bags = _bags(task.documents, theirs, embeddings)
        idf = IdfTable(
            {
                ours: DocumentFrequencies.count(_bags(task.query_side, ours, embeddings)),
                theirs: DocumentFrequencies.count(document_bags),
            }
        )
        documents = [idf.weigh(bag, theirs) for bag in document_bags]
        document_nbows = nbows(documents, embeddings)
        sampled = Hubness(sample, idf, embeddings).queries(ours)
        hubness = None if sampled is None else sampled.hubness(document_nbows)
    with asking.running():
        query_bags = _bags(task.queries, ours, embeddings)
        queries = tuple(idf.weigh(bag, ours) for bag in query_bags)
        cosines = cosines_of(nbows(queries, embeddings), document_nbows)
    return EncodedTask(
        task,
        embeddings,
        tuple(task.queries),
        tuple(task.documents),
        queries,
        WeightedBags.join(documents),
        cosines,
        np.argsort(-cosines, axis=1, kind="stable").astype(np.int32),
        (_unknown_share(query_bags), _unknown_share(document_bags)),
        hubness,
        preparing.seconds,
        asking.seconds,
    )


def method_distances(
    encoded: EncodedTask,
    method: str,
    parameters: Parameters = Parameters(),
    depth: int | None = None,
    n_threads: int = 1,
    progress: Progress = no_progress,
) -> NDArray[np.float64]:
    """Computes the distances of every query to its first `depth` candidates; None for all documents. For `auto`,
    computes the values by which a search orders.

    Returns:
        (n_queries, n_documents) float64; NaN for other documents, +inf if one of the two has no known word.
    """
    wanted = encoded.order[:, :depth]
    found = np.full(encoded.order.shape, np.nan)
    everything = wanted.shape == encoded.order.shape
    for row, (query, columns) in enumerate(zip(encoded.queries, wanted, strict=True)):
        progress(row, len(encoded.queries), f"{encoded.task.name} {method}")
        if not len(query):
            found[row, columns] = np.inf
        elif method == "nbow":
            found[row, columns] = 1.0 - encoded.cosines[row, columns]
        elif everything:
            # All documents need no copy for each query.
            found[row] = _solve(query, encoded.documents, encoded, method, parameters, n_threads)
        else:
            bags = WeightedBags.join([encoded.documents[int(column)] for column in columns])
            found[row, columns] = _solve(query, bags, encoded, method, parameters, n_threads)
    if method == CORRECTED_METHOD:
        found = order_distances(encoded.task, encoded.embeddings, encoded.hubness, found)
    progress(len(encoded.queries), len(encoded.queries), f"{encoded.task.name} {method}")
    return found


def first_stage_run(encoded: EncodedTask, depth: int | None = None) -> list[ScoredDoc]:
    """The run of the exact kNN first stage: the `depth` documents with the highest cosine; None for all."""
    return make_run(encoded, 1.0 - encoded.cosines.astype(np.float64), depth)


def make_run(encoded: EncodedTask, found: NDArray[np.float64], depth: int | None = None) -> list[ScoredDoc]:
    """Re-ranks each query's first `depth` candidates by these distances (n_queries, n_documents).

    A query without a known word finds nothing, as in the service. The score is the negative distance. Ties, and
    documents without a known word, keep the first stage's order. Scores fall strictly, so that no measure breaks ties
    in its own way.
    """
    run: list[ScoredDoc] = []
    for query_id, query, columns, row in zip(
        encoded.query_ids, encoded.queries, encoded.order[:, :depth], found, strict=True
    ):
        if not len(query):
            continue
        placed = columns[np.argsort(row[columns], kind="stable")]
        scores = strictly_falling([-value for value in row[placed].tolist()])
        run += [
            ScoredDoc(query_id, encoded.doc_ids[column], score) for column, score in zip(placed, scores, strict=True)
        ]
    return run


def plain_run(task: Task, found: NDArray[np.float64]) -> list[ScoredDoc]:
    """Ranks each query's documents by these distances (n_queries, n_documents), ties by position. Documents at +inf are
    not found.

    Ties do not keep the order of our first stage, because other systems must not gain from it.
    """
    doc_ids = tuple(task.documents)
    run: list[ScoredDoc] = []
    for query_id, row in zip(task.queries, found, strict=True):
        placed = [int(column) for column in np.argsort(row, kind="stable") if np.isfinite(row[column])]
        scores = strictly_falling([-float(row[column]) for column in placed])
        run += [ScoredDoc(query_id, doc_ids[column], score) for column, score in zip(placed, scores, strict=True)]
    return run


def strictly_falling(scores: Sequence[float]) -> list[float]:
    """Lowers equal scores by the smallest float32 step, so that trec_eval sees no ties.

    >>> first, second = strictly_falling([0.0, 0.0])
    >>> first > second > -1e-30
    True
    """
    falling: list[float] = []
    last = np.float32(np.inf)
    for score in scores:
        wanted = np.float32(score if math.isfinite(score) else _LOWEST_SCORE)
        last = min(wanted, np.nextafter(last, np.float32(-np.inf)))
        falling.append(float(last))
    return falling


def _solve(
    query: WeightedBag,
    bags: WeightedBags,
    encoded: EncodedTask,
    method: str,
    parameters: Parameters,
    n_threads: int,
) -> NDArray[np.float64]:
    return distances(query, bags, encoded.embeddings.vectors, method, parameters, n_threads).values


def unknown_shares(task: Task, embeddings: Embeddings) -> tuple[float, float]:
    """The share (0 to 1) of the tokens without an embedding, in the queries and in the documents."""
    return (
        _unknown_share(_bags(task.queries, task.direction.query_language, embeddings)),
        _unknown_share(_bags(task.documents, task.direction.document_language, embeddings)),
    )


def _bags(texts: Texts, language: str, embeddings: Embeddings) -> list[BagOfWords]:
    return [embeddings.bag_of_tokens(tokens, language) for tokens in texts.values()]


def _unknown_share(bags: Sequence[BagOfWords]) -> float:
    n_unknown = sum(bag.n_unknown for bag in bags)
    n_tokens = n_unknown + sum(int(bag.counts.sum()) for bag in bags)
    return n_unknown / n_tokens if n_tokens else 0.0


def nbows(bags: Sequence[WeightedBag], embeddings: Embeddings) -> NDArray[np.float32]:
    """(n_bags, dim) float32, the nBOW embeddings; zeros for a bag without one."""
    rows = np.zeros((len(bags), embeddings.dim), dtype=np.float32)
    for row, bag in zip(rows, bags, strict=True):
        if (vector := embeddings.nbow(bag)) is not None:
            row[:] = vector
    return rows


def cosines_of(queries: NDArray[np.float32], documents: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n_queries, n_documents) float32, the cosines of nBOW embeddings; -inf if one of the two has none."""
    cosines: NDArray[np.float32] = queries @ documents.T
    cosines[~queries.any(axis=1)] = -np.inf
    cosines[:, ~documents.any(axis=1)] = -np.inf
    return cosines
