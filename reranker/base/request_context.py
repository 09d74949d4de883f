"""Knows which request a piece of work is for, so that logs and the calls to an engine can say it.

Threads that work for a request run in a copy of its context (`contextvars.copy_context().run`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request.

    Attributes:
        request_id: what the caller named it, or what it was given.
        headers: that calls to an engine carry for it.
        facts: what became known of it on the way, for the log.
        waiting: within it, given a node's address, a call to an engine is made; limits how many wait for the node.
    """

    request_id: str
    headers: Mapping[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    waiting: Callable[[str], AbstractContextManager[None]] | None = None


_context: ContextVar[RequestContext | None] = ContextVar("sinkrank_request", default=None)


def current_request() -> RequestContext | None:
    """The request that this code runs for; None outside of one."""
    return _context.get()


def set_current_request(context: RequestContext | None) -> None:
    """What runs from here on in this thread runs for the request."""
    _context.set(context)


def note(**facts: Any) -> None:
    """Adds to what is known of the current request; outside of one nothing happens."""
    context = _context.get()
    if context is not None:
        context.facts.update(facts)


def waiting_for(address: str) -> AbstractContextManager[None]:
    """A context in which the current request waits for a node of an engine.

    Raises:
        Busy: too many requests wait for this node.
    """
    request = _context.get()
    return nullcontext() if request is None or request.waiting is None else request.waiting(address)
