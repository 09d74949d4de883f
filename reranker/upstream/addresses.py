"""Reads a store's address: a folder, or an engine's URL with one or several nodes. Shown addresses have no
credentials."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import regex

from reranker.base.errors import WrongParameter

Distribution = Literal["opensearch", "elasticsearch"]

# A scheme has two letters at least: `C:\...` is a folder.
_SCHEME = regex.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://")

# `user:password@` without a scheme; no folder would be meant by it.
_CREDENTIALS = regex.compile(r"[^/\\]*:[^/\\].*@")
_HOSTS_AND_PORTS = regex.compile(r"[\w.\-]+:[0-9]{1,5}(,[\w.\-]+:[0-9]{1,5})*")

# Of ASCII, without blanks. A ',' comes before another node, and an '@' behind a password that has a '/'.
_PREFIX = regex.compile(r"[!-+\--?A-~]*")

_FORMS = (
    "opensearch://HOST:PORT, elasticsearch://HOST:PORT, opensearch+https://HOST:PORT, elasticsearch+https://HOST:PORT, "
    "http://HOST:PORT, https://HOST:PORT or a folder; name several nodes of one cluster as opensearch://A:9200,B:9200"
)

# If no node is up, a request tries all of them, one after another.
_MAX_NODES = 32

_SCHEMES: dict[str, tuple[bool, Distribution | None]] = {
    "opensearch": (False, "opensearch"),
    "opensearch+https": (True, "opensearch"),
    "elasticsearch": (False, "elasticsearch"),
    "elasticsearch+https": (True, "elasticsearch"),
    "http": (False, None),
    "https": (True, None),
}


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """The address of a node; `redacted` has no credentials."""

    host: str
    port: int
    redacted: str


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """The address of an engine.

    Attributes:
        nodes: of one cluster, at least one; requests try them in this order.
        use_tls: whether to use HTTPS.
        prefix: of the path, if the engine is behind another server.
        distribution: if the scheme names it; None to ask the engine.
        redacted: the address without credentials.
    """

    nodes: tuple[NodeAddress, ...]
    use_tls: bool
    prefix: str
    distribution: Distribution | None
    redacted: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def with_credentials(self, username: str | None, password: str | None) -> EngineAddress:
        """Returns the address with these credentials in place of its own."""
        if username is None and password is None:
            return self
        return replace(self, username=username or self.username, password=password or self.password)


def is_engine(address: str) -> bool:
    """Whether an address is an engine's, not a folder."""
    return isinstance(read_address(address), EngineAddress)


def read_address(address: str) -> EngineAddress | Path:
    """Returns the engine's address, or the folder.

    Raises:
        WrongParameter: the address is empty or no URL, its scheme is unknown, or it has none and is a host and port or
            has credentials.
    """
    scheme = _SCHEME.match(address)
    if scheme is None:
        if not address.strip() or "\0" in address:
            raise WrongParameter(f"the store's address is {address!r}; give {_FORMS}")
        if _CREDENTIALS.match(address):
            raise WrongParameter(f"the store's address has credentials and no scheme before them; give {_FORMS}")
        if _HOSTS_AND_PORTS.fullmatch(address):
            raise WrongParameter(
                f"the store's address {address!r} does not say what it is; give opensearch://{address}, "
                f"elasticsearch://{address}, or ./{address} for a folder"
            )
        return Path(address)
    known = _SCHEMES.get(scheme.group(1).lower())
    if known is None:
        raise WrongParameter(f"a store's address cannot begin with {scheme.group()!r}; give {_FORMS}")
    return _engine_address(address, scheme.group(), *known)


def _engine_address(address: str, scheme: str, use_tls: bool, distribution: Distribution | None) -> EngineAddress:
    """Reads `scheme` + `[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/PREFIX]`."""
    authority, slash, path = address.removeprefix(scheme).partition("/")
    credentials, at, hosts = authority.rpartition("@")
    if "@" in credentials and "," in credentials:
        raise WrongParameter(
            f"the store's address begins with {scheme!r} and has credentials at two nodes; give them once, before the "
            f"first node, and write an '@' of a password as %40"
        )
    prefix = (slash + path).rstrip("/")
    default_port = 443 if scheme.lower() == "https://" else 9200
    try:
        found = dict.fromkeys(_host_and_port(host, default_port) for host in hosts.split(","))
    except ValueError:
        found = {}
    if not 1 <= len(found) <= _MAX_NODES or "?" in address or "#" in address:
        # The address itself is left out: it may hold a password.
        raise WrongParameter(f"the store's address begins with {scheme!r} but is not an engine's URL; give {_FORMS}")
    if not _PREFIX.fullmatch(prefix):
        raise WrongParameter(
            f"the store's address begins with {scheme!r}, and its path has a ',', an '@', a blank or a letter beyond "
            f"ASCII; name all nodes before the path, and percent-encode the rest: a '/' of a password is %2F; give "
            f"{_FORMS}"
        )
    displayed = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in found]
    username, colon, password = credentials.partition(":")
    return EngineAddress(
        nodes=tuple(
            NodeAddress(host, port, f"{scheme}{name}{prefix}")
            for (host, port), name in zip(found, displayed, strict=True)
        ),
        use_tls=use_tls,
        prefix=prefix,
        distribution=distribution,
        redacted=f"{scheme}{','.join(displayed)}{prefix}",
        username=unquote(username) if at else None,
        password=unquote(password) if colon else None,
    )


def _host_and_port(text: str, default_port: int) -> tuple[str, int]:
    """Reads HOST or HOST:PORT.

    Raises:
        ValueError: the text is neither.
    """
    parts = urlsplit(f"//{text}")
    if not parts.hostname or parts.netloc != text or parts.port == 0 or text.endswith(":") or regex.search(r"\s", text):
        raise ValueError(text)
    host = parts.hostname.encode("idna").decode()  # as it is looked up, and sent in `Host`
    return host, parts.port or default_port
