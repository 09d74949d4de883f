"""Compiling in another process while a command does other work."""

from __future__ import annotations

import multiprocessing

import pytest

from sinkrank.actions import compiling
from sinkrank.actions.compiling import compiled_beside

pytestmark = pytest.mark.slow


def test_a_machine_with_compiled_loops_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "loads_quickly", lambda: True)
    with compiled_beside() as finish:
        assert not multiprocessing.active_children()
        finish()


def test_the_other_process_compiles_and_has_ended_when_the_loops_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "loads_quickly", lambda: False)
    with compiled_beside() as finish:
        (process,) = multiprocessing.active_children()
        finish()
        assert process.exitcode == 0
    assert not multiprocessing.active_children()


def test_the_other_process_ends_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "loads_quickly", lambda: False)
    with pytest.raises(KeyboardInterrupt), compiled_beside():
        raise KeyboardInterrupt
    assert not multiprocessing.active_children()
