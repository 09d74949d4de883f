"""The fit of the relevance, and the measure of its error."""

from __future__ import annotations

import numpy as np
import pytest

from papers.studies.relevance import Hits, Judged, calibration_error, fitted, probabilities, rows_of


def test_the_calibration_error_is_the_mean_distance_in_bins_of_a_tenth() -> None:
    # .05 against 0 of 1; .15 against 1 of 2; 1.0 against 1 of 1.
    probability, is_relevant = np.array([0.05, 0.15, 0.15, 1.0]), np.array([False, True, False, True])
    assert calibration_error(probability, is_relevant) == pytest.approx((0.05 + 2 * 0.35 + 0) / 4)


def made(name: str, seed: int) -> Judged:
    """Hits of which the third feature alone tells: by exp(1 - 4 x) to 1."""
    random = np.random.default_rng(seed)

    def hits(n: int, is_answered: bool) -> Hits:
        features = random.uniform(size=(n, 5))
        is_relevant = random.uniform(size=n) < 1 / (1 + np.exp(4 * features[:, 2] - 1))
        return Hits(features, is_relevant if is_answered else np.zeros(n, bool), np.arange(n) % 10 == 0)

    return Judged(name, hits(8_000, True), hits(10, False))


def test_the_fit_finds_the_weights_that_the_hits_were_drawn_by_but_for_searches_without_an_answer() -> None:
    collections = [made(name, seed) for seed, name in enumerate(("one", "two", "three"))]
    found = fitted(collections)
    assert found.distance == pytest.approx(-4, abs=0.4)
    assert max(abs(found.held), abs(found.cosine), abs(found.behind), abs(found.lead)) < 0.3
    hits = collections[0].answered
    # A tenth of the weight goes to searches without an answer.
    assert probabilities(found, hits).mean() == pytest.approx(0.9 * hits.is_relevant.mean(), abs=0.02)
    assert [row[:2] for row in rows_of(collections)] == [["one", "800"], ["two", "800"], ["three", "800"]]
