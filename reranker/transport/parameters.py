"""How a transport is to be solved: the regularisation, the ground cost, when to stop; and which arithmetic suits."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from reranker.base.errors import WrongParameter

# Below 1e-4 the rounding of float32 embeddings (1e-6 in the cost) is a hundredth of epsilon, and the answer is that of
# emd. Above 100 the plan is a b' to a hundredth, since the cost is at most 2.
MIN_EPSILON, MAX_EPSILON = 1e-4, 100.0
MAX_ITERATIONS = 10_000

# float32 kernels go wrong without a sign of it below 0.025, where exp(-2 / epsilon) nears the smallest normal float32,
# 1e-38 (measured: no NaN, only wrong values); exp(-2 / 0.003) = 1e-290 nears that of float64.
FLOAT32_FROM_EPSILON = 0.03
FLOAT64_FROM_EPSILON = 0.003

# A marginal off by x moves the distance by at most x times the largest cost, 2: distances are then good to 2e-4, below
# the gaps between neighbouring hits.
CONVERGED_BELOW = 1e-4
# Iterating stops early here. Rounding in float32 leaves some 2e-7 in the L1 norm; 1e-9 is POT's `stopThr`.
STOP_BELOW = {"float32": 1e-6, "float64": 1e-9, "log": 1e-9}
# Queries of so many distinct words are over-relaxed and stop where they count as converged. With 128 to 600 words that
# is nearer to the limit than 50 plain iterations, in fewer than half as many (docs/methods.md). Shorter queries take
# little time, and keep the values of plain iterations.
OVER_RELAXED_FROM_WORDS = 128

# What moving mass between two embeddings costs: ‖x - y‖, or 1 - <x, y>, which is half its square.
COSTS = ("euclidean", "cosine")


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of `sinkhorn`, `relaxed` and `auto`; of the others, `rwmd` and `emd` have the ground cost.

    Attributes:
        epsilon: entropic regularisation in the unit of the cost (0 to 2), 1e-4 to 100.
        n_iterations: most pairs of scalings, 1 to 10,000; fewer are done where the plan settles earlier.
        tau: price of leaving the document's weights, 0 or more; None: equal to epsilon.
        stop_at: marginal error, 0 to 1, at which a solve stops before `n_iterations`; 0: never; None: where rounding
            leaves nothing to gain (`STOP_BELOW`), and for a long query at 1e-4, over-relaxed (`for_query`).
        over_relaxed: each update goes 1.5 times as far (in logarithms) as the plain one: the same limit in fewer
            iterations, but not the same values before it (Thibault et al. 2021).
        cost: the ground cost, "euclidean" or "cosine" (`COSTS`), both 0 to 2; None: the method's own, which is
            "cosine" for `auto` and "euclidean" for the others, as in the papers.

    Raises:
        WrongParameter: a parameter out of its range.
    """

    epsilon: float = 0.1
    n_iterations: int = 50
    tau: float | None = None
    stop_at: float | None = None
    over_relaxed: bool = False
    cost: str | None = None

    def __post_init__(self) -> None:
        if not _is_within(self.epsilon, MIN_EPSILON, MAX_EPSILON):
            raise WrongParameter(
                f"epsilon is {self.epsilon!r}; give a number from {MIN_EPSILON} to {MAX_EPSILON:g}"
                " (0.1 suits most texts; for none at all use the method 'emd')"
            )
        whole = isinstance(self.n_iterations, int | np.integer)
        if not whole or not 1 <= self.n_iterations <= MAX_ITERATIONS:
            raise WrongParameter(
                f"n_iterations is {self.n_iterations!r}; give a whole number from 1 to {MAX_ITERATIONS} (50 is usual)"
            )
        if self.tau is not None and not _is_within(self.tau, 0, sys.float_info.max):
            raise WrongParameter(
                f"tau is {self.tau!r}; give 0 or a larger finite number, or leave it out for tau = epsilon"
            )
        if self.stop_at is not None and not _is_within(self.stop_at, 0, 1):
            raise WrongParameter(
                f"stop_at is {self.stop_at!r}; give a marginal error from 0 (never) to 1 (0.001 orders as well as "
                "less), or leave it out to stop where nothing more is to be gained"
            )
        if self.cost is not None and self.cost not in COSTS:
            raise WrongParameter(
                f"cost is {self.cost!r}; give {' or '.join(map(repr, COSTS))}, or leave it out for the method's own"
            )

    @property
    def ground_cost(self) -> str:
        """The ground cost of every method but `auto`: one of `COSTS`."""
        return self.cost or "euclidean"

    def for_query(self, n_words: int) -> Parameters:
        """With what is the default for a query of so many distinct words."""
        if n_words < OVER_RELAXED_FROM_WORDS or self.stop_at is not None or self.over_relaxed:
            return self
        return replace(self, stop_at=CONVERGED_BELOW, over_relaxed=True)

    def power(self, method: str) -> float:
        """The exponent of the document's scaling: 1 for `sinkhorn`, tau / (tau + epsilon) for `relaxed`."""
        if method == "sinkhorn":
            return 1.0
        tau = self.epsilon if self.tau is None else self.tau
        return 1.0 / (1.0 + self.epsilon / tau) if tau > 0 else 0.0  # this form cannot overflow

    def stop_below(self, precision: str) -> float:
        """The change of the marginals under which a solve in this precision stops."""
        return STOP_BELOW[precision] if self.stop_at is None else float(self.stop_at)

    def converged_below(self) -> float:
        """The marginal error under which a solve counts as converged: 1e-4, or what was asked for where that is
        more."""
        return max(CONVERGED_BELOW, self.stop_at or 0.0)


def _is_within(value: float, least: float, most: float) -> bool:
    return isinstance(value, Real) and bool(least <= value <= most)  # false for NaN too


def scaling_precision(epsilon: float) -> str:
    """The cheapest arithmetic that is right at this epsilon: "float32", "float64" or "log"."""
    if epsilon >= FLOAT32_FROM_EPSILON:
        return "float32"
    return "float64" if epsilon >= FLOAT64_FROM_EPSILON else "log"
