"""One file over HTTPS: whole or not at all, whatever the server does."""

from __future__ import annotations

import hashlib
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ingest.fetching.https import Limits, fetch_file
from reranker.base.errors import FetchFailed
from tests.support.listening import closed_port
from tests.support.tls_server import TlsServer, authority, cut, in_turn, page, redirect, send, status, tls_server

__all__ = ["authority", "tls_server"]

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")

CONTENT = bytes(range(256)) * 1_000  # 256,000 bytes: several reads
DIGEST = hashlib.sha256(CONTENT).hexdigest()
SMALL = Limits(max_bytes=1_000_000)


class Fetched(NamedTuple):
    folder: Path
    server: TlsServer
    waits: list[float]

    def __call__(self, path: str = "/v.vec", **options: Any) -> Path:
        options = {"limits": SMALL, "sleep": self.waits.append} | options
        return fetch_file(f"{self.server.url}{path}", self.folder / "v.vec", **options)

    def left(self) -> set[str]:
        """The files in the folder, and beside it."""
        assert {path.name for path in self.folder.parent.iterdir()} == {"vectors"}
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture
def fetched(tmp_path: Path, tls_server: TlsServer) -> Fetched:
    folder = tmp_path / "home" / "vectors"
    folder.mkdir(parents=True)
    return Fetched(folder, tls_server, [])


def test_a_file_is_fetched_once(fetched: Fetched) -> None:
    fetched.server.answers["/v.vec"] = page(CONTENT)
    assert fetched(sha256=DIGEST, n_bytes=len(CONTENT)).read_bytes() == CONTENT
    fetched()
    assert fetched.left() == {"v.vec"}
    assert len(fetched.server.asked) == 1


def test_progress_ends_at_the_size(fetched: Fetched) -> None:
    fetched.server.answers["/v.vec"] = page(CONTENT)
    told: list[tuple[int, int | None]] = []
    fetched(progress=lambda done, total, description: told.append((done, total)))
    assert told[-1] == (256_000, 256_000)
    assert told == sorted(told)


def test_a_fetch_that_is_cut_goes_on_where_it_was(fetched: Fetched) -> None:
    fetched.server.answers["/v.vec"] = in_turn(cut(CONTENT, 100_000), page(CONTENT))
    assert fetched(sha256=DIGEST).read_bytes() == CONTENT
    assert fetched.server.ranges() == [None, "bytes=100000-"]
    assert fetched.server.asked[1][1]["If-Range"] == '"1"'


def test_a_file_that_has_changed_meanwhile_is_fetched_anew(fetched: Fetched) -> None:
    other = CONTENT[::-1]
    fetched.server.answers["/v.vec"] = in_turn(cut(CONTENT, 100_000), page(other, tag='"2"'))
    assert fetched().read_bytes() == other


@pytest.mark.parametrize("tag", ["", 'W/"1"'])
def test_without_a_strong_validator_a_file_is_fetched_anew(fetched: Fetched, tag: str) -> None:
    fetched.server.answers["/v.vec"] = in_turn(cut(CONTENT, 100_000, tag=tag), page(CONTENT))
    assert fetched().read_bytes() == CONTENT
    assert fetched.server.ranges() == [None, None]


def test_another_part_than_the_one_asked_for_is_not_taken(fetched: Fetched) -> None:
    wrong = {"Content-Range": "bytes 5-9/256000", "Content-Length": "5", "ETag": '"1"'}
    fetched.server.answers["/v.vec"] = in_turn(
        cut(CONTENT, 100_000), lambda handler: send(handler, 206, wrong, b"xxxxx")
    )
    with pytest.raises(FetchFailed, match="the server answers 206"):
        fetched()


@pytest.mark.parametrize("code", [429, 503])
def test_a_busy_server_is_asked_again_when_it_says(fetched: Fetched, code: int) -> None:
    fetched.server.answers["/v.vec"] = in_turn(status(code, retry_after="7"), status(code), page(CONTENT))
    assert fetched().read_bytes() == CONTENT
    asked_for, own = fetched.waits
    assert asked_for == 7
    assert 1 <= own <= 2  # between half and all of the second wait


def test_a_server_that_asks_for_hours_is_not_waited_for(fetched: Fetched) -> None:
    fetched.server.answers["/v.vec"] = status(429, retry_after="7200")
    with pytest.raises(FetchFailed, match="asks to wait 7,200 s; try again later"):
        fetched()
    assert fetched.waits == []


REFUSED = {
    "wrong checksum": (page(CONTENT[:-1] + b"x"), {"sha256": DIGEST}, "has the sha256 .*, expected"),
    "another size": (page(CONTENT), {"n_bytes": 5}, "the server has 256,000 bytes, and the file has 5"),
    "too large": (page(b"x" * 1_000_001), {}, "1,000,001 bytes; the limit is 1,000,000"),
    "a web page": (page(b"x", content_type="text/html; charset=utf-8"), {}, "the server sent a web page"),
    "not found": (status(404), {}, "the server answers 404"),
    "forbidden": (status(403), {}, "the server answers 403"),
    "to http": (redirect("http://localhost/v.vec"), {}, "redirects to http://localhost; only https"),
    "to a file": (redirect("file:///etc/passwd"), {}, "redirects to file://"),
    "round and round": (redirect("/v.vec"), {}, "redirects more than 5 times"),
}


