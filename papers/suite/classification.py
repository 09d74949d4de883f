"""Classifies by the k nearest of labelled documents; k is chosen on the labelled documents only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGEST_K = 19
"""Kusner et al. 2015 choose k from 1 to 19."""


@dataclass(frozen=True, eq=False)
class Classified:
    """The classes of one system.

    Attributes:
        k: neighbours that vote.
        wrong: (n_queries,) bool.
    """

    k: int
    wrong: NDArray[np.bool_]


def classify(
    neighbours: NDArray[np.int32],
    training_neighbours: NDArray[np.int32],
    query_classes: Sequence[str],
    document_classes: Sequence[str],
) -> Classified:
    """Gives each query the class of most of its k nearest documents. k has the least error in leave-one-out
    cross-validation on the labelled documents; of several, the smallest.

    Args:
        neighbours: (n_queries, depth), positions of documents, nearest first; -1 if there are no more.
        training_neighbours: (n_documents, depth), the same for the labelled documents as queries.
    """
    others = [[int(place) for place in row if place not in (own, -1)] for own, row in enumerate(training_neighbours)]
    errors = [float(np.mean(_wrong(others, document_classes, document_classes, k))) for k in range(1, LARGEST_K + 1)]
    k = int(np.argmin(errors)) + 1
    found = [[int(place) for place in row if place != -1] for row in neighbours]
    return Classified(k, np.array(_wrong(found, query_classes, document_classes, k)))


def vote(classes: Sequence[str]) -> str | None:
    """Returns the class with the most votes; of several, that of the nearest neighbour. None without votes.

    >>> vote(["net", "mail", "mail", "net"])
    'net'
    """
    votes = Counter(classes)
    return max(votes, key=lambda each: (votes[each], -classes.index(each)), default=None)


def _wrong(
    neighbours: Sequence[Sequence[int]], query_classes: Sequence[str], document_classes: Sequence[str], k: int
) -> list[bool]:
    return [
        vote([document_classes[place] for place in row[:k]]) != right
        for row, right in zip(neighbours, query_classes, strict=True)
    ]
