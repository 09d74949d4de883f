"""How trials are run: one that fails, hangs or leaves something behind is told, and nothing stays."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from campaign import running
from campaign.running import Options, run_trial
from campaign.tools.processes import wait_until

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
    class Process(subprocess.Popen[bytes]):
        """Its limit is over as soon as the trial has begun."""

        is_over = False

        def wait(self, timeout: float | None = None) -> int:
            if not self.is_over:
                assert wait_until(lambda: bool(list(tmp_path.glob("*/work/files-*"))), 300)
                self.is_over = True
                raise subprocess.TimeoutExpired(self.args, 0.0)
            return super().wait(timeout)

    monkeypatch.setattr(running, "folder_in_memory", lambda: tmp_path)
    monkeypatch.setattr(running.subprocess, "Popen", Process)
    result = run_trial("files", Options(seed=1, scale=50, engine="none", older=None, seconds=1.0))
    assert any("did not end within" in failure for failure in result.failures)
    assert any("it was ended at its limit" in failure for failure in result.failures)
    assert list(tmp_path.iterdir()) == []
