"""Says which failures of an engine may go away, and waits for that."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from opensearchpy import exceptions

# The waits between them are 1, 2, 4, 8, 16, 30, 30 s at most, 91 s together: as long as a node takes to start again.
MAX_TRIES = 8
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0

# Of a whole request: the same may well be taken later.
_WORTH_ANOTHER_TRY = (408, 429, 500, 502, 503, 504)

_Answer = TypeVar("_Answer")


def is_worth_another_try(error: exceptions.TransportError) -> bool:
    """Whether the same request may be taken later."""
    if isinstance(error, exceptions.SSLError):
        return False
    return isinstance(error, exceptions.ConnectionError) or error.status_code in _WORTH_ANOTHER_TRY


def wait_s(n_tries: int) -> float:
    """Between half and all of a time that doubles, so that many who were refused at once do not come back at once."""
    longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** (n_tries - 1))
    return longest * (1 + random.random()) / 2  # noqa: S311 - no secret


def with_retries(request: Callable[[], _Answer], sleep: Callable[[float], object] = time.sleep) -> _Answer:
    """The answer to a request that changes nothing, asked again where the engine cannot answer at the moment.

    Raises:
        exceptions.TransportError: the last try failed as well, or another would.
    """
    for n_tries in range(1, MAX_TRIES):
        try:
            return request()
        except exceptions.TransportError as error:
            if not is_worth_another_try(error):
                raise
        sleep(wait_s(n_tries))
    return request()
