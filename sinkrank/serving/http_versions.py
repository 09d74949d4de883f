"""Refuses requests of other versions than HTTP/1.0 and HTTP/1.1 with 400, as engines do, and closes the connection.

waitress takes a request line without a version (HTTP/0.9), or with another one, for HTTP/1.0.
"""

from __future__ import annotations

from waitress.parser import HTTPRequestParser, ParsingError

_VERSIONS = ("1.0", "1.1")


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """waitress's, with one more check."""

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        if self.version not in _VERSIONS:
            raise ParsingError("The request line names no version of HTTP that is served here: use HTTP/1.1")
