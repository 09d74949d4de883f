"""How many processes and threads a machine is good for."""

from __future__ import annotations

import os

import pytest

from reranker.base.cores import n_cores
from reranker.service.settings import Settings


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux limits a process to some cores")
def test_cores_that_the_process_may_not_use_do_not_count() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert n_cores() == Settings().n_processes == Settings(processes=1).n_threads == 1
    finally:
        os.sched_setaffinity(0, before)


def test_where_the_system_does_not_say_all_cores_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    found = []
    for count in (8, None):
        monkeypatch.setattr("os.cpu_count", lambda count=count: count)
        found.append(n_cores())
    assert found == [8, 1]
