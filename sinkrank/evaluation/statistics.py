"""Tests whether differences between systems are due to chance: paired randomisation, Holm's correction, bootstrap,
and bounds of shares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_RESAMPLES = 10_000
SEED = 2018

# Differences times resamples in one batch, some 100 MB.
_BATCH_VALUES = 4_000_000
_CONFIDENCE = 0.95
# To the digits of a float.
_HALVINGS = 50
# Sums of the same numbers in another order differ by rounding.
_ROUNDING = 100 * np.finfo(np.float64).eps


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float


def randomisation_p(differences: ArrayLike) -> float:
    """Returns the two-sided p-value of a mean difference between paired systems (Fisher; Smucker, Allan and Carterette
    2007).

    If both systems were equally good, each difference could as well have the other sign. p is the share of sign
    patterns whose mean is at least as far from 0 as the observed one. If there are at most `N_RESAMPLES` of the 2^n
    patterns, all are tried; otherwise that many random ones, the observed one among them.

    Args:
        differences: (n,), one for each unit of observation; units must be independent of each other.
    """
    values = np.asarray(differences, dtype=np.float64)
    changed = values[values != 0]  # a sign changes nothing at 0, so the share stays the same
    if len(changed) < 2:
        return 1.0  # of one both patterns are equally far from 0
    means = np.concatenate([(changed * signs).mean(axis=1) for signs in _signs(len(changed))])
    observed = changed.mean()
    near = abs(observed) * _ROUNDING
    is_random = 2 ** len(changed) > N_RESAMPLES
    shares = [
        (float(np.count_nonzero(far)) + is_random) / (len(means) + is_random)
        for far in (means <= observed + near, means >= observed - near)
    ]
    return float(min(1.0, 2 * min(shares)))


def _signs(n: int) -> Iterator[NDArray[np.floating]]:
    """(n_patterns, n) in batches: all patterns of signs, or `N_RESAMPLES` random ones, drawn as SciPy's
    `permutation_test` draws them."""
    if 2**n <= N_RESAMPLES:
        yield 1.0 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
        return
    random = np.random.default_rng(SEED)
    batch = max(1, _BATCH_VALUES // n)
    for first in range(0, N_RESAMPLES, batch):
        both = np.tile(np.array([1.0, -1.0]), (min(batch, N_RESAMPLES - first), n, 1))
        yield random.permuted(both, axis=-1)[..., 0]


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrects the p-values of several tests, so that the chance of any false discovery stays below the level (Holm
    1979).

    The smallest is multiplied by the number of tests, the next by one less, and so on. Each is at least as large as the
    one before, and at most 1. The order is that of the argument.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda each: p_values[each])):
        highest = max(highest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = highest
    return adjusted


def highest_share(n_found: int, n: int) -> float:
    """Returns the share of all cases that is not exceeded with 95 % confidence, where `n_found` of `n` are such cases
    (Clopper and Pearson 1934, one-sided).

    It is the share by which `n_found` or fewer of `n` have a chance of 5 %.

    Args:
        n_found: 0 to n; n is at least 1.

    >>> round(highest_share(0, 300), 4)  # the rule of three: some 3 / n
    0.0099
    """
    if n_found >= n:
        return 1.0
    ways = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n_found + 1)]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        logs = (way + k * math.log(share) + (n - k) * math.log1p(-share) for k, way in enumerate(ways))
        low, high = (share, high) if sum(map(math.exp, logs)) > 1.0 - _CONFIDENCE else (low, share)
    return high


def bootstrap_interval(sums: ArrayLike, counts: ArrayLike) -> Interval:
    """Returns the mean over all observations and its percentile bootstrap interval; it draws units with replacement.

    Args:
        sums: (n,), the sum of the observations of each unit. A unit's observations are drawn together, as the queries
            of a page in several directions.
        counts: (n,), the number of observations of each unit, at least 1.
    """
    totals, sizes = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    mean = float(totals.sum() / sizes.sum())
    rng = np.random.default_rng(SEED)
    means: list[NDArray[np.float64]] = []
    batch = max(1, _BATCH_VALUES // len(totals))
    for first in range(0, N_RESAMPLES, batch):
        drawn = rng.integers(len(totals), size=(min(batch, N_RESAMPLES - first), len(totals)))
        means.append(totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
    return Interval(mean, float(low), float(high))
