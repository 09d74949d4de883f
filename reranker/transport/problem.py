"""What goes into a transport and what comes out of it: parameters, checked bags, results; no arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadEmbeddings, BadInput, EmptyQuery, WrongParameter
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport.shares import AutoShares

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

# An over-relaxed solve goes further after a change less than this part of the one before. Where mass can hardly move
# changes stay the same but for the last digit, which must not choose: it differs from machine to machine.
SHRUNK = 0.999

# A mean of unit vectors shorter than this is what rounding leaves of one that cancels out: no direction.
VANISHING_NORM = 1e-6

# What moving mass between two embeddings costs: ‖x - y‖, or 1 - <x, y>, which is half its square.
COSTS = ("euclidean", "cosine")

WEIGHT_TOLERANCE = 1e-6
# Rows kept in half precision have norms off by 1e-3; rows that nobody normalised are off by far more.
NORM_TOLERANCE = 1e-2


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of `sinkhorn`, `relaxed` and `auto`; of the others, `rwmd` and `emd` have the ground cost.

    Attributes:
        epsilon: entropic regularisation in the unit of the cost (0 to 2), 1e-4 to 100.
        n_iterations: most pairs of scalings, 1 to 10,000; fewer are done where the plan settles earlier.
        tau: price of leaving the document's weights, 0 or more; None: equal to epsilon.
        stop_at: marginal error, 0 to 1, at which a solve stops before `n_iterations`; 0: never; None: where rounding
            leaves nothing to gain (`STOP_BELOW`).
        over_relaxed: each update goes 1.5 times as far (in logarithms) as the plain one: the same limit in fewer
            iterations, but not the same values before it (Thibault et al. 2021).
        cost: the ground cost, "euclidean" or "cosine" (`COSTS`), both 0 to 2; None: the method's own, which is
            "cosine" for `auto` and "euclidean" for the others, as in the papers.
        shares: what each part has of `auto`; None: what suits the number of words of the query (`auto_shares`).

    Raises:
        WrongParameter: a parameter out of its range.
    """

    epsilon: float = 0.1
    n_iterations: int = 50
    tau: float | None = None
    stop_at: float | None = None
    over_relaxed: bool = False
    cost: str | None = None
    shares: AutoShares | None = None

    def __post_init__(self) -> None:
        if not MIN_EPSILON <= self.epsilon <= MAX_EPSILON:  # false for NaN too
            raise WrongParameter(
                f"epsilon is {self.epsilon}; give a number from {MIN_EPSILON} to {MAX_EPSILON:g}"
                " (0.1 suits most texts; for none at all use the method 'emd')"
            )
        whole = isinstance(self.n_iterations, int | np.integer)
        if not whole or not 1 <= self.n_iterations <= MAX_ITERATIONS:
            raise WrongParameter(
                f"n_iterations is {self.n_iterations}; give a whole number from 1 to {MAX_ITERATIONS} (50 is usual)"
            )
        if self.tau is not None and not (math.isfinite(self.tau) and self.tau >= 0):
            raise WrongParameter(
                f"tau is {self.tau}; give 0 or a larger finite number, or leave it out for tau = epsilon"
            )
        if self.stop_at is not None and not 0 <= self.stop_at <= 1:
            raise WrongParameter(
                f"stop_at is {self.stop_at}; give a marginal error from 0 (never) to 1 (0.001 orders as well as less), "
                "or leave it out to stop where nothing more is to be gained"
            )
        if self.cost is not None and self.cost not in COSTS:
            raise WrongParameter(
                f"cost is {self.cost!r}; give {' or '.join(map(repr, COSTS))}, or leave it out for the method's own"
            )
        if self.shares is not None and not (min(self.shares) >= 0 and math.isclose(sum(self.shares), 1.0)):
            raise WrongParameter(
                f"shares are {', '.join(map(str, self.shares))}; give three numbers of 0 or more that sum to 1, or"
                " leave them out for those that suit the query"
            )

    @property
    def ground_cost(self) -> str:
        """The ground cost of every method but `auto`: one of `COSTS`."""
        return self.cost or "euclidean"

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


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """The distances of one query to many documents.

    Attributes:
        values: (n_candidates,) float64, 0 or more; never NaN; +inf for a candidate with no known word.
        method: the method that was used.
        converged: (n_candidates,) bool, `marginal_error` below 1e-4, or below `Parameters.stop_at` where that is
            larger; True for the closed forms and for +inf.
        marginal_error: (n_candidates,) float64. `sinkhorn`: L1 distance between the weights of the document and the
            column sums of the plan. `relaxed`: L1 distance between the column sums of the plan and what one more
            update of the document's scaling would make them (for tau → inf the same thing). 0 for the other methods.
        precision: the arithmetic used: "float32", "float64" or "log". A candidate for which float32 or float64
            runs out of range (it should not, where costs are at most 2) is done again in the log domain.
        n_iterations: (n_candidates,) int32, of `sinkhorn` and `relaxed` (of `auto` those of its `sinkhorn`); 0 for the
            other methods, and where they are not counted (`reference`).

    Raises:
        ValueError: arrays of different lengths.
    """

    values: NDArray[np.float64]
    method: str
    converged: NDArray[np.bool_]
    marginal_error: NDArray[np.float64]
    precision: str
    n_iterations: NDArray[np.int32]

    def __post_init__(self) -> None:
        shapes = {name: getattr(self, name).shape for name in ("converged", "marginal_error", "n_iterations")}
        wrong = {name: shape for name, shape in shapes.items() if shape != self.values.shape}
        if wrong:
            raise ValueError(f"distances of shape {self.values.shape} came with {wrong}; give one of each a candidate")


