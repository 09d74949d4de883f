"""An HTTPS server on this machine, with a certificate authority of its own, which answers as a test says."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.certificates import make_certificates

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@dataclass
class TlsServer:
    """
    Attributes:
        url: `https://localhost:PORT`.
        answers: what does the answering, by path.
        asked: (path, headers) of each request.
    """

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or a body waits 40 ms for its headers to be confirmed
    served: TlsServer

    def do_GET(self) -> None:
        self.served.asked.append((self.path, dict(self.headers)))
        self.close_connection = True
        answer = self.served.answers.get(self.path, status(404))
        answer(self)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is meant."""


@contextmanager
def serving(certificate: Path, key: Path) -> Iterator[TlsServer]:
    """Serves until the end of the block."""
    served = TlsServer()
    handler = type("Handler", (_Handler,), {"served": served})
    with _Server(("127.0.0.1", 0), handler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        served.url = f"https://localhost:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, and what it signed for a node and a client: see `make_certificates`."""
    folder = tmp_path_factory.mktemp("tls")
    make_certificates(folder, "node", "client")
    return folder


def demanding_client(certificates: Path) -> ssl.SSLContext:
    """The TLS context of a node that answers clients with a certificate of the authority alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "node.pem", certificates / "node.key")
    context.load_verify_locations(certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.fixture
def tls_server(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TlsServer]:
    """A server that this process trusts, asked without a proxy."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(certificates / "node.pem", certificates / "node.key") as served:
        yield served


# Answers


def send(handler: http.server.BaseHTTPRequestHandler, code: int, headers: dict[str, str], body: bytes = b"") -> None:
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def status(code: int) -> Answer:
    return lambda handler: send(handler, code, {"Content-Length": "0"})


def redirect(to: str) -> Answer:
    return lambda handler: send(handler, 302, {"Location": to, "Content-Length": "0"})


def page(content: bytes, *, content_type: str = "application/octet-stream") -> Answer:
    headers = {"Content-Type": content_type, "Content-Length": str(len(content))}
    return lambda handler: send(handler, 200, headers, content)
