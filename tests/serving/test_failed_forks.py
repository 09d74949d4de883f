"""A server process that cannot be started: the system's limits are reached, which a test cannot do to the system."""

from __future__ import annotations

import errno
import os

import pytest

from sinkrank.serving import processes
from sinkrank.serving.processes import _Processes


def serve() -> None:
    pytest.fail("only a new process serves")


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pids that the next forks give; where there are none left, they fail."""
    left: list[int] = []

    def fork() -> int:
        if not left:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return left.pop(0)

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(processes, "_RESTART_S", 0.0)
    return left


def test_where_a_process_cannot_be_replaced_the_others_go_on_and_it_is_tried_again(
    forks: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    found = _Processes(2)
    forks += [11, 12]
    found.start_missing(serve)
    found.pids.remove(11)
    found.start_missing(serve)
    assert found.pids == {12}
    assert [record.getMessage() for record in caplog.records] == [
        "no server process can be started (Resource temporarily unavailable); trying again"
    ]
    forks += [13]
    found.start_missing(serve)
    assert found.pids == {12, 13}


def test_where_not_all_can_be_started_the_service_does_not_start(forks: list[int]) -> None:
    forks += [11]
    with pytest.raises(OSError, match="unavailable"):
        _Processes(2).start_missing(serve)
