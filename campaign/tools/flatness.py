"""Measures whether a figure of a process grows, with a straight line through the second half of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import linear_regression


def growth(samples: Sequence[tuple[float, float]]) -> float:
    """How much the least-squares line rises over the second half of the time; 0 with fewer than four samples there.

    Args:
        samples: pairs of time and value, sorted by time.
    """
    if not samples:
        return 0.0
    middle = (samples[0][0] + samples[-1][0]) / 2
    half = [(t, value) for t, value in samples if t >= middle]
    if len(half) < 4:
        return 0.0
    times, values = zip(*half, strict=True)
    return float(linear_regression(times, values).slope * (times[-1] - times[0]))
