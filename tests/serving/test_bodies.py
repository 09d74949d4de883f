"""Large request bodies, which lie in temporary files, do not fill the disk."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage

import pytest
import urllib3

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from sinkrank.serving.bodies import Room, room_bytes
from sinkrank.serving.server import Server, bind
from tests.serving.engines import connected, engine, is_closed_in_time
from tests.support.service import running
from tests.support.waiting import PATIENCE_S, wait_until

ROOM_BYTES = 2_500_000
BODY = json.dumps(
    {"query": "cat", "documents": ["chat"], "language": "en", "document_languages": "fr", "ignored": "a" * 1_000_000}
).encode()
# A megabyte of one and a half.
STALLED = b"POST /a/_bulk HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1500000\r\n\r\n" + bytes(1_000_000)


@pytest.fixture
def server(tmp_path: Path, embeddings: Embeddings) -> Iterator[Server]:
    with engine() as one:
        settings = Settings(home=tmp_path, threads=1, store=one.url)
        server = Server(create_app(settings, None, embeddings), settings, bind("127.0.0.1", 0))
        server.body_room = Room(ROOM_BYTES)
        yield server


def post(url: str, body: bytes, is_chunked: bool = False) -> urllib3.BaseHTTPResponse:
    sent = iter([body]) if is_chunked else body
    headers = {"Content-Type": "application/json"}
    return urllib3.request("POST", url, body=sent, headers=headers, timeout=PATIENCE_S, retries=False)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_for_which_there_is_no_room_is_refused_and_slow_senders_make_room(
    server: Server, is_chunked: bool
) -> None:
    with running(server) as url, connected(url, 2, STALLED) as stalled:
        wait_until(lambda: server.body_room.n_taken == 2_000_000, "two bodies take room")
        refused = post(f"{url}/v1/rerank", BODY, is_chunked)
        of_engine = post(f"{url}/a/_bulk", BODY, is_chunked)
        small = post(f"{url}/v1/rerank", BODY.replace(b"a" * 1_000_000, b""), is_chunked)
        assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
        assert "request bodies take all the disk space" in refused.json()["message"]
        assert (of_engine.status, of_engine.headers["Retry-After"]) == (429, "1")
        assert of_engine.json()["error"]["type"] == "rejected_execution_exception"
        assert small.status == 200  # it stays in memory

        def is_taken() -> bool:
            return post(f"{url}/v1/rerank", BODY, is_chunked).status == 200

        wait_until(is_taken, "those that send nothing are disconnected")
        assert all(is_closed_in_time(one) for one in stalled)
        wait_until(lambda: server.body_room.n_taken == 0, "all room is free again")


def test_a_connection_goes_on_after_a_body_was_refused(server: Server) -> None:
    with running(server) as url, connected(url, 2, STALLED), urllib3.HTTPConnectionPool(url[7:]) as pool:
        wait_until(lambda: server.body_room.n_taken == 2_000_000, "two bodies take room")
        statuses = [
            pool.request("POST", "/v1/rerank", body=body, timeout=PATIENCE_S, retries=False).status
            for body in (BODY, BODY.replace(b"a" * 1_000_000, b""))
        ]
        assert statuses == [429, 200]
        assert pool.num_connections == 1


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("n_bytes", [0, ROOM_BYTES])
def test_a_body_that_cannot_be_written_to_a_file_is_refused_and_the_connection_goes_on(
    server: Server,
    n_bytes: int,
    is_chunked: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As on a read-only disk, where there is no room, or where the process may open no more files."""
    server.body_room = Room(n_bytes)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with running(server) as url, urllib3.HTTPConnectionPool(url[7:]) as pool:
        for body, status in ((BODY, 429), (BODY.replace(b"a" * 1_000_000, b""), 200)):
            sent = [body[:600_000], body[600_000:]] if is_chunked else body
            answer = pool.request("POST", "/v1/rerank", body=sent, timeout=PATIENCE_S, retries=False)
            assert answer.status == status
            assert status == 200 or "TMPDIR" in answer.json()["message"]
        assert pool.num_connections == 1
    assert server.body_room.n_taken == 0
    assert not [record for record in caplog.records if record.exc_info]


def test_what_a_client_has_sent_is_removed_when_it_leaves(server: Server) -> None:
    with running(server) as url:
        with connected(url, 2, STALLED):
            wait_until(lambda: server.body_room.n_taken == 2_000_000, "two bodies take room")
        wait_until(lambda: server.body_room.n_taken == 0, "the room is free again")


def test_the_room_is_two_of_the_largest_bodies_or_a_share_of_the_disk() -> None:
    assert room_bytes(1_000, n_processes=1) == 2_000
    half = disk_usage(tempfile.gettempdir()).free // 2
    # Others write to the disk too.
    assert room_bytes(half, n_processes=4) == pytest.approx(half // 4, rel=0.1)


def test_without_a_temporary_folder_there_is_no_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert room_bytes(1_000, n_processes=1) == 0
