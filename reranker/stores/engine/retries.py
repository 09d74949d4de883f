"""Repeats requests to an engine after temporary failures, with waits between the tries."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from opensearchpy import exceptions

# At most 1, 2, 4, 8, 16, 30, 30 s, 91 s together: as long as a node takes to start again.
N_TRIES = 8
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0

# Of a server that may accept the same request later.
_BUSY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

_Answer = TypeVar("_Answer")


def is_worth_another_try(error: exceptions.TransportError) -> bool:
    """Whether the engine may accept the same request later."""
    if isinstance(error, exceptions.SSLError):
        return False
    return isinstance(error, exceptions.ConnectionError) or error.status_code in _BUSY_STATUSES


def wait_s(n_failures: int) -> float:
    """The wait after so many failures: random between half and all of its time, so that clients that were refused
    together do not return together."""
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (n_failures - 1))
    return longest * (1 + random.random()) / 2  # noqa: S311 - no secret


def with_retries(request: Callable[[], _Answer]) -> _Answer:
    """Returns the answer to a request that changes nothing; repeats it while the engine cannot answer.

    Raises:
        exceptions.TransportError: the last try failed, or another try would not help.
    """
    for n_failures in range(1, N_TRIES):
        try:
            return request()
        except exceptions.TransportError as error:
            if not is_worth_another_try(error):
                raise
        time.sleep(wait_s(n_failures))
    return request()