def at_places(found: Distances, places: NDArray[np.int64]) -> Distances:
    """The distances at some places, in their order."""
    return replace(
        found,
        values=found.values[places],
        converged=found.converged[places],
        marginal_error=found.marginal_error[places],
        n_iterations=found.n_iterations[places],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Transport:
    """The transport of one pair, to explain its distance.

    Attributes:
        plan: (n, m) float64, the mass that goes from each query word to each document word.
        cost: (n, m) float64, what a unit of mass pays for that way. Of `auto`, whose plan is a mixture, it is what the
            pair pays divided by its mass; `nbow`, alone or in `auto`, makes it less than 0 for near words.
        distance: sum of plan * cost; +inf for a document with no known word.
        method: the method that was used.
        precision: the arithmetic used: float64 or log.
    """

    plan: NDArray[np.float64]
    cost: NDArray[np.float64]
    distance: float
    method: str
    precision: str


def scaling_precision(epsilon: float) -> str:
    """The cheapest arithmetic that is right at this epsilon: "float32", "float64" or "log"."""
    if epsilon >= FLOAT32_FROM_EPSILON:
        return "float32"
    return "float64" if epsilon >= FLOAT64_FROM_EPSILON else "log"


def check_embeddings(embeddings: NDArray[np.float32]) -> None:
    """Raises BadInput unless the embeddings are (n_terms, dim) floats; rows are looked at when they are used."""
    if embeddings.ndim != 2 or not np.issubdtype(embeddings.dtype, np.floating):
        raise BadInput(
            f"embeddings are of shape {embeddings.shape} and type {embeddings.dtype};"
            " give (n_terms, dim) float32, one row a term"
        )


def check_rows(term_ids: NDArray[np.int32], rows: NDArray[np.floating]) -> None:
    """Raises BadEmbeddings if an embedding is not finite; `rows` is (k, dim), the embeddings of the (k,)
    `term_ids`, or any (k, ...) product of them in which NaN would show."""
    finite = np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)
    if not finite.all():
        raise BadEmbeddings(
            f"the embedding of term {int(term_ids[~finite][0])} is not finite;"
            " import the embeddings again from a sound file"
        )


