"""Turns rankings of labelled documents into k-nearest-neighbour classes, k chosen on the labelled documents alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGEST_K = 19
"""As in Kusner et al. 2015, who choose k from 1 to 19."""


@dataclass(frozen=True, eq=False)
class Classified:
    """What came out of one system.

    Attributes:
        k: neighbours that vote.
        wrong: (n_queries,) bool.
        training_error: share (0 to 1) of labelled documents that their own k neighbours put in another class.
    """

    k: int
    wrong: NDArray[np.bool_]
    training_error: float

    @property
    def error(self) -> float:
        """Share (0 to 1) of queries in a wrong class."""
        return float(self.wrong.mean())


def classify(
    neighbours: NDArray[np.int32],
    training_neighbours: NDArray[np.int32],
    query_classes: Sequence[str],
    document_classes: Sequence[str],
) -> Classified:
    """Each query takes the class of most of its k nearest documents; k has the least error when each labelled document
    is classified by the others (leave-one-out cross-validation), the smallest of several.

    Args:
        neighbours: (n_queries, depth), places of documents, nearest first; -1 where no more are found.
        training_neighbours: (n_documents, depth), the same for the documents as queries, each among its own.
    """
    others = [[int(place) for place in row if place not in (own, -1)] for own, row in enumerate(training_neighbours)]
    errors = [float(np.mean(_wrong(others, document_classes, document_classes, k))) for k in range(1, LARGEST_K + 1)]
    k = int(np.argmin(errors)) + 1
    found = [[int(place) for place in row if place != -1] for row in neighbours]
    return Classified(k, np.array(_wrong(found, query_classes, document_classes, k)), errors[k - 1])


def vote(classes: Sequence[str]) -> str | None:
    """The class with the most votes; of several the one whose first neighbour is the nearest; None without a vote.

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
