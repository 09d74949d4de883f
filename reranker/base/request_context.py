"""Knows which request a piece of work is for, so that logs, traces and the calls to an engine can say it.

Threads that work for a request run in a copy of its context (`contextvars.copy_context().run`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol


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


class EngineSpan(Protocol):
    """One call to an engine as a trace sees it: `headers` name the span to the engine."""

    headers: Mapping[str, str]

    def answered(self, status: int) -> None: ...


Tracer = Callable[[str, str], AbstractContextManager[EngineSpan]]
"""Makes the span of a call, of its method and address; `reranker.service.tracing` has the one of OpenTelemetry."""


@dataclass(slots=True)
class _Untraced:
    headers: Mapping[str, str] = field(default_factory=dict)

    def answered(self, status: int) -> None:
        pass


_context: ContextVar[RequestContext | None] = ContextVar("sinkrank_request", default=None)
_tracer: Tracer | None = None


def set_tracer(tracer: Tracer | None) -> None:
    """Traces calls to engines from now on, in the whole process; None ends it."""
    global _tracer
    _tracer = tracer


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


@contextmanager
def engine_call(method: str, address: str) -> Iterator[EngineSpan]:
    """A call to an engine, within which its headers and its end are told to the trace, where there is one.

    Raises:
        Busy: too many requests wait for this node.
    """
    request = _context.get()
    with nullcontext() if request is None or request.waiting is None else request.waiting(address):
        if _tracer is None:
            yield _Untraced()
            return
        with _tracer(method, address) as span:
            yield span
