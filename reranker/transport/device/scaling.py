"""Turns tiles of kernels or costs, a batch of pairs at a time, into scalings: `reference.scaled_plan` on a device.

Shapes: k pairs, m words of the longest document, n words of the longest query. A pair that has settled keeps its
scalings while the others of its batch go on, so that the stopping rule and the values are those of one pair alone.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from reranker.transport.device.devices import Array
from reranker.transport.problem import SHRUNK, Parameters

# Whether all pairs have settled is looked at after so many iterations: the host waits for the device then.
CHECK_EVERY = 8
# In the place of log 0, which would make NaN of its difference with itself.
LOG_OF_NOTHING = -1e300


class Scalings(Protocol):
    """Updates of w (k, n) and z (k, m), the scalings of plan = diag(z) K diag(w), or of their logarithms."""

    xp: Any

    def columns(self, w: Array) -> tuple[Array, Array]:
        """What z should be for w, and the sums K w (k, m)."""

    def rows(self, z: Array) -> Array:
        """What w should be for z."""

    def moved(self, target: Array, z: Array, reached: Array) -> Array:
        """(k,) how far z is from where it should be, in the marginals (L1)."""

    def further(self, target: Array, before: Array) -> Array:
        """Half a step further than the target (Thibault et al. 2021)."""

    def nothing(self) -> Array:
        """The z to begin with, which is only compared with."""

    def lost(self) -> Array | None:
        """(k,) the pairs that left the range by now; None: that cannot be."""


class PlainScalings:
    """z = b (1 / K w)^power, w = a / (K' z); K (k, m, n) = exp(-cost / epsilon), a (k, n), b (k, m)."""

    def __init__(self, xp: Any, kernel: Array, a: Array, b: Array, power: float, precision: str) -> None:
        self.xp, self.kernel, self.a, self.b, self.power = xp, kernel, a, b, power
        limits = np.finfo(precision)
        # A sum under this has lost digits to denormal numbers (`kernels.SMALLEST`).
        self.smallest = float(limits.smallest_normal) / float(limits.eps)
        self.least = xp.full_like(a[:, 0], xp.inf)

    def columns(self, w: Array) -> tuple[Array, Array]:
        # Rows times matrices in both directions: torch is seven times slower at matrices times columns on a CPU.
        reached = self._in_range(self.xp.matmul(w[:, None, :], self.xp.matrix_transpose(self.kernel))[:, 0, :])
        return self.b * self._inverse_power(reached), reached

    def rows(self, z: Array) -> Array:
        return self.a / self._in_range(self.xp.matmul(z[:, None, :], self.kernel)[:, 0, :])

    def moved(self, target: Array, z: Array, reached: Array) -> Array:
        return self.xp.sum(self.xp.abs(target - z) * reached, axis=1)

    def further(self, target: Array, before: Array) -> Array:
        return target * self.xp.sqrt(target / self.xp.clip(before, min=self.smallest))

    def nothing(self) -> Array:
        return self.xp.zeros_like(self.b)

    def lost(self) -> Array:
        return ~(self.least > self.smallest)  # true for NaN

    def _in_range(self, sums: Array) -> Array:
        self.least = self.xp.minimum(self.least, self.xp.min(sums, axis=1))
        return self.xp.clip(sums, min=self.smallest)

    def _inverse_power(self, sums: Array) -> Array:
        if self.power == 1.0:
            return 1.0 / sums
        return self.xp.ones_like(sums) if self.power == 0.0 else sums**-self.power


class LogScalings:
    """The same with the logarithms of w and z (Peyré and Cuturi 2019, 4.4); exponents (k, m, n) = -cost / epsilon."""

    def __init__(self, xp: Any, exponents: Array, log_a: Array, log_b: Array, power: float) -> None:
        self.xp, self.exponents, self.log_a, self.log_b, self.power = xp, exponents, log_a, log_b, power

    def columns(self, w: Array) -> tuple[Array, Array]:
        reached = self._log_sum(self.exponents + w[:, None, :], axis=2)
        return self.log_b - self.power * reached, reached

    def rows(self, z: Array) -> Array:
        return self.log_a - self._log_sum(self.exponents + z[:, :, None], axis=1)

    def moved(self, target: Array, z: Array, reached: Array) -> Array:
        return self.xp.sum(self.xp.abs(self.xp.exp(target + reached) - self.xp.exp(z + reached)), axis=1)

    def further(self, target: Array, before: Array) -> Array:
        return target + 0.5 * (target - before)

    def nothing(self) -> Array:
        return self.xp.full_like(self.log_b, LOG_OF_NOTHING)

    def lost(self) -> None:
        return None

    def _log_sum(self, terms: Array, axis: int) -> Array:
        most = self.xp.max(terms, axis=axis, keepdims=True)
        total = self.xp.sum(self.xp.exp(terms - most), axis=axis)
        return self.xp.squeeze(most, axis=axis) + self.xp.log(total)


def scale(scalings: Scalings, w: Array, parameters: Parameters, stop_below: float) -> tuple[Array, Array, Array]:
    """Iterates from w (k, n) until each pair has settled, as `reference.scaled_plan` does.

    Returns:
        w and z, and the marginal errors (k,).
    """
    xp, z = scalings.xp, scalings.nothing()
    change = before = xp.full_like(w[:, 0], xp.inf)
    settled_all = xp.zeros_like(change, dtype=xp.bool)
    exact = ~settled_all  # whether the rows of the plan sum to a, so that a change is its marginal error
    for iteration in range(int(parameters.n_iterations)):
        target, reached = scalings.columns(w)
        middle = parameters.over_relaxed and 1 < iteration < parameters.n_iterations - 1
        further = xp.zeros_like(exact)
        if middle:  # `reference.over_relaxes`
            further = (change >= stop_below) & (change < SHRUNK * before)
        before, change = change, scalings.moved(target, z, reached)
        if middle:
            target = xp.where(further[:, None], scalings.further(target, z), target)
        z = xp.where(settled_all[:, None], z, target)
        target = scalings.rows(z)
        settled = (change < stop_below) if iteration else xp.zeros_like(exact)
        last = settled & exact & ~further
        exact = settled | ~further
        if middle:
            target = xp.where(exact[:, None], target, scalings.further(target, w))
        w = target  # of a pair that has settled it follows from its z, which stays
        settled_all = settled_all | last
        if (iteration + 1) % CHECK_EVERY == 0 and _all_done(xp, settled_all, scalings.lost()):
            break
    target, reached = scalings.columns(w)
    return w, z, scalings.moved(target, z, reached)


def _all_done(xp: Any, settled: Array, lost: Array | None) -> bool:
    return bool(xp.all(settled if lost is None else settled | lost))
