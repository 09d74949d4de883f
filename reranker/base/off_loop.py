"""Runs work of the processor off an event loop, in a bounded number of threads that all callers share."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")


async def run_off_loop(work: Callable[[], Result]) -> Result:
    """Runs it in one of the threads, of which there are as many as cores; what comes on top waits its turn.

    The waiting can be cancelled: work that has not begun is then never done, and of work that has the result is lost.
    """
    import asyncio  # a fortieth of a second, for async callers alone

    return await asyncio.get_running_loop().run_in_executor(_executor(), work)


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="sinkrank")


# A child process has none of its parent's threads, but would find them in the books.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_executor.cache_clear)
