"""Reads a store's address: a folder, or an engine's URL, whose credentials are kept apart from what is shown."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, unquote, urlsplit

import regex

from reranker.base.errors import WrongParameter

Distribution = Literal["opensearch", "elasticsearch"]

# A scheme has two letters at least: `C:\...` is a folder.
_SCHEME = regex.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://")

_HOST_AND_PORT = regex.compile(r"[\w.\-]+:[0-9]{1,5}")

_FORMS = (
    "opensearch://HOST:PORT, elasticsearch://HOST:PORT, opensearch+https://HOST:PORT, elasticsearch+https://HOST:PORT, "
    "http://HOST:PORT, https://HOST:PORT or a folder"
)

_SCHEMES: dict[str, tuple[bool, Distribution | None]] = {
    "opensearch": (False, "opensearch"),
    "opensearch+https": (True, "opensearch"),
    "elasticsearch": (False, "elasticsearch"),
    "elasticsearch+https": (True, "elasticsearch"),
    "http": (False, None),
    "https": (True, None),
}


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """Where an engine listens.

    Attributes:
        use_tls: HTTPS or HTTP.
        prefix: path before the engine's own, where it stands behind another server.
        distribution: where the scheme names it; None to ask the engine.
        shown: the address without credentials.
    """

    host: str
    port: int
    use_tls: bool
    prefix: str
    distribution: Distribution | None
    shown: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def with_credentials(self, username: str | None, password: str | None) -> EngineAddress:
        """The address with credentials that go before its own."""
        if username is None and password is None:
            return self
        return replace(self, username=username or self.username, password=password or self.password)


def is_engine(address: str) -> bool:
    """Whether an address is that of an engine; else it is a folder."""
    return isinstance(read_address(address), EngineAddress)


def read_address(address: str) -> EngineAddress | Path:
    """The engine's address, or the folder.

    Raises:
        WrongParameter: it is empty, of an unknown scheme, no URL, or a host and port without a scheme.
    """
    scheme = _SCHEME.match(address)
    if scheme is None:
        if not address.strip() or "\0" in address:
            raise WrongParameter(f"the store's address is {address!r}; give {_FORMS}")
        if _HOST_AND_PORT.fullmatch(address):
            raise WrongParameter(
                f"the store's address {address!r} does not say what it is; give opensearch://{address}, "
                f"elasticsearch://{address}, or ./{address} for a folder"
            )
        return Path(address)
    known = _SCHEMES.get(scheme.group(1).lower())
    if known is None:
        raise WrongParameter(f"a store's address cannot begin with {scheme.group()!r}; give {_FORMS}")
    use_tls, distribution = known
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, SplitResult("", "", "", "", "")
    if not host or parts.query or parts.fragment:
        # The address itself is left out: it may hold a password.
        raise WrongParameter(
            f"the store's address begins with {scheme.group()!r} but is no URL of an engine; give {_FORMS}"
        )
    port = port or (443 if scheme.group(1).lower() == "https" else 9200)
    prefix = parts.path.rstrip("/")
    bracketed = f"[{host}]" if ":" in host else host
    return EngineAddress(
        host=host,
        port=port,
        use_tls=use_tls,
        prefix=prefix,
        distribution=distribution,
        shown=f"{scheme.group()}{bracketed}:{port}{prefix}",
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
    )
