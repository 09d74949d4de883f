"""Keeps a client's connection after an answer of unknown length, where waitress closes it.

Engines answer many searches in chunks, and compressed ones nearly always. Without this a client behind the proxy would
reconnect for each of them. The last chunk marks the end of such an answer (RFC 9112, 6.3 and 7.1).

waitress has no option for this, so its task is subclassed. If a version of waitress has no such class or attribute, the
connection is closed as waitress does by default: slower, but correct.
"""

from __future__ import annotations

import logging
from typing import Any

_log = logging.getLogger(__name__)


def keep_connections(server: Any) -> None:
    """Makes a waitress server keep connections from now on; logs a warning if this version cannot."""
    try:
        channel_class = _kept_alive(server.channel_class)
    except (ImportError, AttributeError) as error:
        _log.warning("this version of waitress closes connections after answers in chunks (%s)", error)
        return
    server.channel_class = channel_class


def _kept_alive(channel_class: Any) -> Any:
    """The channel class with a task that closes the connection only where it must.

    Raises:
        ImportError, AttributeError: waitress has another structure than the one that is extended here.
    """
    from waitress.task import WSGITask

    class Task(WSGITask):  # type: ignore[misc]
        def set_close_on_finish(self) -> None:
            is_asked_for = self.request.headers.get("CONNECTION", "").lower() == "close"
            shows_its_end = self.version == "1.1" and (self.chunked_response or not self.has_body)
            if is_asked_for or not shows_its_end:
                super().set_close_on_finish()

        def finish(self) -> None:
            if not self.wrote_header:
                self.write(b"")
            if self.request.command == "HEAD":
                # Its answer ends with the headers: a last chunk would be read as the start of the next answer.
                self.chunked_response = False
            super().finish()

    for name in ("set_close_on_finish", "finish", "chunked_response", "wrote_header", "has_body"):
        getattr(WSGITask, name)
    if not issubclass(channel_class.task_class, WSGITask):
        raise AttributeError("its channel has another task")
    return type("KeptAliveChannel", (channel_class,), {"task_class": Task})
