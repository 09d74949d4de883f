"""A relay for TCP connections on this machine that delays, holds, cuts and resets them."""

from __future__ import annotations

import selectors
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

_BLOCK = 16_384
_DRIP_BYTES = 64


@dataclass
class Fault:
    """The fault of connections. It may be changed while they are open.

    Attributes:
        kind: `pass`; `delay` (waits `seconds` before each block of an answer); `hold` (answers nothing and keeps the
            connection); `close` or `reset` (ends the connection after `n_bytes` of an answer); `refuse` (ends new
            connections at once); `drip` (64 bytes of the answer every `seconds`).
    """

    kind: str = "pass"
    seconds: float = 0.0
    n_bytes: int = 0


@dataclass
class Relay:
    """A running relay.

    Attributes:
        n_connections: number of connections accepted so far.
        n_faults: number of connections that a fault ended.
    """

    port: int
    fault: Fault = field(default_factory=Fault)
    n_connections: int = 0
    n_faults: int = 0


@contextmanager
def relaying(target_port: int, host: str = "127.0.0.1", port: int = 0) -> Iterator[Relay]:
    """Relays `host` (any loopback address) to a port of 127.0.0.1."""
    with socket.create_server((host, port), backlog=200) as listener:
        relay = Relay(listener.getsockname()[1])
        ended = threading.Event()
        listener.settimeout(0.1)
        accepting = threading.Thread(target=_accept, args=(listener, target_port, relay, ended), daemon=True)
        accepting.start()
        try:
            yield relay
        finally:
            ended.set()
            accepting.join()


def _accept(listener: socket.socket, target_port: int, relay: Relay, ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            client, _ = listener.accept()
        except TimeoutError:
            continue
        relay.n_connections += 1
        if relay.fault.kind == "refuse":
            relay.n_faults += 1
            client.close()
            continue
        threading.Thread(target=_relay, args=(client, target_port, relay, ended), daemon=True).start()


def _relay(client: socket.socket, target_port: int, relay: Relay, ended: threading.Event) -> None:
    with closing(client), suppress(OSError), socket.create_connection(("127.0.0.1", target_port)) as server:
        _pump(client, server, relay, ended)


def _pump(client: socket.socket, server: socket.socket, relay: Relay, ended: threading.Event) -> None:
    """Passes bytes both ways until one side or a fault ends the connection."""
    n_answered, is_holding = 0, False
    with selectors.DefaultSelector() as selector:
        selector.register(client, selectors.EVENT_READ)
        selector.register(server, selectors.EVENT_READ)
        while not ended.is_set():
            is_holding = relay.fault.kind == "hold"
            ready = [key.fileobj for key, _ in selector.select(0.2)]
            if client in ready:
                if not (part := client.recv(_BLOCK)):
                    return
                n_answered = 0
                server.sendall(part)
            if server in ready and is_holding:
                time.sleep(0.05)
            elif server in ready:
                fault = relay.fault
                if not (part := server.recv(_BLOCK)):
                    return
                if fault.kind in ("close", "reset") and n_answered + len(part) > fault.n_bytes:
                    client.sendall(part[: max(0, fault.n_bytes - n_answered)])
                    relay.n_faults += 1
                    if fault.kind == "reset":
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                n_answered += len(part)
                _send(client, part, fault, ended)


def _send(client: socket.socket, part: bytes, fault: Fault, ended: threading.Event) -> None:
    if fault.kind == "drip":
        for place in range(0, len(part), _DRIP_BYTES):
            client.sendall(part[place : place + _DRIP_BYTES])
            if ended.wait(fault.seconds):
                return
        return
    if fault.kind == "delay":
        ended.wait(fault.seconds)
    client.sendall(part)
