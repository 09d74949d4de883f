"""opensearch-py and elasticsearch-py, each in front of its own engines, cannot tell the proxy from the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import elasticsearch
import elasticsearch.helpers
import opensearchpy
import opensearchpy.helpers
import pytest
import urllib3
from elastic_transport import Urllib3HttpNode

from tests.clients.conftest import Proxying
from tests.clients.python_calls import CALLS, COPY, HELPERS, INDEX, N_DOCUMENTS, PREPARATION, Call
from tests.clients.recording import Exchange, Recording, differences, timeless
from tests.support.engines.sources import Engine

pytestmark = [
    pytest.mark.engine,
    # The clients say by it that they or their engine are older than what they wish for.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::elasticsearch.ElasticsearchWarning"),
]

_LIMIT_S = 60


@dataclass
class Client:
    """A client with its module of helpers, and what it sends and receives."""

    api: Any
    helpers: Any
    recording: Recording

    def call(self, call: Call) -> tuple[Any, list[Exchange]]:
        name, arguments = call
        return self.ended(partial(attrgetter(name)(self.api), **arguments))

    def ended(self, run: Callable[[], Any]) -> tuple[Any, list[Exchange]]:
        """What a call gave or raised, and its exchanges."""
        result: tuple[Any, ...]
        try:
            given = run()
            result = ("gave", timeless(getattr(given, "body", given)))
        except (opensearchpy.OpenSearchException, elasticsearch.ApiError, elasticsearch.TransportError) as error:
            result = ("raised", type(error).__name__, getattr(error, "status_code", None))
        except elasticsearch.helpers.BulkIndexError as error:
            result = ("raised", type(error).__name__, timeless(error.errors))
        return result, self.recording.taken()


def opensearch_client(url: str) -> Client:
    recording = Recording()

    class Connection(opensearchpy.Urllib3HttpConnection):
        """Records before the client reads."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            record(self.pool, recording)

    api = opensearchpy.OpenSearch(url, connection_class=Connection, max_retries=0, http_compress=True, timeout=_LIMIT_S)
    return Client(api, opensearchpy.helpers, recording)


def elasticsearch_client(url: str) -> Client:
    recording = Recording()

    class Node(Urllib3HttpNode):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            record(self.pool, recording)

    api = elasticsearch.Elasticsearch(url, node_class=Node, max_retries=0, http_compress=True, request_timeout=_LIMIT_S)
    return Client(api, elasticsearch.helpers, recording)


def record(pool: urllib3.HTTPConnectionPool, recording: Recording) -> None:
    """Has the pool of a client write down what goes through it; both clients send with urllib3."""
    plain = pool.urlopen

    def urlopen(method: str, url: str, body: Any = None, **rest: Any) -> urllib3.BaseHTTPResponse:
        answer = plain(method, url, body=body, **rest)
        recording.exchanges.append(Exchange(method, url, body or b"", answer.status, dict(answer.headers), answer.data))
        return answer

    pool.urlopen = urlopen  # type: ignore[method-assign, assignment]


@pytest.fixture(scope="module")
def clients(engine: Engine, proxying: Proxying) -> Iterator[tuple[Client, Client]]:
    """One that talks to the engine, one that talks to the proxy."""
    make = opensearch_client if engine.distribution == "opensearch" else elasticsearch_client
    with proxying(engine.url) as url:
        direct, proxied = make(engine.url), make(url)
        yield direct, proxied
        for client in (direct, proxied):
            client.api.close()


@pytest.fixture(autouse=True)
def _clean(engine: Engine, http: urllib3.PoolManager) -> Iterator[None]:
    yield
    remove(engine, http)


def remove(engine: Engine, http: urllib3.PoolManager) -> None:
    for name in (INDEX, COPY):
        http.request("DELETE", f"{engine.url}/{name}")


