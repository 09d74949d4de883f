"""Whether a figure of a process grows: a straight line through the second half of its samples."""

from __future__ import annotations

from collections.abc import Sequence


def growth(samples: Sequence[tuple[float, float]]) -> float:
    """How much the least-squares line rises over the second half of the time; 0 with fewer than four samples there.

    Args:
        samples: time and value, by time.
    """
    if not samples:
        return 0.0
    middle = (samples[0][0] + samples[-1][0]) / 2
    half = [(t, value) for t, value in samples if t >= middle]
    if len(half) < 4:
        return 0.0
    mean_t = sum(t for t, _ in half) / len(half)
    mean = sum(value for _, value in half) / len(half)
    spread = sum((t - mean_t) ** 2 for t, _ in half)
    slope = sum((t - mean_t) * (value - mean) for t, value in half) / spread if spread else 0.0
    return slope * (half[-1][0] - half[0][0])
