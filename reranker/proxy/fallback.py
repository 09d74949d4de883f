"""The exceptions by which a search that could not be re-ranked becomes the engine's own answer."""

from __future__ import annotations

from urllib3 import BaseHTTPResponse


class Fallback(Exception):
    """The search could not be re-ranked: `reason` is one of a fixed set of words, the message is for the log."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Refused(Fallback):
    """The engine's answer to the search for the window is an error that the caller's own search would meet too."""

    def __init__(self, response: BaseHTTPResponse) -> None:
        super().__init__("engine_error", f"the engine answered {response.status}")
        self.response = response
