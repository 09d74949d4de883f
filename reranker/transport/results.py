"""What comes out of a transport: the distances of many candidates, or the plan of one pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True, eq=False)  # a frozen one takes three times as long to make
class Distances:
    """The distances of one query to many documents.

    Attributes:
        values: (n_candidates,) float64, 0 or more; never NaN; +inf for a candidate with no known word.
        converged: (n_candidates,) bool, `marginal_error` below 1e-4, or below `Parameters.stop_at` where that is
            larger; True for the closed forms and for +inf.
        marginal_error: (n_candidates,) float64. `sinkhorn`: L1 distance between the weights of the document and the
            column sums of the plan. `relaxed`: L1 distance between the column sums of the plan and what one more
            update of the document's scaling would make them (for tau → inf the same thing). 0 for the other methods.
        precision: the arithmetic used: "float32", "float64" or "log". A candidate for which float32 or float64
            runs out of range (it should not, where costs are at most 2) is done again in the log domain.
        n_iterations: (n_candidates,) int32, of `sinkhorn` and `relaxed` (of `auto` those of its `sinkhorn`); 0 for the
            other methods, and in the log domain, where they are not counted.
    """

    values: NDArray[np.float64]
    converged: NDArray[np.bool_]
    marginal_error: NDArray[np.float64]
    precision: str
    n_iterations: NDArray[np.int32]

    @classmethod
    def join(cls, parts: Sequence[Distances]) -> Distances:
        """The distances of one query to the documents of each part, in order; all of the same precision."""
        values, converged, errors, n_iterations = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("values", "converged", "marginal_error", "n_iterations")
        )
        return cls(values, converged, errors, parts[0].precision, n_iterations)


@dataclass(frozen=True, slots=True, eq=False)
class Transport:
    """The transport of one pair, to explain its distance.

    Attributes:
        plan: (n, m) float64, the mass that goes from each query word to each document word.
        cost: (n, m) float64, what a unit of mass pays for that way. Of `auto`, whose plan is a mixture, it is what the
            pair pays divided by its mass; `nbow`, alone or in `auto`, makes it less than 0 for near words.
        distance: sum of plan * cost; +inf for a document with no known word.
        precision: the arithmetic used: float64 or log.
    """

    plan: NDArray[np.float64]
    cost: NDArray[np.float64]
    distance: float
    precision: str
