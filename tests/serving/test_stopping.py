"""A server that is told to stop answers what has begun."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from reranker.service.settings import Settings
from sinkrank.serving.server import bind, serve_until_stopped, stop_signals
from tests.serving.test_damaged_requests import answer_to, echo
from tests.support.waiting import PATIENCE_S, wait_until


@contextmanager
def stoppable(settings: Settings) -> Iterator[tuple[socket.socket, Callable[[], None]]]:
    """A connection to a server of `echo`, and what stops it and waits until it does not listen any more."""
    is_stopped = threading.Event()
    listener = bind("127.0.0.1", 0)
    address = listener.getsockname()

    @contextmanager
    def source(wake: Callable[[], None]) -> Iterator[Callable[[], bool]]:
        yield is_stopped.is_set

    def is_refused() -> bool:
        with suppress(ConnectionRefusedError), socket.create_connection(address):
            return False
        return True

    def stop() -> None:
        is_stopped.set()
        wait_until(is_refused, "nobody listens any more")

    ready = threading.Event()
    thread = threading.Thread(
        target=serve_until_stopped,
        args=[echo, settings, listener],
        kwargs={"on_ready": ready.set, "stop_source": source},
    )
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        with socket.create_connection(address, PATIENCE_S) as connection:
            yield connection, stop
    finally:
        is_stopped.set()
        thread.join(PATIENCE_S)


def test_a_request_whose_body_is_still_on_its_way_is_answered() -> None:
    with stoppable(Settings(grace_s=PATIENCE_S)) as (connection, stop):
        head = b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n"
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"abc")
        stop()
        assert answer_to(connection, b"def").endswith(b"\r\n\r\n<POST /a abcdef>")


def test_a_client_that_goes_on_asking_on_its_connection_is_sent_away_by_its_next_answer() -> None:
    """Else its requests keep the server busy for all of `grace_s`, and the last one is cut off."""
    with stoppable(Settings(grace_s=PATIENCE_S)) as (connection, stop):
        connection.settimeout(PATIENCE_S)
        assert b"\r\nConnection:" not in answer_to(connection, b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.sendall(b"POST /b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        stop()
        answer = answer_to(connection, b"c")
        assert b"\r\nConnection: close\r\n" in answer
        assert answer.endswith(b"<POST /b c>")
        assert connection.recv(100) == b""


def test_a_second_signal_of_the_other_kind_is_not_held_back() -> None:
    arrived: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        with stop_signals(lambda: None) as is_stopped:
            signal.raise_signal(signal.SIGTERM)
            assert is_stopped()
            signal.raise_signal(signal.SIGINT)
            assert arrived == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
