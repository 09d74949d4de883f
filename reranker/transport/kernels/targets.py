"""What a scaling is set to in an iteration, in vector registers."""

from __future__ import annotations

from typing import Any

from reranker.transport.kernels import simd
from reranker.transport.kernels.compiling import inlined


@inlined
def plain_target(weights: Any, total: Any, power: float) -> Any:
    """b (1 / total)^power; quickly for `sinkhorn` (1), and for `relaxed` at tau = epsilon (1/2) and at tau = 0."""
    if power == 1.0:
        return simd.divide(weights, total)
    if power == 0.5:
        return simd.divide(weights, simd.root(total))
    if power == 0.0:
        return weights
    return simd.multiply(weights, simd.inverse_power(total, power))


@inlined
def further_target(target: Any, before: Any, smallest: Any) -> Any:
    """target^1.5 / before^0.5: half a step more in logarithms (Thibault et al. 2021)."""
    ratio = simd.divide(target, simd.larger(smallest, before))
    return simd.multiply(target, simd.root(ratio))
