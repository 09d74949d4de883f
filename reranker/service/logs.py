"""Sets up the log: plain text, or one JSON object per line, with the id of the request."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from reranker.base.request_context import current_request
from reranker.base.terminal import OneLineFormatter
from reranker.service.settings import Settings

_PLAIN = "%(asctime)s %(levelname)s %(name)s%(request)s: %(message)s%(query)s"


class _WithRequest(logging.Filter):
    """Adds the id of the current request to each record, and the text of its query where that is to be logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        context = current_request()
        record.request_id = None if context is None else context.request_id
        record.request = "" if context is None else f" [{context.request_id}]"
        query = getattr(record, "fields", {}).get("query")
        record.query = "" if query is None else f", query {query!r}"
        return True


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (request_id := getattr(record, "request_id", None)) is not None:
            line["request_id"] = request_id
        line.update(getattr(record, "fields", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


def set_up_logs(settings: Settings, stream: TextIO | None = None) -> None:
    """Replaces the handlers of the process's log. A lower level (`--debug`) stays.

    Args:
        stream: None for standard error.
    """
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(_JsonFormatter() if settings.log_format == "json" else OneLineFormatter(_PLAIN))
    handler.addFilter(_WithRequest())
    root = logging.getLogger()
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    before = root.level if root.handlers else logging.WARNING
    root.handlers = [handler]
    root.setLevel(min(level, before))
