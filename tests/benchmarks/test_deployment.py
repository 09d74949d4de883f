"""The benchmark of the recommended deployment: its ratios, and the CPU time of a front."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import deployment
from benchmarks.deployment import cpu_ms, under_load
from benchmarks.proxy import Request


def test_ratios_are_taken_within_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = {"a": [100.0, 10.0, 50.0], "b": [50.0, 9.0, 25.0]}  # the machine was slower in the second turn

    def load(
        requests: Sequence[Request], http: Any, is_proxy: bool, n_clients: int, seconds: float
    ) -> dict[str, float]:
        return {"per_second": figures[http].pop(0)}

    monkeypatch.setattr(deployment, "load", load)
    engine, front = under_load([], {"engine": "a", "haproxy": "b"}, {}, 3, 1.0)  # type: ignore[dict-item]
    assert engine["per_second"] == 50.0
    assert engine["of_the_engine"] == 1.0
    assert front["per_second"] == 25.0
    assert front["of_the_engine"] == 0.5


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says it there")
def test_cpu_time_grows_with_work() -> None:
    before = cpu_ms(os.getpid())
    while cpu_ms(os.getpid()) < before + 50:
        sum(range(10_000))
    assert cpu_ms(2**30) == 0.0  # no such process
