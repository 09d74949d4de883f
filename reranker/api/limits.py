"""Limits how many requests of our own routes compute at once; refuses what the server had no room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Flask, request

from reranker.base.errors import Busy
from reranker.service.service import current_service

# Their requests compute. The proxy limits its re-rankings itself, and the others cost nothing.
_COMPUTING = frozenset(["search", "rerank", "matches"])
# In WSGI's environ: why the server has no room for a request.
REFUSAL = "sinkrank.refusal"
# By the server's reason.
_REFUSALS = {
    "threads": "too many requests are in progress, or too many of this client; try again later, or raise the settings "
    "max_client_requests and max_engine_calls",
    "bodies": "large request bodies take all the disk space that they may use; try again later, or send smaller "
    "ones. If none is accepted, the service's temporary folder cannot be written: set TMPDIR",
}


def register(app: Flask) -> None:
    """Installs the limits, before every route."""
    app.before_request(_begin)
    app.teardown_request(_end)


def check_room(environ: Mapping[str, Any]) -> None:
    """
    Raises:
        Busy: the server found no thread for the request in time, or no room for its body.
    """
    if refusal := environ.get(REFUSAL):
        raise Busy(_REFUSALS[refusal])


def _begin() -> None:
    check_room(request.environ)
    if request.blueprint in _COMPUTING:
        current_service().slots.acquire()


def _end(error: BaseException | None) -> None:
    current_service().slots.release()
