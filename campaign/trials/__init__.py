"""One module a trial. `ASSERTS` says what must hold, `LIMIT_S` when it is ended, and `run` does it."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from campaign.tools.context import Context

NAMES = ("kills", "requests", "files", "soak", "cluster", "network", "clocks", "versions", "damage")


class Trial(Protocol):
    """A module of this folder.

    Attributes:
        ASSERTS: what it checks, in one sentence.
        LIMIT_S: seconds at scale 1 after which the trial counts as hung.
    """

    ASSERTS: str
    LIMIT_S: float

    def run(self, context: Context) -> None: ...


def find_trial(name: str) -> Trial:
    """The module of that name; KeyError for an unknown one."""
    if name not in NAMES:
        raise KeyError(name)
    return cast("Trial", import_module(f"campaign.trials.{name}"))
