"""Search pipelines on a real OpenSearch with ml-commons and neural-search: installed, replaced, taken away."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import opensearchpy
import pytest
import urllib3

from reranker.base.errors import BadInput, NotFound, StoreUnavailable, WrongParameter
from reranker.stores.engine.ml import MlCommons
from reranker.stores.engine.pipeline import EnginePipelines
from reranker.stores.engine.pipeline_definition import PipelineRequest, rerank_endpoint, trusted_pattern
from reranker.upstream.addresses import EngineAddress, read_address
from tests.stores.fake_engine import FakeEngine
from tests.stores.fake_engine import serve as serve_fake

TRUSTED = "plugins.ml_commons.trusted_connector_endpoints_regex"
PRIVATE = "plugins.ml_commons.connector.private_ip_enabled"

TEXTS = {"1": "red cat", "2": "black cat", "3": "grey cat"}

_numbers = itertools.count(1)


@pytest.fixture
def client(opensearch_2_ml_url: str) -> Iterator[opensearchpy.OpenSearch]:
    """Of a cluster with the settings that it comes with."""
    with closing(opensearchpy.OpenSearch(opensearch_2_ml_url)) as client:
        yield client
        client.cluster.put_settings(
            body={scope: {"plugins.ml_commons.*": None} for scope in ("persistent", "transient")}
        )


@pytest.fixture
def index(client: opensearchpy.OpenSearch) -> Iterator[str]:
    name = f"pets-{os.getpid()}-{next(_numbers)}"
    client.indices.create(
        index=name,
        body={
            "settings": {"number_of_replicas": 0},
            "mappings": {"properties": {"text": {"type": "text"}, "kind": {"type": "keyword"}}},
        },
    )
    for doc_id, text in TEXTS.items():
        client.index(index=name, id=doc_id, body={"text": text, "kind": "pet"}, refresh=True)
    yield name
    client.indices.delete(index=name)


def opened(url: str) -> closing[EnginePipelines]:
    address = read_address(url)
    assert isinstance(address, EngineAddress)
    return closing(EnginePipelines(address))


@pytest.fixture
def pipelines(opensearch_2_ml_url: str) -> Iterator[EnginePipelines]:
    with opened(opensearch_2_ml_url) as pipelines:
        yield pipelines


@pytest.fixture
def service() -> Iterator[FakeEngine]:
    """Ranks the last document first, in Cohere's shape; keeps what it was `asked`, and fails once it `is_down`."""
    asked: list[dict[str, Any]] = []

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        assert (method, path) == ("POST", "/v1/rerank")
        asked.append(json.loads(body))
        if fake.is_down:  # type: ignore[attr-defined]
            return 503, {"message": "down"}
        n = len(asked[-1]["documents"])
        # More than 6 decimals are no Double to the engine.
        return 200, {"results": [{"index": i, "relevance_score": round((i + 0.5) / n, 6)} for i in reversed(range(n))]}

    with serve_fake(answer) as fake:
        fake.asked, fake.is_down = asked, False  # type: ignore[attr-defined]
        yield fake


@pytest.fixture
def request_(index: str, service: FakeEngine, pipelines: EnginePipelines) -> Iterator[PipelineRequest]:
    yield PipelineRequest(index=index, service_url=service.address, allow_endpoint=True)
    pipelines.remove(index)


def search(client: opensearchpy.OpenSearch, index: str, text: str | None = "cat", **params: Any) -> list[str]:
    body: dict[str, Any] = {"query": {"match": {"text": "cat"}}}
    if text is not None:
        body["ext"] = {"rerank": {"query_context": {"query_text": text}}}
    return [hit["_id"] for hit in client.search(index=index, body=body, params=params)["hits"]["hits"]]


def objects(client: opensearchpy.OpenSearch, name: str) -> dict[str, list[str]]:
    """Ids of what ml-commons holds under a name."""
    found = {}
    for kind in ("connectors", "model_groups", "models"):
        query = {"query": {"term": {"name.keyword": name}}}
        answer = client.transport.perform_request("POST", f"/_plugins/_ml/{kind}/_search", body=query)
        found[kind] = [hit["_id"] for hit in answer["hits"]["hits"]]
    return found


