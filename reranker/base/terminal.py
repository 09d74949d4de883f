"""What comes from elsewhere in messages must neither control a terminal nor forge a line of the log."""

from __future__ import annotations

import logging

CONTROLS = tuple(code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n")
"""The code points that a terminal may take for a command."""

NO_CONTROLS = dict.fromkeys(CONTROLS)
"""For `str.translate`."""


class OneLineFormatter(logging.Formatter):
    """One line for each message, without control characters, whatever an engine or a server before it put in. The
    traceback of an error of ours follows in lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return " ".join(super().formatMessage(record).splitlines()).translate(NO_CONTROLS)
