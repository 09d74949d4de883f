"""Checks that a Ray cluster answers at an address, since Ray itself tries for 40 seconds before it gives up."""

from __future__ import annotations

import re
import socket

from reranker.base.errors import BadInput

# A host accepts within milliseconds; a firewall that drops packets never refuses.
_TIMEOUT_S = 5.0

_CLIENT_SCHEME = "ray://"
# Default ports of a cluster's head (`ray start --head`) and of its server for clients.
_HEAD_PORT, _CLIENT_PORT = 6379, 10001

# Addresses that Ray resolves by itself, and schemes of its plug-ins.
_WITHOUT_HOST = re.compile(r"auto|local|(?!ray://)[A-Za-z][A-Za-z0-9+.-]*://.*")
_HOST_AND_PORT = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.%]+)\]|(?P<host>[^\s:/\[\]]+))(?::(?P<port>\d{1,5}))?/?")


def check_ray_address(address: str) -> None:
    """Returns if the address names no host, or if its host accepts a connection.

    Args:
        address: `auto`, `local`, `HOST:6379` or `ray://HOST:10001`.

    Raises:
        BadInput: another form of address, or nothing answers within 5 seconds.
    """
    if _WITHOUT_HOST.fullmatch(address):
        return
    host, port = _host_and_port(address)
    try:
        socket.create_connection((host, port), timeout=_TIMEOUT_S).close()
    except OSError as error:
        raise BadInput(
            f"no Ray cluster answers at {address} (port {port} of {host}: {error}); start one there with `ray start "
            f"--head`, or check --ray"
        ) from error


def _host_and_port(address: str) -> tuple[str, int]:
    is_client = address.startswith(_CLIENT_SCHEME)
    found = _HOST_AND_PORT.fullmatch(address.removeprefix(_CLIENT_SCHEME))
    port = int((found and found["port"]) or (_CLIENT_PORT if is_client else _HEAD_PORT))
    if found is None or not 0 < port < 65_536:
        raise BadInput(
            f"--ray is {address!r}; give local, auto, HOST:{_HEAD_PORT} or {_CLIENT_SCHEME}HOST:{_CLIENT_PORT}"
        )
    return found["ipv6"] or found["host"], port
