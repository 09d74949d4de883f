"""Prefetch and prune: the k nearest documents by Word Mover's Distance, with few exact solves (Kusner et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.progress import Progress
from papers.corpora.tasks import Task
from papers.systems.embedded import centroids, euclidean, weighted_documents, weighted_queries
from papers.systems.protocol import Matrix, TimedSystem
from papers.systems.unknown_words import by_rule
from reranker.base.errors import WrongParameter
from reranker.embeddings import Embeddings
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.text.idf import IdfTable
from reranker.transport import distances

K, M = 20, 160
"""Number of nearest documents (k), and of prefetched documents, 8 k: the largest number below all."""


@dataclass(frozen=True, eq=False)
class Pruned:
    """The result of one query.

    Attributes:
        values: (n_documents,) exact distances; NaN if not solved.
        n_prefetched: number of prefetched documents, the nearest by centroid distance.
        n_solved: number of these with an exact distance.
    """

    values: Matrix
    n_prefetched: int
    n_solved: int


def prefetch_and_prune(
    query: WeightedBag,
    documents: Sequence[WeightedBag],
    centroid_distances: Matrix,
    embeddings: Embeddings,
    k: int,
    m: int,
) -> Pruned:
    """Visits the m documents with the least centroid distance (WCD), nearest first. Solves the first k, and then each
    document whose lower bound (RWMD) is not above the k-th least distance so far (section 4).

    If m is the number of documents, the k nearest are certain.

    Args:
        query: has at least one word.
        centroid_distances: (n_documents,); +inf for a document without a word, which is not visited.

    Raises:
        WrongParameter: k is below 1, or m below k.
    """
    check_cutoff(k, m)
    nearest = np.argsort(centroid_distances, kind="stable")
    prefetched = nearest[np.isfinite(centroid_distances[nearest])][:m]
    values = np.full(len(documents), np.nan)
    bounds = _solve(query, documents, prefetched[k:], embeddings, "rwmd")
    first = _solve(query, documents, prefetched[:k], embeddings, "emd")
    values[prefetched[:k]] = first
    nearest_values = sorted(first.tolist())
    for place, bound in zip(prefetched[k:], bounds, strict=True):
        if bound > nearest_values[-1]:
            continue
        values[place] = _solve(query, documents, [int(place)], embeddings, "emd")[0]
        nearest_values = sorted([*nearest_values, float(values[place])])[:k]
    return Pruned(values, len(prefetched), int(np.isfinite(values).sum()))


class PrefetchAndPrune(TimedSystem[tuple[list[WeightedBag], Matrix]]):
    """Finds the k nearest documents of each query by Word Mover's Distance with tf weights. The distance is NaN if no
    exact distance was needed, +inf if one of the two has no known word.

    Attributes:
        share_solved: share of the pairs of query and document in the last task that were solved; NaN before.

    Raises:
        WrongParameter: k is below 1, or m below k.
    """

    name = "prefetch-and-prune"

    def __init__(self, embeddings: Embeddings, k: int = K, m: int = M) -> None:
        check_cutoff(k, m)
        self._embeddings, self._k, self._m = by_rule(embeddings, "skip"), k, m
        self.share_solved = float("nan")
        self.description = (
            f"the {k} nearest by Word Mover's Distance of the {m} nearest by Word Centroid Distance, pruned by Relaxed "
            "Word Mover's Distance, tf weights (Kusner et al. 2015)"
        )

    def prepare(self, task: Task) -> tuple[list[WeightedBag], Matrix]:
        """Returns the documents' bags and mean embeddings."""
        bags, _ = weighted_documents(task, self._embeddings, is_idf=False)
        return bags, centroids(bags, self._embeddings)

    def compare(self, task: Task, documents: tuple[list[WeightedBag], Matrix], progress: Progress) -> Matrix:
        bags, means = documents
        queries = weighted_queries(task, self._embeddings, IdfTable())
        by_centroid = euclidean(centroids(queries, self._embeddings), means)
        values, n_solved = np.full(by_centroid.shape, np.nan), 0
        for row, query in enumerate(queries):
            progress(row, len(queries), f"{task.name} {self.name}")
            if len(query):
                found = prefetch_and_prune(query, bags, by_centroid[row], self._embeddings, self._k, self._m)
                values[row] = found.values
                n_solved += found.n_solved
        values[np.isinf(by_centroid)] = np.inf
        self.share_solved = n_solved / values.size
        return values


def check_cutoff(k: int, m: int) -> None:
    """Raises WrongParameter if k is below 1, or m below k."""
    if not 1 <= k <= m:
        raise WrongParameter(f"k is {k} and m is {m}; give a k of 1 or more, and an m of k or more")


def _solve(
    query: WeightedBag,
    documents: Sequence[WeightedBag],
    places: Sequence[int] | NDArray[np.int64],
    embeddings: Embeddings,
    method: str,
) -> Matrix:
    if not len(places):
        return np.empty(0)
    bags = WeightedBags.join([documents[int(place)] for place in places])
    return distances(query, bags, embeddings.vectors, method).values