def trusted(client: opensearchpy.OpenSearch) -> list[str]:
    answer = client.cluster.get_settings(params={"include_defaults": "true", "flat_settings": "true"})
    return answer["persistent"].get(TRUSTED) or answer["defaults"][TRUSTED]


def test_a_search_through_it_comes_back_in_the_services_order_and_in_the_engines_where_the_service_fails(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest, service: Any
) -> None:
    before = search(client, request_.index)
    installed = pipelines.install(request_)
    assert installed.fields == ("text",)
    assert search(client, request_.index, 'big "cat"', search_pipeline=installed.name) == before[::-1]
    assert service.asked[-1] == {"query": 'big "cat"', "documents": [TEXTS[doc_id] for doc_id in before]}
    assert search(client, request_.index) == before  # a search that names no pipeline has none
    service.is_down = True
    assert search(client, request_.index, search_pipeline=installed.name) == before


def test_a_service_that_asks_for_a_key_gets_it_and_a_second_run_brings_a_new_one(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest, service: Any
) -> None:
    for key in ("sinkrank_one", "sinkrank_two"):
        installed = pipelines.install(replace(request_, api_key=key))
        search(client, request_.index, search_pipeline=installed.name)
        assert service.headers[-1]["x-api-key"] == key
        connector = client.transport.perform_request("GET", f"/_plugins/_ml/connectors/{installed.connector_id}")
        assert key not in json.dumps(connector)
    assert [len(ids) for ids in objects(client, installed.name).values()] == [1, 1, 1]


