"""An engine that takes connections and never answers does not stop what needs no answer of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import urllib3

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from sinkrank.serving import dispatcher
from tests.serving.conftest import Serve
from tests.serving.engines import Clients, Engine, engine, get
from tests.support.service import serving
from tests.support.waiting import wait_until

SEARCH = {"query": {"match": {"body": "cat"}}}
RERANK = {"query": "cat", "documents": ["pain", "chat"], "language": "en", "document_languages": "fr"}
STUCK = {
    "search": ("POST", "/pages/_search", SEARCH),
    "passed on": ("GET", "/_cluster/health?wait_for_nodes=5&timeout=15s", None),
    "our search": ("POST", "/v1/search", {"query": "cat", "index": "pages", "language": "en"}),
}


@pytest.mark.parametrize("kind", STUCK)
def test_health_and_rerankings_are_answered_while_requests_wait_for_a_stuck_engine(
    stuck: Engine, clients: Clients, serve: Serve, kind: str
) -> None:
    method, path, body = STUCK[kind]
    with serve(stuck) as url:
        clients.ask(12, method, url + path, body)  # more than `workers`
        wait_until(lambda: stuck.n_waiting >= 12, "all wait for the engine")
        live, metrics = get(f"{url}/-/live"), get(f"{url}/-/metrics")
        reranked = urllib3.request("POST", f"{url}/v1/rerank", json=RERANK, timeout=180)
        ready = get(f"{url}/-/ready")
        answered = list(clients.answers)
        stuck.release()
        clients.join()

    assert answered == []  # they waited all the time
    assert (live.status, metrics.status, reranked.status) == (200, 200, 200)
    assert ready.status == 503
    assert "did not respond" in ready.json()["checks"]["store"]["message"]
    assert len(clients.answers) == 12


def test_beyond_the_limit_the_engine_is_not_waited_for(stuck: Engine, clients: Clients, serve: Serve) -> None:
    with serve(stuck, max_engine_calls=3) as url:
        clients.ask(3, "GET", f"{url}/a/_doc/1")
        wait_until(lambda: stuck.n_waiting == 3, "three wait")
        passed = get(f"{url}/a/_doc/2")
        searched = urllib3.request("POST", f"{url}/a/_search", json=SEARCH, timeout=180)
        own = urllib3.request("POST", f"{url}/v1/search", json=STUCK["our search"][2], timeout=180)
        answered = list(clients.answers)
        stuck.release()
        clients.join()

    assert answered == []
    assert own.status == 429  # one limit for all that wait for a node
    for refused in (passed, searched):
        assert refused.status == 429
        assert refused.headers["Retry-After"] == "1"
        # As OpenSearch answers when its queue is full.
        assert refused.json()["status"] == 429
        assert refused.json()["error"]["type"] == "rejected_execution_exception"
        assert refused.json()["error"]["root_cause"][0]["type"] == "rejected_execution_exception"


def test_beyond_the_limit_of_a_node_the_next_one_is_asked(stuck: Engine, clients: Clients, serve: Serve) -> None:
    with engine() as other, serve(stuck, other, max_engine_calls=3) as url:
        clients.ask(3, "GET", f"{url}/a/_doc/1")
        wait_until(lambda: stuck.n_waiting == 3, "three wait")
        answer = get(f"{url}/a/_doc/2")
        stuck.release()
        clients.join()
    assert (answer.status, answer.data) == (200, b"{}")


def test_one_client_takes_no_more_than_its_share(
    stuck: Engine, clients: Clients, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "QUEUE_S", 0.5)
    with serve(stuck, max_client_requests=2) as url:
        clients.ask(2, "GET", f"{url}/a/_doc/1")
        wait_until(lambda: stuck.n_waiting == 2, "two wait")
        passed = get(f"{url}/a/_doc/2")
        own = urllib3.request("POST", f"{url}/v1/rerank", json=RERANK, timeout=180)
        live = get(f"{url}/-/live")
        other = Clients()
        thread = threading.Thread(target=lambda: other.answers.append(get(f"{url}/a/_doc/3", "127.0.0.2").status))
        thread.start()
        wait_until(lambda: stuck.n_waiting == 3, "another client's request goes to the engine")
        answered = list(clients.answers)
        stuck.release()
        clients.join()
        thread.join()

    assert answered == []
    assert passed.status == 429
    assert passed.json()["error"]["type"] == "rejected_execution_exception"
    assert passed.headers["Retry-After"] == "1"
    assert own.status == 429
    assert "try again later" in own.json()["message"]  # in the shape of that route
    assert live.status == 200
    assert other.answers == [502]  # what the engine closed


def test_a_burst_of_one_client_waits_and_is_served(clients: Clients, serve: Serve) -> None:
    with engine() as one, serve(one, max_client_requests=2) as url:
        clients.ask(30, "GET", f"{url}/a/_doc/1")
        clients.join()
    assert clients.answers == [200] * 30


def test_the_store_is_asked_once_however_many_ask_whether_the_service_is_ready(
    tmp_path: Path, embeddings: Embeddings
) -> None:
    release = threading.Event()
    asked = []

    class Stuck:
        address = "stuck"

        def problems(self) -> list[str]:
            asked.append(1)
            release.wait()
            return []

    settings = Settings(home=tmp_path, threads=1)
    with serving(create_app(settings, Stuck(), embeddings), settings) as url:  # type: ignore[arg-type]
        answers = [get(f"{url}/-/ready") for _ in range(5)]
        assert len(asked) == 1
        release.set()
        wait_until(lambda: "message" not in get(f"{url}/-/ready").json()["checks"]["store"], "it is back")
    assert [answer.status for answer in answers] == [503] * 5
    assert all("did not respond" in answer.json()["checks"]["store"]["message"] for answer in answers)
