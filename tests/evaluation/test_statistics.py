"""Whether a difference is more than chance: randomisation and bootstrap by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sinkrank.evaluation.statistics import SEED, bootstrap_interval, highest_share, randomisation_p


@pytest.mark.parametrize("differences", [[0.0, 0.0, 0.0], [0.3]], ids=["no difference", "one pair"])
def test_what_no_sign_pattern_can_beat_has_p_1(differences) -> None:
    assert randomisation_p(differences) == 1.0


@pytest.mark.parametrize("n", [2, 13, 14, 50, 700])
def test_p_is_that_of_scipy_with_the_same_seed(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.3, 1, n).round(1)
    differences = differences[differences != 0]
    rng = np.random.default_rng(SEED)
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=10_000, batch=4_000_000 // n, rng=rng
    )  # fmt: skip
    assert randomisation_p(differences) == expected.pvalue


def test_the_interval_of_single_observations_is_that_of_scipys_bootstrap() -> None:
    values = np.random.default_rng(5).exponential(1, 60)
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=1).confidence_interval

    ours = bootstrap_interval(values, np.ones(60))

    assert ours.mean == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_a_unit_s_observations_stay_together() -> None:
    # Two units of two equal observations each: resampling gives 0, 1/2 or 1, and a quarter of the draws each end.
    interval = bootstrap_interval([0.0, 2.0], [2, 2])

    assert interval == (0.5, 0.0, 1.0)


def test_units_of_other_sizes_weigh_by_their_observations() -> None:
    assert bootstrap_interval([3.0, 0.0], [3, 1]).mean == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("n_found", "n", "share"),
    [
        (0, 300, 1 - 0.05 ** (1 / 300)),  # (1 - p)^300 = .05
        (1, 2, 0.95**0.5),  # 1 - p² = .05
        (2, 2, 1.0),
        (0, 1, 0.95),
        (6, 300, stats.beta.ppf(0.95, 7, 294)),
        (150, 2_000, stats.beta.ppf(0.95, 151, 1_850)),
    ],
)
def test_the_highest_share_is_that_of_clopper_and_pearson(n_found: int, n: int, share: float) -> None:
    assert highest_share(n_found, n) == pytest.approx(share, rel=1e-9)
