"""Three real nodes in one address, one of which is killed while documents are written and searches run."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

import pytest
import urllib3
from flask import Flask

from reranker.api.app import create_app
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.protocol import WritableStore
from reranker.stores.base.writing import Writable, WriteResult
from reranker.stores.engine.store import EngineStore
from tests.ingest.runs import N_DOCUMENTS, Runs, Wrapped
from tests.support.engines.clusters import kill, start_cluster, store_address
from tests.support.engines.nodes import Node
from tests.support.engines.recipes import ELASTICSEARCH_8, OPENSEARCH_2, OPENSEARCH_3
from tests.support.engines.sources import chosen_engines, is_assembled
from tests.support.service import DOCUMENTS, fill

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.conformance]  # each starts three nodes

N_BEFORE_THE_KILL = 600
# Each thread asks so often before a node is killed and after the last document is written.
N_SEARCHES = 20


class Killing(Wrapped):
    """A store that calls `at` once, as soon as so many documents are written."""

    def __init__(self, store: WritableStore, at: threading.Event) -> None:
        super().__init__(store)
        self._at = at

    def write_prepared(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        for n_written, result in enumerate(self._store.write_prepared(index, documents), start=1):
            if n_written == N_BEFORE_THE_KILL:
                self._at.set()
            yield result


class Searches:
    """Searches the index `searched` in a thread, by our own route and through the proxy; counts the statuses."""

    def __init__(self, app: Flask) -> None:
        self.ours: Counter[int] = Counter()
        self.proxied: Counter[int] = Counter()
        self.ready: Counter[int] = Counter()
        self._client = app.test_client()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        self.wait_for_more()
        try:
            yield
        finally:
            self._stopped.set()
            self._thread.join(120)

    def wait_for_more(self) -> None:
        """Until there were so many further searches."""
        wanted = self.ours.total() + N_SEARCHES
        while self._thread.is_alive() and self.ours.total() < wanted:
            self._stopped.wait(0.05)

    def _run(self) -> None:
        query = {"query": {"match": {"text.en": "cat"}}}
        while not self._stopped.is_set():
            ours = {"query": "cat dog", "index": "searched", "first_stage": "hybrid"}
            self.ours[self._client.post("/v1/search", json=ours).status_code] += 1
            self.proxied[self._client.post("/searched/_search", json=query).status_code] += 1
            self.ready[self._client.get("/-/ready").status_code] += 1


def cases() -> Iterator[object]:
    """Each node of each engine; the first is the cluster's manager."""
    for engine in (OPENSEARCH_2, OPENSEARCH_3, ELASTICSEARCH_8):
        for place in range(3):
            yield pytest.param(engine.name, place, id=f"{engine.name}-node-{place}")


@pytest.mark.parametrize(("name", "place"), list(cases()))
def test_a_node_that_is_killed_costs_no_document_and_no_search(name: str, place: int, runs: Runs) -> None:
    if name not in chosen_engines() or not is_assembled(name):
        pytest.skip("only nodes of our own can be killed, of the engines that are tested")
    with (
        start_cluster(name, 3) as nodes,
        closing(open_store(store_address(nodes))) as store,
        closing(open_store(store_address(nodes))) as written_by,
    ):
        assert isinstance(store, EngineStore)
        fill(store, runs.embeddings, "searched", DOCUMENTS)
        wait_until_green(nodes[0])
        settings = Settings(home=runs.folder, store=store_address(nodes), threads=1)
        app = create_app(settings, store, runs.embeddings)
        searches, reached = Searches(app), threading.Event()
        killer = threading.Thread(target=lambda: (reached.wait(300), kill(nodes[place])), daemon=True)
        with searches.running():
            killer.start()
            summary = runs(Killing(written_by, reached))
            killer.join(60)
            if summary.failure is not None:  # of what is not sent twice, such as making the index of the idf
                summary = runs(written_by)
            searches.wait_for_more()
        assert nodes[place].process.poll() is not None
        assert (summary.failure, summary.indexed) == (None, N_DOCUMENTS)
        runs.assert_whole(written_by)
        assert set(searches.ours) == set(searches.proxied) == set(searches.ready) == {200}
        check = app.test_client().get("/-/ready").get_json()["checks"]["store"]
        assert check["ready"]
        assert f"127.0.0.1:{nodes[place].http_port}" in check["message"]


def wait_until_green(node: Node) -> None:
    answer = urllib3.request("GET", f"{node.url}/_cluster/health?wait_for_status=green&timeout=120s", timeout=130)
    assert answer.status == 200
