"""A client that leaves while its request waits for the engine takes the request with it, unless that writes."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest
import urllib3

from tests.serving.conftest import Serve
from tests.serving.engines import Clients, Engine, connected, engine, get
from tests.serving.test_stuck_engine import STUCK
from tests.support.certificates import make_certificates
from tests.support.waiting import PATIENCE_S, wait_until

N_CLIENTS = 100


def request(method: str, path: str, body: object = None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


@pytest.mark.parametrize("kind", STUCK)
def test_clients_that_leave_free_the_places_of_those_who_wait_for_an_engine(
    stuck: Engine, clients: Clients, serve: Serve, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serve(stuck, max_engine_calls=N_CLIENTS, max_client_requests=2 * N_CLIENTS) as url:
        with connected(url, N_CLIENTS, request(*STUCK[kind])):
            wait_until(lambda: stuck.n_waiting == N_CLIENTS, "all wait for the engine")
            assert ask(url, kind) == 429
        # The engine sees closed connections, and cancels its searches.
        wait_until(lambda: stuck.n_left == N_CLIENTS, "all calls are given up")
        clients.ask(N_CLIENTS, *with_url(url, kind))
        wait_until(lambda: stuck.n_waiting == 2 * N_CLIENTS, "as many others wait")
        stuck.release()
        clients.join()
    assert stuck.n_left == N_CLIENTS
    assert clients.answers == [503 if kind == "our search" else 502] * N_CLIENTS  # from the engine that went away
    assert "failed" not in caplog.text  # no traceback, and nobody is told of a broken engine


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
@pytest.mark.parametrize("kind", STUCK)
def test_clients_that_leave_are_noticed_over_tls_too(tmp_path: Path, serve: Serve, kind: str) -> None:
    authority, own = make_certificates(tmp_path, "node"), (tmp_path / "node.pem", tmp_path / "node.key")
    with engine(is_stuck=True, tls=own) as stuck, serve(stuck, store_ca_certs=authority) as url:
        with connected(url, 5, request(*STUCK[kind])):
            wait_until(lambda: stuck.n_waiting == 5, "all wait for the engine")
        wait_until(lambda: stuck.n_left == 5, "all calls are given up")


def test_writes_of_clients_that_leave_go_on(stuck: Engine, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    with serve(stuck) as url:
        with (
            connected(url, 2, request("PUT", "/a/_doc/1", {})),
            connected(url, 2, request("POST", "/a/_bulk", {})),
            connected(url, 2, request("DELETE", "/a")),
            connected(url, 3, request("GET", "/a/_doc/1")),
        ):
            wait_until(lambda: stuck.n_waiting == 9, "all wait for the engine")
        wait_until(lambda: stuck.n_left == 3, "what only reads is given up")
        assert get(f"{url}/-/live").status == 200
        assert stuck.n_left == 3
        stuck.release()
        wait_until(lambda: n_logged(caplog, "closed without an answer") == 6, "the writes have ended")


def test_who_waits_keeps_his_place_while_others_leave(
    stuck: Engine, clients: Clients, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sinkrank")
    with serve(stuck) as url:
        clients.ask(5, *with_url(url, "search"))
        with connected(url, 5, request(*STUCK["search"])):
            wait_until(lambda: stuck.n_waiting == 10, "all wait for the engine")
        wait_until(lambda: stuck.n_left == 5, "those that left are given up")
        wait_until(lambda: n_logged(caplog, "it left before its answer came") == 5, "the log tells of them")
        assert clients.answers == []
        stuck.release()
        clients.join()
    assert clients.answers == [502] * 5
    assert stuck.n_left == 5


def ask(url: str, kind: str) -> int:
    method, target, body = with_url(url, kind)
    return urllib3.request(method, target, json=body, timeout=PATIENCE_S, retries=False).status


def with_url(url: str, kind: str) -> tuple[str, str, object]:
    method, path, body = STUCK[kind]
    return method, url + path, body


def n_logged(caplog: pytest.LogCaptureFixture, words: str) -> int:
    return sum(words in record.getMessage() for record in caplog.records)
