"""Keeps a client's connection after an answer of unknown length, where waitress closes it.

Engines answer many searches in chunks, and compressed ones nearly always: without this a client behind the proxy would
connect anew for each of them. The last chunk says where such an answer ends (RFC 9112, 6.3 and 7.1).
"""

from __future__ import annotations

from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask


class _Task(WSGITask):  # type: ignore[misc]
    def set_close_on_finish(self) -> None:
        is_asked_for = self.request.headers.get("CONNECTION", "").lower() == "close"
        shows_its_end = self.version == "1.1" and (self.chunked_response or not self.has_body)
        if is_asked_for or not shows_its_end:
            super().set_close_on_finish()

    def finish(self) -> None:
        if not self.wrote_header:
            self.write(b"")
        if self.request.command == "HEAD":
            # Its answer ends with the headers: a last chunk would be read as the beginning of the next answer.
            self.chunked_response = False
        super().finish()


class _Channel(HTTPChannel):  # type: ignore[misc]
    task_class = _Task


def keep_connections(server: Any) -> None:
    """Has a server of waitress do so from now on."""
    server.channel_class = _Channel
