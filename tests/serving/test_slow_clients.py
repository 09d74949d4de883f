"""Clients that do not read, send slowly or only hold connections stop nobody else, and are disconnected."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from sinkrank.serving.server import Server, bind
from sinkrank.serving.slow_clients import LEAST_BYTES, SlowClients, least_needed
from tests.serving.conftest import Serve
from tests.serving.engines import N_LARGE_BYTES, connected, engine, get, is_closed_in_time
from tests.support.service import running
from tests.support.waiting import wait_until

N_BYTES = 20_000_000


def large(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
    """`/large` is 20 MB in one part; every other answer is short."""
    body = bytes(N_BYTES) if environ["PATH_INFO"] == "/large" else b"short"
    start("200 OK", [("Content-Length", str(len(body)))])
    return [body]


def serving_patiently(timeout_s: float) -> AbstractContextManager[str]:
    """Serves `large`; clients have so long for what they send or read."""
    server = Server(large, Settings(), bind("127.0.0.1", 0))
    server.slow_clients = SlowClients(timeout_s)
    return running(server)


def request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def test_readers_that_do_not_read_stop_nobody_else(tmp_path: Path, embeddings: Embeddings) -> None:
    with engine() as one:
        settings = Settings(home=tmp_path, threads=1, store=one.url)
        server = Server(create_app(settings, None, embeddings), settings, bind("127.0.0.1", 0))
        with running(server) as url, connected(url, 8, request("/large")):  # as many as `workers`
            wait_until(lambda: n_unread(server) >= 8 * 1_000_000, "each answer waits for its reader")
            assert get(f"{url}/-/live").status == 200
            assert get(f"{url}/a/_doc/1").data == b"{}"
            # What is passed on is not ahead of its reader by more than a little.
            assert n_unread(server) <= 8 * 1_200_000
            assert get(f"{url}/large").data == bytes(N_LARGE_BYTES)
            assert len(server.active_channels) >= 8


def test_scrapers_that_do_not_read_stop_no_health_check() -> None:
    def in_parts(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        start("200 OK", [])
        return (bytes(1_000_000) for _ in range(20)) if environ["PATH_INFO"] == "/-/metrics" else [b"short"]

    server = Server(in_parts, Settings(), bind("127.0.0.1", 0))
    server.slow_clients = SlowClients(1e6)
    with running(server) as url, connected(url, 3, request("/-/metrics")):
        wait_until(lambda: n_unread(server) > 1_000_000, "an answer waits for its reader")
        assert get(f"{url}/-/ready").data == get(f"{url}/-/live").data == b"short"


def n_unread(server: Server) -> int:
    return sum(channel.total_outbufs_len for channel in list(server.active_channels.values()))


def test_a_reader_that_takes_nothing_is_disconnected_and_its_thread_is_free(serve: Serve) -> None:
    with (
        engine() as one,
        serve(one, client_timeout_s=0.5, max_client_requests=2) as url,
        connected(url, 2, request("/large")) as readers,
    ):
        # The client has all the threads that it may have until the readers are cut off.
        wait_until(lambda: get(f"{url}/a/_doc/1").status == 200, "a thread is free again")
        assert all(is_closed_in_time(reader) for reader in readers)


def test_unread_answers_have_a_limit_beyond_which_slow_readers_are_disconnected() -> None:
    server = Server(large, Settings(), bind("127.0.0.1", 0))
    server.max_unread_bytes = 50_000_000
    with running(server) as url, connected(url, 2, request("/large")):
        wait_until(lambda: n_unread(server) > 25_000_000, "two answers wait")
        with connected(url, 4, request("/large")):
            wait_until(lambda: len(server.active_channels) < 6, "a reader is disconnected")
            wait_until(lambda: n_unread(server) <= 50_000_000, "the limit holds")
            assert get(f"{url}/large").data == bytes(N_BYTES)  # who reads gets all


def test_idle_connections_make_room_for_a_new_one() -> None:
    server = Server(large, Settings(), bind("127.0.0.1", 0))
    server.max_connections = 200
    with running(server) as url, connected(url, 200, b"") as idle:
        wait_until(lambda: len(server.active_channels) == 200, "all are there")
        assert get(f"{url}/-/live").data == b"short"
        assert is_closed_in_time(idle[0])  # the one that did nothing for longest
        idle[-1].sendall(request("/"))
        assert idle[-1].recv(12) == b"HTTP/1.1 200"


def test_idle_connections_outlive_a_jump_of_the_clock_and_are_closed_when_they_were_idle_for_long() -> None:
    server = Server(large, Settings(), bind("127.0.0.1", 0))
    with running(server) as url, connected(url, 2, request("/")) as (kept, idle):
        for one in (kept, idle):
            while not one.recv(65_536).endswith(b"short"):
                pass
        server.maintenance(time.time() + 1e9)
        kept.sendall(request("/"))
        assert kept.recv(12) == b"HTTP/1.1 200"
        server.adj.channel_timeout = 0  # seconds
        assert is_closed_in_time(idle)


def test_headers_that_come_byte_by_byte_are_not_waited_for() -> None:
    with (
        serving_patiently(1) as url,
        connected(url, 200, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") as slow,
    ):
        assert get(f"{url}/-/live").data == b"short"

        def is_cut_off() -> bool:
            try:
                slow[0].sendall(b"a")
            except OSError:
                return True
            return False

        wait_until(is_cut_off, "the server ends it although it goes on")
        assert all(is_closed_in_time(one) for one in slow[1:])


def test_a_body_that_comes_slowly_is_not_waited_for() -> None:
    with (
        serving_patiently(0.5) as url,
        connected(url, 1, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nstart") as slow,
    ):
        assert is_closed_in_time(slow[0])


class Connection:
    """What is looked at of one."""

    def __init__(self, address: str = "a", waits: str = "", idle_s: float = 0.0, n_unread: int = 0) -> None:
        self.addr = (address, 1)
        self.waits_for_client = waits
        self.active_s = -idle_s
        self.total_outbufs_len = n_unread
        self.n_moved = 0
        self.n_served = 0
        self.is_served = False
        self.requests: list[object] = []


def test_a_client_that_moves_enough_in_each_period_is_kept() -> None:
    slow_clients, one, other = SlowClients(60), Connection(waits="to_read"), Connection(waits="to_read")
    assert slow_clients.overdue([one, other], 0) == []
    one.n_moved, other.n_moved = LEAST_BYTES, LEAST_BYTES - 1
    assert slow_clients.overdue([one, other], 59) == []
    assert slow_clients.overdue([one, other], 60) == [other]
    assert slow_clients.overdue([one], 119) == []
    assert slow_clients.overdue([one], 120) == [one]


def test_the_next_answer_and_the_time_of_computing_do_not_count() -> None:
    slow_clients, one = SlowClients(60), Connection(waits="to_read")
    slow_clients.overdue([one], 0)
    one.n_served = 1  # the next answer
    assert slow_clients.overdue([one], 60) == []
    one.waits_for_client = ""  # the request is computed
    assert slow_clients.overdue([one], 119) == []
    one.waits_for_client = "to_read"
    assert slow_clients.overdue([one], 121) == []


def test_the_slowest_readers_are_those_with_the_fewest_bytes_a_second() -> None:
    slow_clients = SlowClients(60)
    slow, slower, new = (Connection(waits="to_read", n_unread=10) for _ in range(3))
    slow_clients.overdue([slow, slower], 0)
    slow.n_moved, slower.n_moved = 20, 10
    slow_clients.overdue([slow, slower, new], 5)
    assert slow_clients.slowest([slow, slower, new], 0, 5) == []
    assert slow_clients.slowest([slow, slower, new], 1, 5) == [slower]
    assert slow_clients.slowest([slow, slower, new], 11, 5) == [slower, slow]
    assert slow_clients.slowest([slow, slower, new], 1_000, 5) == [slower, slow]  # a new one has its chance


def test_room_is_made_by_the_address_with_the_most_connections() -> None:
    balancer = [Connection("balancer", idle_s=100), Connection("balancer", idle_s=200)]
    reader, queued, idle, served = (Connection("attacker", idle_s=n) for n in (50, 9, 1, 99))
    queued.requests, served.requests, served.is_served = [1], [1], True
    reader.total_outbufs_len = 1
    assert least_needed([*balancer, queued, idle, served]) is idle
    assert least_needed([*balancer, queued, served]) is balancer[1]  # as many: what is idle, and for longest
    assert least_needed([reader, queued, served]) is queued
    # Or a client would keep all others out, if it reads each answer just fast enough.
    assert least_needed([balancer[0], reader, served]) is reader
    assert least_needed([served]) is None