def test_a_second_run_makes_nothing_twice(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    first = pipelines.install(request_)
    again = pipelines.install(request_)
    assert (first.connector_id, first.model_id) == (again.connector_id, again.model_id)
    # ml-commons may still go by the PRIVATE of the test before, which was taken back a moment ago.
    assert {TRUSTED} <= set(first.changed_settings) <= {TRUSTED, PRIVATE}
    assert again.changed_settings == {}
    assert objects(client, first.name) == {
        "connectors": [first.connector_id],
        "model_groups": objects(client, first.name)["model_groups"],
        "models": [first.model_id],
    }
    assert len(objects(client, first.name)["model_groups"]) == 1


def test_another_definition_takes_the_place_of_the_first(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest, service: Any
) -> None:
    first = pipelines.install(request_)
    other = PipelineRequest(
        index=request_.index, service_url=request_.service_url, method="rwmd", language="fi", fields=("text", "kind")
    )
    second = pipelines.install(other)
    assert second.connector_id != first.connector_id
    search(client, request_.index, search_pipeline=second.name)
    assert {key: service.asked[-1][key] for key in ("method", "language")} == {"method": "rwmd", "language": "fi"}
    # The engine joins the fields of a hit without a space.
    assert sorted(service.asked[-1]["documents"]) == ["black catpet", "grey catpet", "red catpet"]
    left = objects(client, first.name)
    assert (left["connectors"], left["models"]) == ([second.connector_id], [second.model_id])


@pytest.mark.parametrize("step", ["model", "deploy", "pipeline"])
def test_a_run_after_an_interrupted_one_finishes_it(
    client: opensearchpy.OpenSearch,
    pipelines: EnginePipelines,
    request_: PipelineRequest,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if step == "pipeline":
            patch.setattr(pipelines, "_try_out", interrupted)
        else:
            patch.setattr(pipelines._ml, "make_model" if step == "model" else "deploy", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pipelines.install(request_)
    installed = pipelines.install(request_)
    assert {kind: len(ids) for kind, ids in objects(client, installed.name).items()} == {
        "connectors": 1,
        "model_groups": 1,
        "models": 1,
    }
    assert search(client, request_.index, search_pipeline=installed.name) == search(client, request_.index)[::-1]


def test_removing_takes_all_away_and_twice_is_once(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    patterns = trusted(client)
    installed = pipelines.install(replace(request_, is_default=True))
    removed = pipelines.remove(installed.index)
    assert (removed.pipelines, removed.models, removed.model_groups, removed.connectors) == (1, 1, 1, 1)
    assert removed.was_default_of == (request_.index,)
    assert removed.private_addresses_allowed
    assert objects(client, installed.name) == {"connectors": [], "model_groups": [], "models": []}
    assert trusted(client) == patterns
    assert client.indices.get_settings(index=request_.index, name="index.search.default_pipeline") == {}
    with pytest.raises(opensearchpy.NotFoundError):
        client.transport.perform_request("GET", f"/_search/pipeline/{installed.name}")
    again = pipelines.remove(installed.index)
    assert (again.pipelines, again.models, again.model_groups, again.connectors) == (0, 0, 0, 0)


def test_an_endpoint_that_another_connector_calls_stays_trusted(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    pipelines.install(request_)
    other = f"{request_.index}-other"
    client.indices.create(index=other, body={"mappings": {"properties": {"text": {"type": "text"}}}})
    pipelines.install(replace(request_, index=other))
    pattern = trusted_pattern(rerank_endpoint(request_.service_url))
    assert pipelines.remove(request_.index).untrusted == ()
    assert pattern in trusted(client)
    assert pipelines.remove(other).untrusted == (pattern,)
    client.indices.delete(index=other)


def test_as_the_default_it_leaves_searches_without_a_query_text_alone(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    before = search(client, request_.index)
    assert pipelines.install(replace(request_, is_default=True)).is_default
    assert search(client, request_.index) == before[::-1]
    assert search(client, request_.index, text=None) == before


def test_without_leave_the_clusters_settings_stay_as_they_are(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    patterns = trusted(client)
    careful = PipelineRequest(index=request_.index, service_url=request_.service_url)
    with pytest.raises(BadInput, match=rf"(?s){TRUSTED}.*{PRIVATE}.*--allow-endpoint"):
        pipelines.install(careful)
    assert trusted(client) == patterns
    pattern = trusted_pattern(rerank_endpoint(request_.service_url))
    client.cluster.put_settings(body={"persistent": {TRUSTED: [pattern]}})
    with pytest.raises(BadInput, match=rf"{PRIVATE} to true, or let --allow-endpoint"):
        pipelines.install(careful)
    client.cluster.put_settings(body={"transient": {PRIVATE: True}})
    assert pipelines.install(careful).changed_settings == {}


def test_a_service_that_does_not_answer_is_found_out_before_searches_meet_it(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    nobody = PipelineRequest(index=request_.index, service_url="http://127.0.0.1:9", allow_endpoint=True)
    with pytest.raises(StoreUnavailable, match=r"cannot rank by http://127\.0\.0\.1:9/v1/rerank .*sinkrank serve"):
        pipelines.install(nobody)
    with pytest.raises(opensearchpy.NotFoundError):
        client.transport.perform_request("GET", f"/_search/pipeline/sinkrank-{request_.index}")


def test_what_others_made_is_neither_changed_nor_deleted(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    name = f"sinkrank-{request_.index}"
    client.transport.perform_request("PUT", f"/_search/pipeline/{name}", body={"response_processors": []})
    with pytest.raises(BadInput, match="did not make"):
        pipelines.install(request_)
    with pytest.raises(BadInput, match="did not make"):
        pipelines.remove(request_.index)
    client.transport.perform_request("DELETE", f"/_search/pipeline/{name}")

    body = {"name": name, "description": "mine"}
    group = client.transport.perform_request("POST", "/_plugins/_ml/model_groups/_register", body=body)
    with pytest.raises(BadInput, match=rf"model_groups/{group['model_group_id']}.*did not make"):
        pipelines.install(request_)
    client.transport.perform_request("DELETE", f"/_plugins/_ml/model_groups/{group['model_group_id']}")


def test_another_default_pipeline_is_not_pushed_aside(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    client.indices.put_settings(index=request_.index, body={"index.search.default_pipeline": "theirs"})
    with pytest.raises(BadInput, match="default search pipeline 'theirs' already"):
        pipelines.install(replace(request_, is_default=True))


def test_a_field_that_the_index_has_not_is_named_and_an_index_without_text_asks_for_fields(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    with pytest.raises(BadInput, match=r"no field 'txet' .*it has kind, text"):
        pipelines.install(replace(request_, fields=("txet",)))
    other = f"{request_.index}-numbers"
    client.indices.create(index=other, body={"mappings": {"properties": {"n": {"type": "integer"}}}})
    with pytest.raises(BadInput, match="no text field"):
        pipelines.install(replace(request_, index=other))
    client.indices.delete(index=other)


def test_an_index_that_is_not_there_is_named(pipelines: EnginePipelines) -> None:
    with pytest.raises(NotFound, match="'no-such-index'"):
        pipelines.install(PipelineRequest(index="no-such-index", service_url="http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"index": "../x"}, "cannot be an index"),
        ({"fields": ("title.en",)}, "top-level fields"),
        ({"fields": ("*",)}, "top-level fields"),
        ({"service_url": "localhost:8080"}, "http://HOST:PORT"),
        ({"service_url": "http://h:99999"}, "http://HOST:PORT"),
        ({"service_url": "http://h/${parameters.query}"}, "http://HOST:PORT"),
        ({"service_url": "http://me:secret@h"}, "credentials"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(change: dict[str, Any], words: str) -> None:
    wanted = {"index": "pets", "service_url": "http://h", **change}
    with opened("opensearch://127.0.0.1:9") as pipelines, pytest.raises(WrongParameter, match=words) as raised:
        pipelines.install(PipelineRequest(**wanted))
    assert "secret" not in str(raised.value)


def test_a_cluster_without_the_processor_is_told_which_plugins_it_lacks(opensearch_2_url: str) -> None:
    with opened(opensearch_2_url) as pipelines:
        with pytest.raises(BadInput, match="opensearch-ml and opensearch-neural-search"):
            pipelines.install(PipelineRequest(index="pets", service_url="http://127.0.0.1:9"))
        with pytest.raises(BadInput, match="no ml-commons"):
            pipelines.remove("pets")


def test_elasticsearch_has_no_search_pipelines(elasticsearch_8_url: str) -> None:
    with opened(elasticsearch_8_url) as pipelines, pytest.raises(BadInput, match="use the proxy"):
        pipelines.install(PipelineRequest(index="pets", service_url="http://127.0.0.1:9"))


IN_USE = {"error": {"type": "status_exception", "reason": "1 models are still using this connector"}, "status": 409}


@pytest.mark.parametrize(("n_refusals", "is_deleted"), [(0, True), (3, True), (10_000, False)])
def test_a_connector_whose_model_the_cluster_still_sees_is_waited_for(n_refusals: int, is_deleted: bool) -> None:
    clock, asked = [0.0], []

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        asked.append((method, path))
        return (409, IN_USE) if len(asked) <= n_refusals else (200, {"result": "deleted"})

    def sleep(seconds: float) -> None:
        clock[0] += 25 * seconds  # each try takes its time

    with serve_fake(answer) as fake, closing(opensearchpy.OpenSearch(fake.address)) as client:
        ml = MlCommons(client, urllib3.Timeout(5), clock=lambda: clock[0], sleep=sleep)
        if is_deleted:
            ml.delete_connector("c1")
            assert len(asked) == n_refusals + 1
        else:
            with pytest.raises(BadInput, match=r"c1 cannot be deleted \(.*1 models are still using .*delete what uses"):
                ml.delete_connector("c1")
            assert 20 < clock[0] <= 25
    assert set(asked) == {("DELETE", "/_plugins/_ml/connectors/c1")}
