"""Repeats requests to an engine after temporary failures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from opensearchpy import exceptions

from reranker.base import retries

_Answer = TypeVar("_Answer")


def is_worth_another_try(error: exceptions.TransportError) -> bool:
    """Whether the engine may accept the same request later."""
    if isinstance(error, exceptions.SSLError):
        return False
    return isinstance(error, exceptions.ConnectionError) or error.status_code in retries.BUSY_STATUSES


def with_retries(request: Callable[[], _Answer]) -> _Answer:
    """Returns the answer to a request that changes nothing; repeats it while the engine cannot answer.

    Raises:
        exceptions.TransportError: the last try failed, or another try would not help.
    """
    for n_failures in range(1, retries.ENGINE.n_tries):
        try:
            return request()
        except exceptions.TransportError as error:
            if not is_worth_another_try(error):
                raise
        time.sleep(retries.ENGINE.wait_s(n_failures))
    return request()
