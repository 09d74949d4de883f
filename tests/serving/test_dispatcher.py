"""Which threads answer, with connections that only note who does."""

from __future__ import annotations

import threading
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from sinkrank.serving.dispatcher import Dispatcher
from tests.support.waiting import PATIENCE_S, wait_until


class Connection:
    """A connection with one request, which is answered once `may_end` is set."""

    def __init__(self, path: str = "/pages/_search", client: str = "10.0.0.1", waits: bool = False) -> None:
        self.requests = [SimpleNamespace(path=path, error=None, refusal="")]
        self.addr = (client, 1)
        self.may_end = threading.Event()
        self.is_answered = threading.Event()
        self.thread = ""
        if not waits:
            self.may_end.set()

    def service(self) -> None:
        self.thread = threading.current_thread().name
        self.may_end.wait(PATIENCE_S)
        self.is_answered.set()

    def cancel(self) -> None:
        self.is_answered.set()


def until(dispatcher: Dispatcher, pool: str, n_idle: int) -> None:
    """Waits until so many threads of a pool are idle."""
    wait_until(lambda: len(getattr(dispatcher, pool).idle) == n_idle, f"{n_idle} threads are idle")


def answered(dispatcher: Dispatcher, *connections: Any) -> list[str]:
    """The threads that answer these connections, which come at once."""
    for connection in connections:
        dispatcher.add_task(connection)
    for connection in connections:
        assert connection.is_answered.wait(PATIENCE_S)
    return [connection.thread for connection in connections]


def test_one_request_after_another_takes_one_thread() -> None:
    dispatcher = Dispatcher(8, 8)
    names = set()
    for _ in range(20):
        names.update(answered(dispatcher, Connection()))
        until(dispatcher, "_passed", 1)
    assert names == {"passed-1"}


def test_an_idle_thread_keeps_no_connection() -> None:
    dispatcher = Dispatcher(8, 8)
    connection = Connection()
    answered(dispatcher, connection)
    until(dispatcher, "_passed", 1)
    kept = weakref.ref(connection)
    del connection
    wait_until(lambda: kept() is None, "it is gone")


def test_requests_at_once_take_a_thread_each_and_the_last_idle_one_goes_on() -> None:
    dispatcher = Dispatcher(8, 8)
    first, second = Connection(waits=True), Connection(waits=True)
    dispatcher.add_task(first)
    dispatcher.add_task(second)
    for n_idle, connection in enumerate((first, second), start=1):
        connection.may_end.set()
        until(dispatcher, "_passed", n_idle)
    assert {first.thread, second.thread} == {"passed-1", "passed-2"}
    assert answered(dispatcher, Connection()) == [second.thread]


@pytest.mark.parametrize(("path", "name"), [("/-/live", "live-1"), ("/v1/search", "own-1"), ("/a/_doc/1", "passed-1")])
def test_each_kind_of_request_has_threads_of_its_own(path: str, name: str) -> None:
    assert answered(Dispatcher(1, 8), Connection(path)) == [name]


def test_health_requests_wait_for_their_one_thread() -> None:
    dispatcher = Dispatcher(1, 8)
    stuck = Connection("/-/live", waits=True)
    dispatcher.add_task(stuck)
    others = [Connection("/-/live") for _ in range(3)]
    for other in others:
        dispatcher.add_task(other)
    assert not any(other.is_answered.is_set() for other in others)
    stuck.may_end.set()
    assert all(other.is_answered.wait(PATIENCE_S) for other in others)


def test_a_client_waits_for_the_end_of_its_own_requests() -> None:
    dispatcher = Dispatcher(8, 1)
    stuck, next_one, other = Connection(waits=True), Connection(), Connection(client="10.0.0.2")
    dispatcher.add_task(stuck)
    dispatcher.add_task(next_one)
    assert answered(dispatcher, other)
    assert not next_one.is_answered.is_set()
    stuck.may_end.set()
    assert next_one.is_answered.wait(PATIENCE_S)


def test_at_the_end_idle_threads_end_and_busy_ones_answer_first() -> None:
    dispatcher = Dispatcher(8, 8)
    answered(dispatcher, Connection())
    until(dispatcher, "_passed", 1)
    busy = Connection("/-/live", waits=True)
    dispatcher.add_task(busy)
    assert not dispatcher.shutdown(timeout=0.01)
    busy.may_end.set()
    assert dispatcher.shutdown(timeout=PATIENCE_S)
    assert busy.is_answered.is_set()
