"""Several nodes in one address: which is asked, what is sent twice, and what is said of those that do not respond."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from reranker.base.errors import Busy, StoreUnavailable
from reranker.base.request_context import RequestContext, set_current_request
from reranker.service.slots import Slots
from reranker.stores import open_store
from reranker.stores.base.protocol import IndexReader
from reranker.stores.engine import retries
from reranker.stores.engine.writable import WritableEngineStore
from reranker.upstream.rights import SERVICE, Rights
from tests.stores.fake_engine import FakeEngine, serve
from tests.stores.samples import ALL, MAPPING, query
from tests.support.listening import closed_port

NO_HITS = {"hits": {"hits": []}}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 0)


class Node:
    """A node that notes what it is asked; `statuses` are those of its next answers, 0 for a connection that breaks."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.statuses: list[int] = []

    def answer(self, method: str, path: str, body: str) -> tuple[int, Any]:
        self.asked.append(f"{method} {path.partition('?')[0]}")
        status = self.statuses.pop(0) if self.statuses else 200
        if status != 200:
            return status, {"error": "away"}
        if path == "/":
            return 200, {"version": {"distribution": "opensearch", "number": "2.19.1"}}
        if path.startswith("/docs/_mapping"):
            return 200, MAPPING
        if "_bulk" in path:
            return 200, {"errors": False, "items": [{"index": {"status": 201}}] * (len(body.splitlines()) // 2)}
        if path.endswith("_mget"):
            return 200, {"docs": [{"found": False}]}
        return 200, NO_HITS if path.endswith("_search") else {}


@pytest.fixture
def two() -> Iterator[tuple[WritableEngineStore, Node, Node]]:
    """A store of two nodes, and the nodes."""
    first, second = Node(), Node()
    with ExitStack() as stack:
        fakes = [stack.enter_context(serve(node.answer)) for node in (first, second)]
        yield stack.enter_context(opened(*fakes)), first, second


@contextmanager
def opened(*places: FakeEngine | int) -> Iterator[WritableEngineStore]:
    """A store of some fake nodes, or of ports of this machine."""
    ports = [place if isinstance(place, int) else place.port for place in places]
    store = open_store("opensearch://" + ",".join(f"127.0.0.1:{port}" for port in ports), timeout_s=5)
    assert isinstance(store, WritableEngineStore)
    yield store
    store.close()


def search(index: IndexReader, rights: Rights = SERVICE) -> None:
    assert index.knn(query(1, 0, 0, 0), 5, ALL, rights) == []


@contextmanager
def request_within(slots: Slots) -> Iterator[None]:
    set_current_request(RequestContext("one", waiting=slots.waiting))
    try:
        yield
    finally:
        set_current_request(None)


def test_beyond_the_limit_of_a_node_the_next_one_is_asked_and_the_first_is_not_taken_for_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second, slots = Node(), Node(), Slots(1, 1)
    with serve(first.answer) as one, serve(second.answer) as other, opened(one, other) as store:
        index = store.open("docs")
        with request_within(slots):
            search(index)
            first.asked.clear()
            with slots.waiting(f"opensearch://127.0.0.1:{one.port}"):
                search(index)
                assert (first.asked, second.asked) == ([], ["POST /docs/_search"])
                with slots.waiting(f"opensearch://127.0.0.1:{other.port}"), pytest.raises(Busy, match="requests wait"):
                    search(index)
            search(index)
        assert first.asked == ["POST /docs/_search"]
        assert len(second.asked) == 1
    assert "takes no connection" not in caplog.text


@pytest.mark.parametrize("why", ["down", "busy", "away"])
def test_the_next_node_is_asked_with_the_callers_credentials(why: str) -> None:
    first, second, slots = Node(), Node(), Slots(1, 1)
    port = closed_port()
    with ExitStack() as stack:
        one, other = stack.enter_context(serve(first.answer)), stack.enter_context(serve(second.answer))
        index = stack.enter_context(opened(port if why == "down" else one, other)).open("docs")
        search(index)  # what the service reads for itself is known from here on
        other.headers.clear()
        stack.enter_context(request_within(slots))
        if why == "busy":
            stack.enter_context(slots.waiting(f"opensearch://127.0.0.1:{one.port}"))
        first.statuses = [503]
        search(index, Rights({"authorization": "Basic Y2FsbGVyOnB3"}))
    assert [headers["authorization"] for headers in other.headers] == ["Basic Y2FsbGVyOnB3"]


def test_a_claim_on_a_connection_that_breaks_is_not_sent_again(two: tuple[WritableEngineStore, Node, Node]) -> None:
    store, first, second = two
    store.open("docs")
    first.asked.clear()
    first.statuses = [200, 200, 0]
    with pytest.raises(StoreUnavailable):
        store.claim("docs", "one", 60)
    assert first.asked == [
        "POST /sinkrank-idf/_mget",
        "PUT /sinkrank-idf",
        "PUT /sinkrank-idf/_doc/docs%3Aclaim",
    ]
    assert second.asked == []


def test_all_nodes_are_asked_whether_they_respond(two: tuple[WritableEngineStore, Node, Node]) -> None:
    store, first, second = two
    assert store.problems() == []
    assert first.asked == second.asked == ["GET /sinkrank-idf/_mapping"]
    second.statuses = [401]
    (problem,) = store.problems()
    assert "refuses the credentials" in problem
    first.statuses, second.statuses = [503], [503]
    with pytest.raises(StoreUnavailable, match=r"failed.*failed"):
        store.problems()


def test_a_node_that_never_answers_is_not_waited_for_while_another_responds() -> None:
    """The listener takes connections, and nobody reads them."""
    with socket.create_server(("127.0.0.1", 0)) as stuck, serve(Node().answer) as fake:
        port = stuck.getsockname()[1]
        with opened(port, fake, closed_port()) as store:
            first, last = store.problems()
            assert first.startswith(f"opensearch://127.0.0.1:{port} ")  # it has not answered
            assert "nothing answers" in last