@pytest.mark.parametrize(("answer", "options", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_the_file_is_refused_and_leaves_nothing(
    fetched: Fetched, answer: Any, options: dict[str, Any], said: str
) -> None:
    fetched.server.answers["/v.vec"] = answer
    with pytest.raises(FetchFailed, match=said) as raised:
        fetched(**options)
    assert f"fetch it by hand, put it at {fetched.folder / 'v.vec'}" in str(raised.value)
    assert "v.vec" not in fetched.left()
    assert not any(path.stat().st_size for path in fetched.folder.glob("*.part"))


def test_redirects_that_stay_on_https_are_followed(fetched: Fetched) -> None:
    fetched.server.answers |= {"/v.vec": redirect("/there"), "/there": page(CONTENT)}
    assert fetched().read_bytes() == CONTENT


def test_a_server_that_always_cuts_is_given_up(fetched: Fetched) -> None:
    fetched.server.answers["/v.vec"] = lambda handler: send(handler, 200, {"Content-Length": "9"})
    with pytest.raises(FetchFailed, match="connection failed"):
        fetched()
    assert len(fetched.server.asked) == 4
    assert all(most / 2 <= wait <= most for wait, most in zip(fetched.waits, [1, 2, 4], strict=True))


def test_a_body_without_an_end_stops_at_the_limit(fetched: Fetched) -> None:
    def endless(handler: Any) -> None:
        send(handler, 200, {})
        while True:
            handler.wfile.write(b"x" * 65_536)

    fetched.server.answers["/v.vec"] = endless
    with pytest.raises(FetchFailed, match="more than 1,000,000 bytes"):
        fetched(sha256=DIGEST)
    assert fetched.left() == set()


def test_a_body_in_chunks_that_ends_too_early_is_not_taken_for_whole(fetched: Fetched) -> None:
    def chunks(handler: Any, end: bytes) -> None:
        send(handler, 200, {"Transfer-Encoding": "chunked"}, b"5\r\nabcde\r\n" + end)

    fetched.server.answers["/v.vec"] = lambda handler: chunks(handler, b"5\r\nab")
    with pytest.raises(FetchFailed, match="broke"):
        fetched()
    fetched.server.answers["/v.vec"] = lambda handler: chunks(handler, b"0\r\n\r\n")
    assert fetched().read_bytes() == b"abcde"


def test_a_body_whose_end_cannot_be_known_is_refused(fetched: Fetched) -> None:
    fetched.server.answers["/v.vec"] = lambda handler: send(handler, 200, {}, CONTENT)
    with pytest.raises(FetchFailed, match="does not send its size"):
        fetched()
    assert fetched(sha256=DIGEST).read_bytes() == CONTENT


def test_a_server_that_falls_silent_is_given_up(fetched: Fetched) -> None:
    def silent(handler: Any) -> None:
        send(handler, 200, {"Content-Length": "9"}, b"x")
        handler.wfile.flush()
        time.sleep(1.5)

    fetched.server.answers["/v.vec"] = silent
    with pytest.raises(FetchFailed, match="timed out"):
        fetched(limits=Limits(read_s=0.2, n_attempts=1))


def test_a_server_of_an_unknown_authority_is_refused(
    fetched: Fetched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(FetchFailed, match=r"TLS failed .*SSL_CERT_FILE"):
        fetched()


def test_without_a_network_the_cure_is_told(fetched: Fetched) -> None:
    with pytest.raises(FetchFailed, match=r"connection failed .*HTTPS_PROXY.* fetch it by hand"):
        fetch_file(f"https://localhost:{closed_port()}/v.vec", fetched.folder / "v.vec", sleep=fetched.waits.append)


def test_the_proxy_of_the_environment_is_asked_and_its_password_not_told(
    fetched: Fetched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{closed_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    fetched.server.answers["/v.vec"] = page(CONTENT)
    with pytest.raises(FetchFailed, match=r"connection failed .*proxy") as raised:
        fetched()
    assert "secret" not in str(raised.value)
    monkeypatch.setenv("NO_PROXY", "localhost")
    assert fetched().read_bytes() == CONTENT


@pytest.fixture
def proxy() -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that opens one tunnel: its port, and the head of the request for it."""
    heads: list[bytes] = []

    def pump(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65_536):
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)

    def tunnel() -> None:
        with suppress(OSError):
            caller, _ = bound.accept()
            heads.append(caller.recv(65_536))
            host, _, port = heads[0].split()[1].decode().partition(":")
            with caller, socket.create_connection((host, int(port))) as server:
                caller.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                back = threading.Thread(target=pump, args=(server, caller))
                back.start()
                pump(caller, server)
                back.join()

    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=tunnel, daemon=True)
        thread.start()
        yield bound.getsockname()[1], heads
    thread.join(5)


def test_a_file_comes_through_a_proxy_with_its_password(
    fetched: Fetched, monkeypatch: pytest.MonkeyPatch, proxy: tuple[int, list[bytes]]
) -> None:
    port, heads = proxy
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    fetched.server.answers["/v.vec"] = page(CONTENT)
    assert fetched().read_bytes() == CONTENT
    assert heads[0].startswith(b"CONNECT localhost:")
    # "me:secret" in base 64
    assert b"basic bwu6c2vjcmv0" in heads[0].lower()
    assert "Proxy-Authorization" not in fetched.server.asked[0][1]


def test_an_address_that_is_not_https_is_not_asked(fetched: Fetched) -> None:
    with pytest.raises(FetchFailed, match="only https"):
        fetch_file("http://localhost/v.vec", fetched.folder / "v.vec")
