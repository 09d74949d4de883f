"""An engine that answers at once: it asks a real engine the first time, and then repeats the recorded bytes.

So a measurement in front of it shows the proxy's work, without the engine's.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection

import urllib3

_HEADERS_DROPPED = frozenset(["content-length", "transfer-encoding", "connection"])


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
        self._answers: dict[tuple[str, str, bytes], bytes] = {}

    def answer(self, method: str, target: str, headers: Message, body: bytes) -> bytes:
        """The bytes of the answer to a request."""
        found = self._answers.get((method, target, body))
        if found is None:
            found = self._answers[method, target, body] = self._ask(method, target, headers, body)
        return found

    def _ask(self, method: str, target: str, headers: Message, body: bytes) -> bytes:
        sent = {name: value for name, value in headers.items() if name.lower() not in ("host", "content-length")}
        answer = self._http.request(
            method, self._engine + target, body=body or None, headers=sent, decode_content=False
        )
        remaining = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HEADERS_DROPPED]
        remaining.append(("content-length", answer.headers.get("content-length", str(len(answer.data)))))
        head = "".join(f"{name}: {value}\r\n" for name, value in remaining)
        return f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode("latin-1") + answer.data


def _serve(engine: str, started: Connection) -> None:
    recorder = Recorder(engine)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            self.wfile.write(recorder.answer(self.command, self.path, self.headers, body))

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        started.send(server.server_port)
        server.serve_forever()
