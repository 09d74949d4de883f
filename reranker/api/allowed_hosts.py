"""Refuses requests that a web page of another site makes through a reader's browser.

DNS rebinding: a site lets its own name resolve to 127.0.0.1, so that its pages share an origin with a service there.
The browser still sends that name as `Host`, which is refused.

Cross-site requests: a page may send a simple `POST` anywhere (https://fetch.spec.whatwg.org/#simple-header), and the
browser asks nobody first. All other methods and content types need a preflight, which the engine's own CORS settings
answer. Clients that are no browsers send no `Origin`, and are served.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import regex

from reranker.base.errors import BadInput
from reranker.service.settings import Settings

# A name or IPv4 address, or an IPv6 address in brackets; then a port.
_HOST = regex.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@/\s,]+))(?::[0-9]*)?")
_SIMPLE_TYPES = frozenset(["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
_MAX_ECHOED_CHARS = 80


class AllowedHosts:
    """The hosts that the service answers to; read once from the settings."""

    def __init__(self, settings: Settings) -> None:
        named = [one.lower() for one in settings.allowed_hosts]
        own = settings.host.lower()
        self._is_local = is_local(own)
        self._takes_any = "*" in named or not (named or self._is_local)
        self._origins = frozenset(named)
        self._names = self._origins | {own, "localhost"}

    def check(self, environ: Mapping[str, Any]) -> None:
        """
        Raises:
            BadInput: `host_not_allowed` or `origin_not_allowed`; the message names the setting.
        """
        # HTTP/1.0 has no host, and browsers always send one.
        host = environ.get("HTTP_HOST", "").strip()
        if host and not self.takes_host(host):
            raise BadInput(
                f"this service does not answer to the host {host[:_MAX_ECHOED_CHARS]!r}; add its name to the setting "
                "allowed_hosts, or use localhost",
                http_status=421,
                code="host_not_allowed",
            )
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and _is_simple_post(environ) and not self.takes_origin(origin, host):
            raise BadInput(
                f"a page of {origin[:_MAX_ECHOED_CHARS]!r} may not send this request; send it as application/json, or "
                "add the page's host to the setting allowed_hosts",
                http_status=403,
                code="origin_not_allowed",
            )

    def takes_host(self, host: str) -> bool:
        """Whether a `Host` header is answered. IP addresses cannot be rebound; of these a loopback service takes its
        own and the loopback ones."""
        if self._takes_any:
            return True
        name = _name_of(host)
        return name in self._names or _is_loopback(name) or (not self._is_local and _is_address(name))

    def takes_origin(self, origin: str, host: str) -> bool:
        """Whether pages of an origin may send what a browser does not ask about: our own, and those of the setting."""
        if "*" in self._origins:
            return True
        try:
            authority = urlsplit(origin).netloc.lower()
        except ValueError:
            return False
        return bool(authority) and (authority == host.lower() or _name_of(authority) in self._origins)


def is_local(host: str) -> bool:
    """Whether a service that listens there is reached from its own machine alone. A name may stand for a loopback
    address: on Debian the machine's own is 127.0.1.1."""
    with suppress(OSError, UnicodeError):
        host = socket.gethostbyname(host)
    return host.lower() == "localhost" or _is_loopback(host)


def _is_simple_post(environ: Mapping[str, Any]) -> bool:
    mimetype = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    return environ["REQUEST_METHOD"] == "POST" and mimetype in _SIMPLE_TYPES


def _name_of(host: str) -> str:
    """The name or address in a `Host` header in lower case, without brackets and port; empty where there is none."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower().removesuffix(".") if found else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_address(name) and ipaddress.ip_address(name).is_loopback
