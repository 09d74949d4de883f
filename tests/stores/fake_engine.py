"""A server that answers as it is told: for failures that a real engine does not show on request."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, str, str], tuple[int, Any]]


class FakeEngine:
    """Answers each request with `answer(method, path, body)`, a status and what to send as JSON (bytes as they are);
    keeps the headers of all."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None) -> None:
        self.headers: list[dict[str, str]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or a body waits 40 ms for its headers to be confirmed

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                fake.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, content = answer(self.command, self.path, body)
                if status == 0:
                    self.close_connection = True
                    return
                sent = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "text/html" if isinstance(content, bytes) else "application/json")
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"


@contextmanager
def serve(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[FakeEngine]:
    fake = FakeEngine(answer, tls)
    fake.server.handle_error = lambda *arguments: None  # type: ignore[method-assign]
    thread = threading.Thread(target=fake.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield fake
    finally:
        fake.server.shutdown()
        thread.join()
        fake.server.server_close()
