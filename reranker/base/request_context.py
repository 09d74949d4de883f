"""Knows which request a piece of work is for, so that logs, traces and the calls to an engine can say it, and with
whose rights an engine is read for it.

Threads that work for a request run in a copy of its context (`contextvars.copy_context().run`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from reranker.base.errors import Unauthenticated


@dataclass(frozen=True, slots=True)
class Caller:
    """With whose rights a request reads an engine.

    Attributes:
        credentials: headers that stand in for the service's own credentials; names in lower case. Empty: the
            service's own rights.
        refusal: why the request may read nothing; empty where it may.
    """

    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request.

    Attributes:
        request_id: what the caller named it, or what it was given.
        headers: that calls to an engine carry for it.
        facts: what became known of it on the way, for the log.
        caller: with whose rights it reads; the service's own unless set.
        waiting: within it, given a node's address, a call to an engine is made; limits how many wait for the node.
    """

    request_id: str
    headers: Mapping[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    caller: Caller = field(default_factory=Caller)
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
_has_service_rights: ContextVar[bool] = ContextVar("sinkrank_service_rights", default=False)
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


def caller_credentials() -> Mapping[str, str]:
    """The headers that a call to an engine carries instead of the service's own credentials; none where it is made with
    the service's rights.

    Raises:
        Unauthenticated: the request may read nothing.
    """
    context = _context.get()
    if context is None or _has_service_rights.get():
        return {}
    if context.caller.refusal:
        raise Unauthenticated(context.caller.refusal)
    return context.caller.credentials


@contextmanager
def service_rights() -> Iterator[None]:
    """Within it engines are read with the service's own rights, whoever asks. For what tells nobody what is written in
    a document: `_meta`, numbers of documents and words."""
    token = _has_service_rights.set(True)
    try:
        yield
    finally:
        _has_service_rights.reset(token)


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
