"""Reads requests, and limits the room that their bodies take in temporary files, over all connections.

waitress reads a body to its end before the request is answered, and keeps a large one in a temporary file. A body that
finds no room is read and thrown away, so that its client can read the answer, which is 429.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import quote_from_bytes

from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser, ParsingError, get_header_lines
from waitress.utilities import BadRequest

NO_ROOM = "bodies"
"""Reason to refuse a request; see `reranker.api.limits`."""

_VERSIONS = (b"HTTP/1.0", b"HTTP/1.1")
# Of a chunk's size with its extensions, and of the trailer, as Node.js has it. waitress has no limit, and looks through
# the whole line again whenever more of it comes.
_MAX_LINE_BYTES = 16_384
# What stays as it is in a request's target; waitress refuses the line breaks.
_TARGET = "\r\n" + "".join(map(chr, range(0x20, 0x7F)))
# Before the value of a header, a continued line too. waitress looks through the rest of them again from each.
_MANY_BLANKS = re.compile(rb":(?:[ \t]|\r\n[ \t]){16}")


def room_bytes(largest_bytes: int, n_processes: int) -> int:
    """What all bodies of a process may take: two of the largest, but no more than the process's share of half of the
    free disk. Without a temporary folder there is no room."""
    try:
        free = shutil.disk_usage(tempfile.gettempdir()).free
    except OSError:  # all file systems are read-only
        return 0
    return min(2 * largest_bytes, free // 2 // n_processes)


class Room:
    """Counts bytes that are taken; safe to share between threads.

    Attributes:
        was_full: whether a body found no room since this was last set to False.
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        self.n_taken = 0
        self.was_full = False
        self._lock = threading.Lock()

    def take(self, n: int) -> bool:
        """Takes so many bytes if they are free."""
        with self._lock:
            if self.n_taken + n > self.n_bytes:
                self.was_full = True
                return False
            self.n_taken += n
            return True

    def give_back(self, n: int) -> None:
        with self._lock:
            self.n_taken -= n


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """Reads one request, of HTTP/1.0 or HTTP/1.1. A body that fits into memory takes no room.

    Attributes:
        refusal: why the request is answered 429; empty for most.
        arrived_s: when it was here with its body, by `time.perf_counter`.
        underscored: the headers with an underscore in their name, which is in lower case; several of one name as one.
            waitress leaves them out, since WSGI has one name for `a_b` and `a-b`.
    """

    refusal = ""
    arrived_s = 0.0
    completed: bool
    underscored: dict[str, str]

    def __init__(self, adj: Any, room: Room) -> None:
        super().__init__(adj)
        self._body = _Body(adj.inbuf_overflow, room)
        self.underscored = {}

    def parse_header(self, header_plus: bytes) -> None:
        """Escapes what is not ASCII in the target, which curl sends, engines read and waitress refuses; controls too.

        Refuses other versions with 400, as engines do, and closes the connection. waitress takes a request line
        without a version (HTTP/0.9), or with another one, for HTTP/1.0.

        After a request whose body has two lengths, or a coding that HTTP/1.0 does not have, the connection is closed:
        a server in front may have seen another end of it (RFC 9112, 6.1).
        """
        line, end, headers = header_plus.partition(b"\r\n")
        method, space, rest = line.rstrip().partition(b" ")
        target, _, version = rest.rpartition(b" ")
        # waitress would read a target with a blank again from each of its characters.
        if not target or b" " in target or version not in _VERSIONS:
            raise ParsingError("The request line is not a method, a target and HTTP/1.1, with one blank between them")
        line = method + space + quote_from_bytes(rest, _TARGET).encode()
        if _MANY_BLANKS.search(headers):
            parts = (each.partition(b":") for each in get_header_lines(headers))
            headers = b"\r\n".join(name + colon + value.strip(b" \t") for name, colon, value in parts)
        try:
            super().parse_header(line + end + headers)
        except ValueError as error:  # of urllib.parse, or of a number with thousands of digits
            raise ParsingError(f"The head of the request cannot be read ({error})") from error
        if self.body_rcv is not None:
            self.body_rcv.buf = self._body
        for header in get_header_lines(headers) if b"_" in headers else ():
            name, _, value = header.decode("latin-1").partition(":")
            if "_" in name:
                before = self.underscored.get(name.lower())
                value = value.strip(" \t")
                self.underscored[name.lower()] = value if before is None else f"{before}, {value}"
        # waitress has taken the coding out of the headers where it reads the body by it.
        if "TRANSFER_ENCODING" in self.headers or (self.chunked and "CONTENT_LENGTH" in self.headers):
            self.headers["CONNECTION"] = "close"

    def received(self, data: bytes) -> int:
        n_bytes: int = super().received(data)
        if self.completed:
            self.arrived_s = time.perf_counter()
            # waitress would ask for a body that is not to come, and wait for it.
            self.expect_continue = False
        elif self.chunked and len(self.body_rcv.control_line) + len(self.body_rcv.trailer) > _MAX_LINE_BYTES:
            self.error = BadRequest("The size of a chunk, or the trailer, does not end")
            self.completed = True
        if self._body.is_refused:
            self.refusal = NO_ROOM
        return n_bytes

    @property
    def n_taken(self) -> int:
        """Bytes of the room that its body takes."""
        return self._body.n_taken


class _Body(OverflowableBuffer):  # type: ignore[misc]
    """The body of one request: in memory, and in a temporary file once it is large. Where that finds no room, or cannot
    be written, nothing is kept.

    Attributes:
        is_refused: whether nothing is kept.
        n_taken: bytes of the room that it takes.
    """

    def __init__(self, overflow: int, room: Room) -> None:
        super().__init__(overflow)
        self._room = room
        self.is_refused = False
        self.n_taken = 0

    def append(self, data: bytes) -> None:
        n_bytes = len(self) + len(data)
        if n_bytes >= self.overflow and not self.is_refused:
            self.is_refused = not self._room.take(n_bytes - self.n_taken)
            self.n_taken = self.n_taken if self.is_refused else n_bytes
        if not self.is_refused:
            try:
                super().append(data)
            except OSError:  # no temporary folder, a full disk, too many open files
                self.is_refused = True
        if self.is_refused:
            self.close()
            self.buf, self.strbuf = None, b""

    def close(self) -> None:
        """Removes what is kept."""
        with suppress(OSError):  # the rest that cannot be written
            super().close()
        self._room.give_back(self.n_taken)
        self.n_taken = 0