def test_each_call_sends_gets_and_gives_the_same(
    engine: Engine, clients: tuple[Client, Client], http: urllib3.PoolManager
) -> None:
    calls = [*PREPARATION, *CALLS]
    runs = []
    for client in clients:
        remove(engine, http)
        runs.append([client.call(call) for call in calls])
    unlike = {
        f"{number}: {call}": [*differences(sent, others), *([] if given == other else [(given, other)])]
        for number, (call, (given, sent), (other, others)) in enumerate(zip(calls, *runs, strict=True))
    }
    assert {call: found for call, found in unlike.items() if found} == {}
    # The calls did what they are there for: each was sent, most succeed, the errors are those of the engine.
    assert [call for call, (_, sent) in zip(calls, runs[0], strict=True) if len(sent) != 1] == []
    statuses = [sent[0].status for _, sent in runs[0]]
    assert {200, 201, 400, 404, 409} <= set(statuses)
    assert sum(status < 300 for status in statuses) > len(statuses) / 2


def test_the_helpers_send_get_and_give_the_same(
    engine: Engine, clients: tuple[Client, Client], http: urllib3.PoolManager
) -> None:
    runs = []
    for client in clients:
        remove(engine, http)
        for call in PREPARATION:
            client.call(call)
        runs.append({name: client.ended(partial(run, client.api, client.helpers)) for name, run in HELPERS.items()})
    direct, proxied = runs
    assert {name: result for name, (result, _) in proxied.items()} == {
        name: result for name, (result, _) in direct.items()
    }
    for name in set(HELPERS) - {"parallel_bulk"}:  # its requests come in any order
        assert differences(direct[name][1], proxied[name][1]) == [], name
    kind, (n_written, errors) = proxied["bulk"][0]
    assert (kind, n_written, errors) == ("gave", N_DOCUMENTS, [])
    if proxied["reindex"][0][0] == "gave":
        assert http.request("GET", f"{engine.url}/{COPY}/_count").json()["count"] == N_DOCUMENTS + len(PREPARATION) - 1
    else:
        # The helper asks for data streams first, which Elasticsearch's server alone has no module for.
        assert engine.distribution == "elasticsearch"
        assert "_data_stream" in proxied["reindex"][1][-1].target


def index_texts(engine: Engine, http: urllib3.PoolManager, client: Client, texts: list[str]) -> None:
    """Makes the index anew, of these texts with their places as ids."""
    remove(engine, http)
    for number, text in enumerate(texts):
        client.api.index(index=INDEX, id=str(number), body={"text": text}, refresh=True)


def test_a_search_by_text_is_re_ranked_for_a_client_that_knows_nothing_of_it(
    engine: Engine, clients: tuple[Client, Client], http: urllib3.PoolManager
) -> None:
    _, proxied = clients
    # The engine finds all three by "any"; of their other words dog is nearest to chat (cosines 0.936, -0.28, -0.96).
    index_texts(engine, http, proxied, ["any bread", "any car", "any dog"])
    proxied.recording.taken()
    answer = proxied.api.search(index=INDEX, body={"query": {"match": {"text": "any chat"}}})
    (exchange,) = proxied.recording.taken()
    assert [hit["_id"] for hit in answer["hits"]["hits"]] == ["2", "1", "0"]
    assert exchange.is_reranked


def test_a_client_gets_words_marked_by_their_meaning_in_the_form_that_it_knows(
    engine: Engine, clients: tuple[Client, Client], http: urllib3.PoolManager
) -> None:
    direct, proxied = clients
    index_texts(engine, http, proxied, ["any bread", "any chat", "un chat"])
    query = {"bool": {"should": [{"match": {"text": "any cat"}}, {"match_all": {}}]}}
    body = {"query": query, "highlight": {"fields": {"text": {}}}}
    found = []
    for client, ext in ((direct, {}), (proxied, {"ext": {"rerank": {"query_context": {"query_text": "any cat"}}}})):
        hits = client.api.search(index=INDEX, body={**body, **ext})["hits"]["hits"]
        found.append({hit["_id"]: hit["highlight"]["text"] for hit in hits if "highlight" in hit})
    assert found[0] == {"0": ["<em>any</em> bread"], "1": ["<em>any</em> chat"]}
    assert found[1] == {"0": found[0]["0"], "1": ["<em>any</em> <em>chat</em>"], "2": ["un <em>chat</em>"]}
