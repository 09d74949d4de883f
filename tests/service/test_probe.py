"""A check in a thread of its own."""

from __future__ import annotations

import pytest

from reranker.answers.operations import Check
from reranker.service.probe import Probe
from tests.support.threads import no_more_threads


def test_a_check_that_got_no_thread_is_made_when_the_next_caller_asks() -> None:
    probe = Probe()
    with no_more_threads(), pytest.raises(RuntimeError, match="thread"):
        probe.result(lambda: Check(ready=True))
    assert probe.result(lambda: Check(ready=True)).ready
