"""An engine that answers at once: it asks a real engine the first time, and then repeats the recorded bytes.

So a measurement in front of it shows the proxy's work, without the engine's.
"""

from __future__ import annotations

import multiprocessing
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

import urllib3

_HEADERS_DROPPED = frozenset(["content-length", "transfer-encoding", "connection"])
_READ_BYTES = 1 << 16


@contextmanager
def recorded(engine: str) -> Iterator[str]:
    """Runs a recorder in a separate process; its address, `host:port`.

    Args:
        engine: `http://host:port` of the real engine.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(engine, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield f"127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


class Recorder:
    """The recorded answers by method, target and body. Thread-safe."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._http = urllib3.PoolManager(retries=False)
        self._answers: dict[tuple[bytes, bytes], bytes] = {}

    def answer(self, line: bytes, headers: dict[str, str], body: bytes) -> bytes:
        """The bytes of the answer to a request line and a body."""
        found = self._answers.get((line, body))
        if found is None:
            found = self._answers[line, body] = self._ask(line, headers, body)
        return found

    def _ask(self, line: bytes, headers: dict[str, str], body: bytes) -> bytes:
        method, target, _ = line.decode("latin-1").split(" ", 2)
        sent = {name: value for name, value in headers.items() if name not in ("host", "content-length")}
        answer = self._http.request(
            method, self._engine + target, body=body or None, headers=sent, decode_content=False
        )
        kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HEADERS_DROPPED]
        kept.append(("content-length", answer.headers.get("content-length", str(len(answer.data)))))
        head = "".join(f"{name}: {value}\r\n" for name, value in kept)
        return f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode("latin-1") + answer.data


def _serve(engine: str, started: Connection) -> None:
    recorder = Recorder(engine)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        started.send(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_answer_all, args=(connection, recorder), daemon=True).start()


def _answer_all(connection: socket.socket, recorder: Recorder) -> None:
    """Answers the requests of one connection, one after the other."""
    data = b""
    with connection, suppress(OSError):
        while True:
            while b"\r\n\r\n" not in data:
                if not (read := connection.recv(_READ_BYTES)):
                    return
                data += read
            head, _, data = data.partition(b"\r\n\r\n")
            line, *others = head.split(b"\r\n")
            headers = dict(_header(other) for other in others)
            n_bytes = int(headers.get("content-length", 0))
            while len(data) < n_bytes:
                data += connection.recv(_READ_BYTES)
            body, data = data[:n_bytes], data[n_bytes:]
            connection.sendall(recorder.answer(line, headers, body))


def _header(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("latin-1").partition(":")
    return name.strip().lower(), value.strip()
