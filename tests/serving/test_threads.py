"""Requests are answered although the system gave no thread for them when they came."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3

from reranker.service.settings import Settings
from sinkrank.serving import dispatcher
from sinkrank.serving.dispatcher import Dispatcher
from sinkrank.serving.server import Server, bind
from tests.support.service import running
from tests.support.threads import no_more_threads
from tests.support.waiting import PATIENCE_S, wait_until


@dataclass(eq=False)
class Connection:
    """A connection with one request: what a dispatcher is given.

    Attributes:
        may_end: what its answer waits for.
        answered: by the refusal, which is empty for the answer itself.
    """

    path: str = "/pages/_search"
    may_end: threading.Event | None = None
    addr: tuple[str, int] = ("192.0.2.1", 1)
    answered: list[str] = field(default_factory=list)
    requests: list[Any] = field(init=False)
    total_outbufs_len: int = 0

    def __post_init__(self) -> None:
        self.requests = [SimpleNamespace(error=None, refusal="", path=self.path)]

    def service(self) -> None:
        if self.may_end is not None:
            assert self.may_end.wait(PATIENCE_S)
        self.answered.append(self.requests[0].refusal)


def test_requests_that_get_no_thread_are_answered_once_there_are_some() -> None:
    threads, connections = Dispatcher(4, 2), [Connection(), Connection(), Connection(), Connection("/-/live")]
    with no_more_threads():
        for connection in connections:
            threads.add_task(connection)
        threads.refuse_overdue()
        assert [connection.answered for connection in connections] == [[]] * 4
    threads.refuse_overdue()  # the server calls it every second
    wait_until(lambda: all(connection.answered == [""] for connection in connections), "all are answered")
    assert threads.shutdown(timeout=PATIENCE_S)


def test_a_client_that_does_not_read_takes_no_thread_of_the_health_checks() -> None:
    """Its thread waits until the answers before are read."""
    threads, may_end = Dispatcher(4, 2), threading.Event()
    unread = [Connection(path, may_end, total_outbufs_len=1) for path in ("/-/live", "/-/ready") for _ in range(2)]
    others = [Connection("/-/live"), Connection("/-/ready")]
    for connection in (*unread, *others):
        threads.add_task(connection)
    wait_until(lambda: all(connection.answered == [""] for connection in others), "the others are answered")
    may_end.set()
    wait_until(lambda: all(connection.answered == [""] for connection in unread), "they are answered too")
    assert threads.shutdown(timeout=PATIENCE_S)


def test_a_request_that_waits_for_a_thread_knows_when_it_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "QUEUE_S", PATIENCE_S)
    arrived: dict[str, float] = {}
    may_end = threading.Event()

    def app(environ: dict[str, Any], start_response: Callable[[str, list[Any]], Any]) -> list[bytes]:
        arrived[environ["PATH_INFO"]] = environ.get("sinkrank.arrived_s", 0.0)
        assert may_end.wait(PATIENCE_S)
        start_response("204 No Content", [])
        return []

    server = Server(app, Settings(home=tmp_path, max_client_requests=1), bind("127.0.0.1", 0))
    with running(server) as url, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(urllib3.request, "GET", f"{url}/first", timeout=PATIENCE_S)]
        wait_until(lambda: "/first" in arrived, "the first is being answered")
        asked.append(pool.submit(urllib3.request, "GET", f"{url}/second", timeout=PATIENCE_S))
        wait_until(lambda: bool(server.task_dispatcher._waiting), "the second waits")
        waited_s = time.perf_counter()
        may_end.set()
        assert [each.result().status for each in asked] == [204, 204]
    assert arrived["/first"] < arrived["/second"] < waited_s


def test_requests_that_get_no_thread_take_no_place_of_their_client_for_good() -> None:
    threads = Dispatcher(4, 1)
    with no_more_threads():
        threads.add_task(Connection())
    later = Connection()
    threads.add_task(later)
    threads.refuse_overdue()
    wait_until(lambda: later.answered == [""], "the client's next request is answered")
    assert threads.shutdown(timeout=PATIENCE_S)


def test_a_thread_that_can_start_no_other_goes_on_and_loses_no_waiting_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "QUEUE_S", 0.0)
    threads, may_end = Dispatcher(2, 1), threading.Event()
    first = Connection(may_end=may_end)
    waiting = [Connection("/v1/search"), Connection(), Connection()]
    for connection in (first, *waiting):
        threads.add_task(connection)
    with no_more_threads():
        may_end.set()
        wait_until(lambda: first.answered == [""], "the first is answered")
        wait_until(lambda: bool(threads._own.queue), "the next one of the client waits for a thread")
    threads.refuse_overdue()
    wait_until(lambda: all(connection.answered for connection in waiting), "each is answered or refused")
    assert waiting[0].answered == [""]
    assert threads.shutdown(timeout=PATIENCE_S)
