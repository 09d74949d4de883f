"""One file over HTTPS: whole or not at all, whatever the server does."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ingest.fetching.https import fetch_file
from reranker.base.errors import FetchFailed
from tests.support.listening import closed_port
from tests.support.tls_server import Answer, TlsServer, certificates, page, redirect, send, status, tls_server

__all__ = ["certificates", "tls_server"]

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")

CONTENT = bytes(range(256)) * 1_000  # 256,000 bytes: several reads


class Fetched(NamedTuple):
    folder: Path
    server: TlsServer

    def __call__(self, **options: Any) -> Path:
        return fetch_file(f"{self.server.url}/v.vec", self.folder / "v.vec", **options)


@pytest.fixture
def fetched(tmp_path: Path, tls_server: TlsServer) -> Fetched:
    return Fetched(tmp_path, tls_server)


def test_a_file_is_fetched_once(fetched: Fetched) -> None:
    fetched.server.answers |= {"/v.vec": redirect("/there"), "/there": page(CONTENT)}
    told: list[tuple[int, int | None]] = []
    assert fetched(progress=lambda done, total, description: told.append((done, total))).read_bytes() == CONTENT
    assert told[-1] == (256_000, 256_000)
    fetched()
    assert {path.name for path in fetched.folder.iterdir()} == {"v.vec"}
    assert [path for path, _ in fetched.server.asked] == ["/v.vec", "/there"]


def answer(headers: dict[str, str], body: bytes = b"") -> Answer:
    return lambda handler: send(handler, 200, headers, body)


REFUSED = {
    "a web page": (page(b"x", content_type="text/html; charset=utf-8"), "the server sent a web page"),
    "not found": (status(404), "404 Client Error"),
    "without encryption": (redirect("http://localhost:1/v.vec"), "No connection adapters were found for 'http://"),
    "cut": (answer({"Content-Length": "9"}, b"x"), "IncompleteRead"),
    "cut in chunks": (
        answer({"Transfer-Encoding": "chunked"}, b"5\r\nabcde\r\n5\r\nab"),
        "Response ended prematurely|InvalidChunkLength|IncompleteRead",
    ),
}


@pytest.mark.parametrize(("reply", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_the_file_is_refused_and_leaves_nothing(fetched: Fetched, reply: Answer, said: str) -> None:
    fetched.server.answers["/v.vec"] = reply
    with pytest.raises(FetchFailed, match=said) as raised:
        fetched()
    assert f"fetch it by hand, put it at {fetched.folder / 'v.vec'}" in str(raised.value)
    assert list(fetched.folder.iterdir()) == []


def test_a_server_that_falls_silent_is_given_up(fetched: Fetched) -> None:
    done = threading.Event()

    def silent(handler: Any) -> None:
        send(handler, 200, {"Content-Length": "9"}, b"x")
        handler.wfile.flush()
        done.wait()

    fetched.server.answers["/v.vec"] = silent
    with pytest.raises(FetchFailed, match="timed out"):
        fetched(timeout_s=0.5)
    done.set()


def test_a_server_of_an_unknown_authority_is_refused(fetched: Fetched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(FetchFailed, match="certificate verify failed"):
        fetched()


def test_the_proxy_of_the_environment_is_asked_and_its_password_not_told(
    fetched: Fetched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{closed_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    fetched.server.answers["/v.vec"] = page(CONTENT)
    with pytest.raises(FetchFailed, match=r"[Cc]onnection refused.*Check the network") as raised:
        fetched()
    assert "secret" not in str(raised.value)
    monkeypatch.setenv("NO_PROXY", "localhost")
    assert fetched().read_bytes() == CONTENT
