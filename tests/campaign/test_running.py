"""How trials are run: one that fails, hangs or leaves something behind is told, and nothing stays."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from campaign import running
from campaign.running import Options, run_trial

pytestmark = pytest.mark.slow

UNKNOWN = Options(seed=1, scale=0.01, engine="no-such-engine", older=None, seconds=1.0)


def test_a_trial_that_raises_has_failed_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "folder_in_memory", lambda: tmp_path)
    result = run_trial("network", UNKNOWN)
    assert result.n_failures == 1
    assert "the trial itself failed" in result.failures[0]
    assert "no-such-engine" in result.failures[0]
    assert list(tmp_path.iterdir()) == []


def test_a_trial_is_ended_at_its_limit_and_what_it_found_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "folder_in_memory", lambda: tmp_path)
    monkeypatch.setattr(running, "FIXED_S", 10.0)
    monkeypatch.setattr(running, "BUSY", 1.0)
    short = types.SimpleNamespace(ASSERTS="It ends.", LIMIT_S=0.0)
    monkeypatch.setattr(running, "find_trial", lambda name: short)
    result = run_trial("files", Options(seed=1, scale=50, engine="none", older=None, seconds=1.0))
    assert any("did not end within 10 s" in failure for failure in result.failures)
    assert any("it was ended at its limit" in failure for failure in result.failures)
    assert list(tmp_path.iterdir()) == []