def check_norms(term_ids: NDArray[np.int32], rows: NDArray[np.float64]) -> None:
    """Raises BadEmbeddings if an embedding is not of norm 1; `rows` is (k, dim), the embeddings of the (k,)
    `term_ids`."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    wrong = np.abs(norms - 1) > NORM_TOLERANCE
    if wrong.any():
        raise BadEmbeddings(
            f"the embedding of term {int(term_ids[wrong][0])} has norm {norms[wrong][0]:.4g}, not 1;"
            " divide each row by its norm"
        )


def checked_query(query: WeightedBag, embeddings: NDArray[np.float32]) -> WeightedBag:
    """The query with words of no weight left out and weights that sum to 1 exactly.

    Its embeddings are looked at for all: few rows tell a store that was not normalised.

    Raises:
        EmptyQuery: no word in it.
        BadEmbeddings: an embedding of a query word is not finite or not of norm 1.
        BadInput: weights or term ids that break the contract of `WeightedBag`.
    """
    if not len(query.term_ids):
        raise EmptyQuery("the query has no known word; give a text with at least one word that has an embedding")
    bags = WeightedBags(query.term_ids, query.weights, np.array([0, len(query.term_ids)], dtype=np.int64))
    bags = _checked(bags, len(embeddings), "query weights")
    rows = np.asarray(embeddings[bags.term_ids], dtype=np.float64)
    check_rows(bags.term_ids, rows)
    check_norms(bags.term_ids, rows)
    return WeightedBag(bags.term_ids, bags.weights)


def checked_candidates(candidates: WeightedBags, n_terms: int) -> WeightedBags:
    """The candidates with words of no weight left out and weights that sum to 1 exactly; bags keep their places.

    Raises:
        BadInput: weights, term ids or offsets that break the contract of `WeightedBags`.
    """
    offsets = np.asarray(candidates.offsets)
    ends = (offsets[0], offsets[-1]) if offsets.ndim == 1 and len(offsets) else None
    if ends != (0, len(candidates.term_ids)) or (np.diff(offsets) < 0).any():
        raise BadInput(
            f"candidate offsets do not ascend from 0 to the {len(candidates.term_ids)} words;"
            " build the bags with WeightedBags.join"
        )
    return _checked(candidates, n_terms, "document weights")


def _checked(bags: WeightedBags, n_terms: int, name: str) -> WeightedBags:
    """Checked, contiguous, writable copies: compiled code then meets one type of array only."""
    weights = np.array(bags.weights, dtype=np.float64)
    term_ids = np.array(bags.term_ids)
    offsets = np.array(bags.offsets, dtype=np.int64)
    if weights.shape != term_ids.shape or weights.ndim != 1:
        raise BadInput(
            f"{name} are of shape {weights.shape}, term ids of {term_ids.shape}; give one weight for each term id"
        )
    _check_term_ids(term_ids, n_terms)
    if len(weights) and not (weights.min() >= 0 and weights.max() < np.inf):  # false for NaN too
        wrong = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise BadInput(f"{name} hold {wrong}; give finite weights of 0 or more")
    lengths = np.diff(offsets)
    filled = lengths > 0
    sums = np.ones(len(lengths))
    sums[filled] = np.add.reduceat(weights, offsets[:-1][filled])
    off = np.abs(sums - 1) > WEIGHT_TOLERANCE
    if off.any():
        place = f" of candidate {int(np.flatnonzero(off)[0])}" if name == "document weights" else ""
        raise BadInput(f"{name}{place} sum to {sums[off][0]:.9g}, not 1; divide them by their sum")
    weights /= np.repeat(sums, lengths)
    if len(weights) and not weights.min() > 0:
        kept = weights > 0
        offsets = np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int64)
        weights, term_ids = weights[kept], term_ids[kept]
    return WeightedBags(term_ids.astype(np.int32, copy=False), weights, offsets)


def _check_term_ids(term_ids: NDArray[np.int32], n_terms: int) -> None:
    if not len(term_ids):
        return
    if not np.issubdtype(term_ids.dtype, np.integer):
        raise BadInput(f"term ids are of type {term_ids.dtype}; give int32")
    if term_ids.min() < 0 or term_ids.max() >= n_terms:
        wrong = (term_ids < 0) | (term_ids >= n_terms)
        raise BadInput(
            f"term id {int(term_ids[wrong][0])} is outside the {n_terms} embeddings;"
            " index the documents again with this store"
        )
