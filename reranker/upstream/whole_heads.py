"""Notices an answer of HTTP that was cut off within its head, and takes heads with many headers.

http.client takes the end of the connection for the end of the head. It then finds no length, and reads an empty body
without an error: a caller would get an empty answer with status 200.
"""

from __future__ import annotations

import http.client
from http.client import HTTPResponse, IncompleteRead
from typing import Any

# It takes 100. An engine sends a `Warning` for each deprecated thing in a request, and sets itself no limit.
http.client._MAXHEADERS = 10_000  # type: ignore[attr-defined]


class WholeHeadResponse(HTTPResponse):
    """To be the `response_class` of a connection."""

    def begin(self) -> None:
        """
        Raises:
            IncompleteRead: the head does not end with an empty line.
        """
        lines = _Lines(self.fp)
        self.fp = lines  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            if self.fp is lines:  # type: ignore[comparison-overlap]
                self.fp = lines.file
        if lines.last not in (b"\r\n", b"\n"):
            raise IncompleteRead(b"")


class _Lines:
    """Remembers the last line that was read of a file."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.last = b""

    def readline(self, limit: int = -1) -> bytes:
        self.last = self.file.readline(limit)
        return self.last

    def close(self) -> None:
        self.file.close()
