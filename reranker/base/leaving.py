"""Ends calls to an engine that nobody waits for any more: those of a request whose client has left.

The server makes a `Client` for each request and looks whether it is still there while `is_waiting`. Only calls that
read may be ended: a write goes on to its end. Closing the connection makes the engine cancel a search.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from reranker.base.errors import ClientLeft

_of_thread = threading.local()


class Client:
    """Who waits for the answer to one request. The server calls `leave`, the request's thread everything else."""

    def __init__(self) -> None:
        self.has_left = False
        self._connection: socket.socket | None = None
        self._lock = threading.Lock()

    @property
    def is_waiting(self) -> bool:
        """Whether the request waits for an engine, and may stop to."""
        return self._connection is not None

    def leave(self) -> None:
        """Ends the call that the request waits for, and those that it would still make."""
        with self._lock:
            self.has_left = True
            self._shut_down()

    def waits_on(self, connection: socket.socket | None) -> None:
        """The request waits for the answer on this connection to an engine; None: it waits no longer."""
        with self._lock:
            self._connection = connection
            if self.has_left:
                self._shut_down()

    def _shut_down(self) -> None:
        if self._connection is not None:
            with suppress(OSError):  # the engine was faster
                # Not by the method of a TLS socket, which another thread reads.
                socket.socket.shutdown(self._connection, socket.SHUT_RDWR)


def set_client(client: Client | None) -> None:
    """Whose request this thread answers from here on. Threads that work for others too have none."""
    _of_thread.client = client


@contextmanager
def reading_call(is_reading: bool = True) -> Iterator[None]:
    """Within it a call to an engine is made that ends when the client leaves.

    Args:
        is_reading: False for a call that changes something: it goes on.

    Raises:
        ClientLeft: the client has left.
    """
    client: Client | None = getattr(_of_thread, "client", None) if is_reading else None
    if client is None:
        yield
        return
    _check(client)
    _of_thread.reading_for = client
    try:
        yield
    except Exception as error:
        _check(client, error)
        raise
    finally:
        _of_thread.reading_for = None
        client.waits_on(None)


def waits_on(connection: socket.socket | None) -> None:
    """The `reading_call` of this thread, if it is in one, waits for the answer on this connection from here on; None:
    for none, since another request may use the connection."""
    client: Client | None = getattr(_of_thread, "reading_for", None)
    if client is not None:
        client.waits_on(connection)


def _check(client: Client, error: Exception | None = None) -> None:
    if client.has_left:
        raise ClientLeft("the client closed its connection before the answer came") from error
