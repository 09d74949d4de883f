"""The trials, one module each, with `ASSERTS` (what it checks), `LIMIT_S` (its time limit) and `run`."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from campaign.tools.context import Context

NAMES = ("kills", "requests", "files", "soak", "cluster", "network", "clocks", "versions", "damage")


class Trial(Protocol):
    """The interface of a trial's module.

    Attributes:
        ASSERTS: what it checks, in one sentence.
        LIMIT_S: time limit (s) at scale 1; a trial that takes longer hangs.
    """

    ASSERTS: str
    LIMIT_S: float

    def run(self, context: Context) -> None: ...


def find_trial(name: str) -> Trial:
    """Imports the module with this name; KeyError for an unknown one."""
    if name not in NAMES:
        raise KeyError(name)
    return cast("Trial", import_module(f"campaign.trials.{name}"))
