"""Computes plans by slow, obvious NumPy in double precision: for explanations, and what the compiled code is tested
against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.base.extras import extra
from reranker.text.bags import WeightedBag
from reranker.transport.cost import gathered, ground_cost
from reranker.transport.parameters import CONVERGED_BELOW, FLOAT64_FROM_EPSILON, Parameters

# An over-relaxed solve goes further after a change less than this part of the one before. Where mass can hardly move
# changes stay the same but for the last digit, which must not choose: it differs from machine to machine.
SHRUNK = 0.999

# A mean of unit vectors shorter than this is what rounding leaves of one that cancels out: no direction.
VANISHING_NORM = 1e-6

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def precision(method: str, parameters: Parameters) -> str:
    """The arithmetic that `plan_and_cost` uses."""
    scaled = method in ("sinkhorn", "relaxed")
    return "log" if scaled and parameters.epsilon < FLOAT64_FROM_EPSILON else "float64"


def plan_and_cost(
    query: WeightedBag, document: WeightedBag, embeddings: NDArray[np.float32], method: str, parameters: Parameters
) -> tuple[Matrix, Matrix, float]:
    """The plan and the cost, both (n, m), and the marginal error of one pair; distance = sum of plan * cost."""
    a, b = query.weights, document.weights
    if method == "nbow":
        return np.outer(a, b), nbow_cost(query, document, embeddings), 0.0
    cost = ground_cost(query.term_ids, document.term_ids, embeddings, parameters.ground_cost)
    if method == "rwmd":
        return rwmd_plan(a, b, cost), cost, 0.0
    if method == "emd":
        plan, error = emd_plan(a, b, cost)
        return plan, cost, error
    plan, error = scaled_plan(a, b, cost, method, parameters)
    return plan, cost, error


def nbow_cost(query: WeightedBag, document: WeightedBag, embeddings: NDArray[np.float32]) -> Matrix:
    """A cost under which the plan a b' pays 1 - cosine of the weighted means (Balikas et al. 2018; WCD in Kusner
    et al. 2015).

    cost[i, j] = k (1 - <x_i, y_j>), with the k for which the plan's costs sum to that distance. So near pairs cost
    less than far ones, and no cost is below 0. A mean of 0 has no angle: the distance is then 1.
    """
    x, y = gathered(query.term_ids, embeddings), gathered(document.term_ids, embeddings)
    means = query.weights @ x, document.weights @ y
    norms = np.linalg.norm(means[0]) * np.linalg.norm(means[1])
    is_known = min(np.linalg.norm(mean) for mean in means) > VANISHING_NORM
    distance = max(0.0, 1 - float(means[0] @ means[1] / norms)) if is_known else 1.0
    gaps = np.maximum(1 - x @ y.T, 0.0)
    mean_gap = float(query.weights @ gaps @ document.weights)
    return np.asarray(gaps * (distance / mean_gap) if mean_gap > 0 else gaps)


def rwmd_plan(a: Vector, b: Vector, cost: Matrix) -> Matrix:
    """The dearer of the two one-sided plans: all mass of a word goes to its nearest word (Kusner et al. 2015, 4)."""
    from_query, to_document = np.zeros_like(cost), np.zeros_like(cost)
    from_query[np.arange(len(a)), cost.argmin(axis=1)] = a
    to_document[cost.argmin(axis=0), np.arange(len(b))] = b
    return from_query if (from_query * cost).sum() >= (to_document * cost).sum() else to_document


def emd_plan(a: Vector, b: Vector, cost: Matrix) -> tuple[Matrix, float]:
    """Exact optimal transport by network simplex (POT; Bonneel et al. 2011), and its marginal error: 0
    unless POT gave up."""
    with extra("exact", "the method emd"):
        import ot  # takes seconds to import, and no other method needs it

    plan, log = ot.emd(a, b, np.ascontiguousarray(cost), numItermax=EMD_ITERATIONS, log=True)
    if log["warning"] is None:
        return plan, 0.0
    return plan, max(float(np.abs(plan.sum(axis=0) - b).sum()), CONVERGED_BELOW)


# POT's 100,000 can be too few for two documents of 2000 words.
EMD_ITERATIONS = 2_000_000


def scaled_plan(a: Vector, b: Vector, cost: Matrix, method: str, parameters: Parameters) -> tuple[Matrix, float]:
    """The plan of `sinkhorn` or `relaxed` and its marginal error (see `Distances.marginal_error`).

    With K = exp(-cost / epsilon) and plan = diag(w) K diag(z), in turn
        z = b (1 / K'w)^power,  w = a / (K z)
    from w = 1/n for `sinkhorn` (power 1; Cuturi 2013, algorithm 1, begun as POT's `sinkhorn_knopp` is) and from w
    = a for `relaxed` (power tau / (tau + epsilon); Chizat et al. 2018, table 1; here w = a u, z = b v). The rows
    sum to a. With `over_relaxed` most updates go half a step further (`over_relaxes`), never the last.
    """
    power = parameters.power(method)
    start = np.full(len(a), 1 / len(a)) if method == "sinkhorn" else a
    arguments = (a, b, cost / parameters.epsilon, power, start, parameters)
    if parameters.epsilon < FLOAT64_FROM_EPSILON:
        return _scale_log(*arguments)
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            return _scale(*arguments)
    except FloatingPointError:  # a weight so small that a scaling left the range of float64
        return _scale_log(*arguments)


def _scale(
    a: Vector, b: Vector, scaled_cost: Matrix, power: float, start: Vector, parameters: Parameters
) -> tuple[Matrix, float]:
    kernel, stop_below = np.exp(-scaled_cost), parameters.stop_below("float64")
    w, z, changes, exact = start, np.zeros(len(b)), [np.inf], True
    for iteration in range(parameters.n_iterations):
        further = over_relaxes(parameters, changes, stop_below)
        reached = kernel.T @ w
        plain = b * reached**-power
        changes.append(float(np.abs((plain - z) * reached).sum()))
        z = plain * np.sqrt(plain / z) if further else plain
        plain = a / (kernel @ z)
        settled = iteration > 0 and changes[-1] < stop_below
        last = iteration == parameters.n_iterations - 1 or (settled and exact and not further)
        exact = settled or not further
        w = plain if exact else plain * np.sqrt(plain / w)
        if last:
            break
    reached = kernel.T @ w
    return w[:, None] * kernel * z, float(np.abs((b * reached**-power - z) * reached).sum())


def over_relaxes(parameters: Parameters, changes: list[float], stop_below: float) -> bool:
    """Whether an iteration goes further than the plain one, after these changes of the marginals.

    x^1.5 / before^0.5 in the place of x converges faster near the solution, and may not converge far from it
    (Thibault et al. 2021): not at first, and not after a change that was not smaller than the one before (by
    `SHRUNK`). Nor after one that was small enough to stop: the plain iteration that follows finds the true marginal
    error, since plain updates alone keep a margin. Nor at the end.
    """
    middle = 2 < len(changes) < parameters.n_iterations
    return parameters.over_relaxed and middle and stop_below <= changes[-1] < SHRUNK * changes[-2]


def _scale_log(
    a: Vector, b: Vector, scaled_cost: Matrix, power: float, start: Vector, parameters: Parameters
) -> tuple[Matrix, float]:
    """`_scale` with the logarithms of w and z (Peyré and Cuturi 2019, 4.4): no epsilon is too small for it."""
    stop_below = parameters.stop_below("log")
    log_w, log_z, changes, exact = np.log(start), np.full(len(b), -np.inf), [np.inf], True
    for iteration in range(parameters.n_iterations):
        further = over_relaxes(parameters, changes, stop_below)
        reached = log_sum_exp(log_w[:, None] - scaled_cost, axis=0)
        plain = np.log(b) - power * reached
        changes.append(float(np.abs(np.exp(plain + reached) - np.exp(log_z + reached)).sum()))
        log_z = plain + (plain - log_z) / 2 if further else plain
        plain = np.log(a) - log_sum_exp(log_z[None, :] - scaled_cost, axis=1)
        settled = iteration > 0 and changes[-1] < stop_below
        last = iteration == parameters.n_iterations - 1 or (settled and exact and not further)
        exact = settled or not further
        log_w = plain if exact else plain + (plain - log_w) / 2
        if last:
            break
    reached = log_sum_exp(log_w[:, None] - scaled_cost, axis=0)
    error = np.abs(np.exp(np.log(b) + (1 - power) * reached) - np.exp(log_z + reached)).sum()
    return np.exp(log_w[:, None] + log_z - scaled_cost), float(error)


def log_sum_exp(values: Matrix, axis: int) -> Vector:
    """log(sum(exp(values))) along an axis, without overflow; values are finite.

    >>> log_sum_exp(np.array([[1000.0, 1000.0]]), axis=1).round(3)
    array([1000.693])
    """
    largest = values.max(axis=axis)
    return np.asarray(largest + np.log(np.exp(values - np.expand_dims(largest, axis)).sum(axis=axis)))
