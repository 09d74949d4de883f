"""How much of a request's time is left."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """Counts from the moment it is made.

    Args:
        budget_s: how long the request may take, the engine's part among it.
    """

    def __init__(self, budget_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._budget_s = budget_s

    @property
    def left_s(self) -> float:
        """Seconds; 0 where there is no time left."""
        return max(0.0, self._budget_s - self.passed_s)

    @property
    def passed_s(self) -> float:
        return self._clock() - self._started
