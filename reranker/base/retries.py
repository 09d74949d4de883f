"""How often and after which waits a failed request to an engine is repeated."""

from __future__ import annotations

import random
from dataclasses import dataclass

BUSY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of a server that may accept the same request later."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Tries with waits between them that double from `first_wait_s` to `longest_wait_s`."""

    n_tries: int
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0

    def wait_s(self, n_failures: int) -> float:
        """The wait after so many failures: random between half and all of its time, so that clients that were refused
        together do not return together."""
        longest = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (n_failures - 1))
        return longest * (1 + random.random()) / 2  # noqa: S311 - no secret


# At most 1, 2, 4, 8, 16, 30, 30 s, 91 s together: as long as a node takes to start again.
ENGINE = Backoff(n_tries=8)
