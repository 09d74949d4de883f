"""An address of a Ray cluster at which nothing answers is told at once, before Ray tries for 40 seconds."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from ingest.ray_address import check_ray_address
from ingest.ray_workers import RayWorkers
from reranker.base.errors import BadInput
from tests.support.listening import closed_port


@pytest.fixture
def listening() -> Iterator[int]:
    """A port at which something accepts connections."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "ray://localhost:{}/"])
def test_an_address_at_which_something_answers_is_taken(listening: int, form: str) -> None:
    check_ray_address(form.format(listening))


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "[::1]:{}"])
def test_an_address_at_which_nothing_answers_is_refused(form: str) -> None:
    port = closed_port()
    address = form.format(port)
    with pytest.raises(BadInput) as caught:
        check_ray_address(address)
    assert f"no Ray cluster answers at {address}" in str(caught.value)
    assert "ray start --head" in str(caught.value)


@pytest.mark.parametrize("address", ["auto", "local", "other://cluster"])
def test_what_ray_finds_by_itself_is_left_to_it(address: str) -> None:
    check_ray_address(address)


@pytest.mark.parametrize("address", ["127.0.0.1:0", "127.0.0.1:70000", "a b", "host:port", "ray://", ""])
def test_what_is_no_address_is_refused_with_those_that_are(address: str) -> None:
    with pytest.raises(BadInput, match="give local, auto, HOST:6379 or ray://HOST:10001"):
        check_ray_address(address)


@pytest.mark.parametrize(("address", "expected"), [("head", 6379), ("ray://head", 10001), ("head:1234", 1234)])
def test_an_address_without_a_port_means_the_one_that_ray_takes(
    address: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[tuple[str, int], float]] = []

    def connect(where: tuple[str, int], timeout: float) -> socket.socket:
        asked.append((where, timeout))
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(BadInput, match="timed out"):
        check_ray_address(address)
    assert asked == [(("head", expected), 5.0)]


def test_ray_is_not_asked_for_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: object) -> None:
        raise AssertionError("Ray was asked")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    port = closed_port()
    with pytest.raises(BadInput, match="no Ray cluster answers"), RayWorkers(None, 1, f"127.0.0.1:{port}"):
        pass
