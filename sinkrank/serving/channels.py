"""A client's connection: kept after answers of unknown length, and counted so that slow clients can be told.

Engines answer many searches in chunks, and compressed ones nearly always. waitress closes the connection after such an
answer, so a client behind the proxy would reconnect for each of them. The last chunk marks the end of such an answer
(RFC 9112, 6.3 and 7.1).
"""

from __future__ import annotations

import logging
import socket
import struct
import time
from contextlib import suppress
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask

from reranker.base.errors import SinkrankError, one_line
from reranker.base.leaving import Client
from sinkrank.serving.bodies import Parser

# A write that leaves less than this unread is not worth adding up all connections for.
_SMALL_BYTES = 65_536

_log = logging.getLogger(__name__)


class Task(WSGITask):  # type: ignore[misc]
    """One request and its answer."""

    chunked_response: bool
    wrote_header: bool

    def service(self) -> None:
        """An answer that cannot be finished ends with its connection, which the client sees."""
        try:
            super().service()
        except SinkrankError as error:
            _log.warning("the answer to %s %r broke off: %s", self.request.command, self.request.path, one_line(error))
            if self.wrote_header and not self.chunked_response and self.content_length is None:
                # Such an answer ends where the connection is closed; only a reset shows that it is not whole.
                self.channel.reset_at_close()
            self.close_on_finish = True

    def get_environment(self) -> dict[str, Any]:
        environ: dict[str, Any] = super().get_environment()
        if self.request.refusal:
            environ["sinkrank.refusal"] = self.request.refusal
        environ["sinkrank.arrived_s"] = self.request.arrived_s
        environ["sinkrank.client"] = self.channel.client
        environ["sinkrank.underscored"] = self.request.underscored
        return environ

    def set_close_on_finish(self) -> None:
        is_asked_for = self.request.headers.get("CONNECTION", "").lower() == "close"
        shows_its_end = self.version == "1.1" and (self.chunked_response or not self.has_body)
        if is_asked_for or not shows_its_end:
            super().set_close_on_finish()

    def write(self, data: bytes) -> None:
        """The head goes with the first block, in one call to the system and mostly in one packet."""
        if self.complete and not self.wrote_header:
            if self.channel.server.is_stopping:
                self.request.headers["CONNECTION"] = "close"
            self.channel.head = self.build_response_header()
            self.wrote_header = True
        super().write(data)
        if self.channel.head:
            self.channel.write_soon(b"")

    def finish(self) -> None:
        if not self.wrote_header:
            self.write(b"")
        if self.request.command == "HEAD":
            # Its answer ends with the headers: a last chunk would be read as the start of the next answer.
            self.chunked_response = False
        super().finish()


class Channel(HTTPChannel):  # type: ignore[misc]
    """One connection.

    Attributes:
        n_moved: bytes received and sent.
        n_served: requests whose answer was begun.
        is_served: whether a thread answers a request of it at this moment.
        active_s: when it last received, sent or answered, by `time.monotonic`; waitress's own clock may jump.
        client: of the request that was answered last.
        head: of an answer, that goes with what is written next.
    """

    task_class = Task
    n_moved = 0
    n_served = 0
    is_served = False
    head = b""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.active_s = time.monotonic()
        self.client = Client()
        super().__init__(*args, **kwargs)

    def parser_class(self, adj: Any) -> Parser:
        """Begins to read a request."""
        return Parser(adj, self.server.body_room)

    def handle_close(self) -> None:
        """Removes what was received of a request too. One that is being answered is removed after it."""
        super().handle_close()
        if self.request is not None:
            self.request.close()

    @property
    def n_body_bytes(self) -> int:
        """Of the request that is received, if they take room in temporary files."""
        return 0 if self.request is None else self.request.n_taken

    @property
    def awaits_body(self) -> bool:
        """Whether the head of a request is here, and its body is not."""
        return self.request is not None and self.request.headers_finished

    def recv(self, buffer_size: int) -> bytes:
        data: bytes = super().recv(buffer_size)
        self.n_moved += len(data)
        self.active_s = time.monotonic()
        return data

    def send(self, data: bytes, do_close: bool = True) -> int:
        n_sent: int = super().send(data, do_close)
        self.n_moved += n_sent
        self.active_s = time.monotonic()
        return n_sent

    def service(self) -> None:
        self.is_served = True
        self.n_served += 1
        self.client = Client()
        try:
            super().service()
        finally:
            self.is_served = False

    def has_left(self) -> bool:
        """Whether the client closed its connection, or its half of it, while its request waits for an engine and may
        stop to. Engines too take half a connection for none."""
        if not self.client.is_waiting:
            return False
        try:
            return not self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:  # it sends nothing, and is there
            return False
        except OSError:
            return True

    def reset_at_close(self) -> None:
        """Closing the connection will look like a failure to the client, and not like an end."""
        with suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def write_soon(self, data: Any) -> int:
        """Most answers go at once. waitress would copy each into a buffer, and out of it again."""
        if self.head:
            data, self.head = self.head + data, b""
        self.active_s = time.monotonic()
        rest = self._unsent(data)
        if rest or not data:
            if self.total_outbufs_len + len(rest) > _SMALL_BYTES:
                self.server.note_unread(len(rest))
            super().write_soon(rest)
        return len(data)

    def _unsent(self, data: Any) -> Any:
        """Sends what the system takes, if nothing waits to be sent before it; the rest."""
        with self.outbuf_lock:
            if self.connected and not self.total_outbufs_len and isinstance(data, bytes):
                with suppress(OSError):  # waitress meets it again
                    return data[self.send(data, do_close=False) :]
        return data

    @property
    def waits_for_client(self) -> str:
        """`to_send` or `to_read` while the client is to send its request or read its answer; else empty."""
        if self.total_outbufs_len:
            return "to_read"
        return "to_send" if self.request is not None and not self.requests else ""
