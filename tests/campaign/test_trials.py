"""Each trial of the campaign at a tiny scale, with real nodes and processes."""

from __future__ import annotations

import pytest

from campaign.running import Options, run_trial
from campaign.trials import NAMES

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(1800)]

TINY = Options(seed=1, scale=0.01, engine="opensearch-2.19.1", older=None, seconds=1200.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_trial_holds(name: str) -> None:
    result = run_trial(name, TINY)

    assert result.failures == []
    assert result.n_checks > 0
    assert result.figures
