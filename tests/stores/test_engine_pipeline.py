"""Search pipelines on a real OpenSearch with ml-commons and neural-search: installed, replaced, taken away."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import opensearchpy
import pytest
import regex

from reranker.base.errors import BadInput, NotFound, StoreUnavailable, WrongParameter
from reranker.stores.engine.pipeline import EnginePipelines, PipelineRequest
from reranker.upstream.addresses import EngineAddress, read_address
from tests.stores.fake_engine import FakeEngine
from tests.stores.fake_engine import serve as serve_fake

TRUSTED = "plugins.ml_commons.trusted_connector_endpoints_regex"
PRIVATE = "plugins.ml_commons.connector.private_ip_enabled"

TEXTS = {"1": "red cat", "2": "black cat", "3": "grey cat"}

_numbers = itertools.count(1)


@pytest.fixture
def client(opensearch_2_ml_url: str) -> Iterator[opensearchpy.OpenSearch]:
    """Of a cluster that may call every address."""
    with closing(opensearchpy.OpenSearch(opensearch_2_ml_url)) as client:
        client.cluster.put_settings(body={"persistent": {TRUSTED: [".*"], PRIVATE: True}})
        yield client
        client.cluster.put_settings(body={"persistent": {"plugins.ml_commons.*": None}})


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
    """Ranks the last document first, in Cohere's shape; keeps what it was `asked`, and fails with its `status`."""
    asked: list[dict[str, Any]] = []

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        assert (method, path) == ("POST", "/v1/rerank")
        asked.append(json.loads(body))
        if fake.status != 200:  # type: ignore[attr-defined]
            return fake.status, {"message": "not now"}  # type: ignore[attr-defined]
        n = len(asked[-1]["documents"])
        # More than 6 decimals are no Double to the engine.
        return 200, {"results": [{"index": i, "relevance_score": round((i + 0.5) / n, 6)} for i in reversed(range(n))]}

    with serve_fake(answer) as fake:
        fake.asked, fake.status = asked, 200  # type: ignore[attr-defined]
        yield fake


@pytest.fixture
def request_(index: str, service: FakeEngine, pipelines: EnginePipelines) -> Iterator[PipelineRequest]:
    yield PipelineRequest(index=index, service_url=service.address)
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


def test_a_search_through_it_comes_back_in_the_services_order_and_in_the_engines_where_the_service_fails(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest, service: Any
) -> None:
    before = search(client, request_.index)
    installed = pipelines.install(request_)
    assert installed.fields == ("text",)
    assert search(client, request_.index, 'big "cat"', search_pipeline=installed.name) == before[::-1]
    assert service.asked[-1] == {"query": 'big "cat"', "documents": [TEXTS[doc_id] for doc_id in before]}
    assert search(client, request_.index) == before  # a search that names no pipeline has none
    service.status = 503
    assert search(client, request_.index, search_pipeline=installed.name) == before


def test_a_service_that_asks_for_a_key_gets_it_and_a_second_run_brings_a_new_one(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest, service: Any
) -> None:
    for key in ("sinkrank_one", "sinkrank_two"):
        installed = pipelines.install(replace(request_, api_key=key))
        search(client, request_.index, search_pipeline=installed.name)
        assert service.headers[-1]["x-api-key"] == key
        (connector,) = objects(client, installed.name)["connectors"]
        assert key not in json.dumps(client.transport.perform_request("GET", f"/_plugins/_ml/connectors/{connector}"))
    assert [len(ids) for ids in objects(client, installed.name).values()] == [1, 1, 1]


def test_another_definition_takes_the_place_of_the_first(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest, service: Any
) -> None:
    first = pipelines.install(request_)
    before = objects(client, first.name)
    second = pipelines.install(replace(request_, fields=("text", "kind")))
    search(client, request_.index, search_pipeline=second.name)
    # The engine joins the fields of a hit without a space.
    assert sorted(service.asked[-1]["documents"]) == ["black catpet", "grey catpet", "red catpet"]
    after = objects(client, first.name)
    assert [len(ids) for ids in after.values()] == [1, 1, 1]
    assert (before["connectors"], before["models"]) != (after["connectors"], after["models"])


@pytest.mark.parametrize("step", ["_register", "_predict", "/_search/pipeline"])
def test_a_run_after_an_interrupted_one_finishes_it(
    client: opensearchpy.OpenSearch,
    pipelines: EnginePipelines,
    request_: PipelineRequest,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    call = pipelines._call

    def interrupted(method: str, path: str, *body: Any) -> Any:
        if step in path:
            raise KeyboardInterrupt
        return call(method, path, *body)

    with monkeypatch.context() as patch:
        patch.setattr(pipelines, "_call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pipelines.install(request_)
    installed = pipelines.install(request_)
    assert [len(ids) for ids in objects(client, installed.name).values()] == [1, 1, 1]
    assert search(client, request_.index, search_pipeline=installed.name) == search(client, request_.index)[::-1]


def test_removing_takes_all_away_and_twice_is_once(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    installed = pipelines.install(request_)
    assert list(pipelines.remove(installed.index).values()) == [1, 1, 1, 1]
    assert objects(client, installed.name) == {"connectors": [], "model_groups": [], "models": []}
    with pytest.raises(opensearchpy.NotFoundError):
        client.transport.perform_request("GET", f"/_search/pipeline/{installed.name}")
    assert set(pipelines.remove(installed.index).values()) == {0}


def test_the_calls_that_the_page_shows_make_the_same_pipeline(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest, service: FakeEngine
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    section = page.partition("## `sinkrank pipeline install`")[2].partition("## ")[0]
    calls = regex.findall(r"curl -X (\w+) 'localhost:9200(\S+)' .* -d '([^']*)'", section)
    assert len(calls) == 5
    answers: list[Any] = []
    for method, path, body in calls:
        for shown, meant in (
            ("http://10.0.0.7:8080", service.address),
            ("^http://10[.]0[.]0[.]7:8080/.*$", f"^{service.address}/.*$"),
            ("CONNECTOR_ID", answers[1]["connector_id"] if len(answers) > 1 else ""),
            ("MODEL_ID", answers[2]["model_id"] if len(answers) > 2 else ""),
            ("pages", request_.index),
        ):
            path, body = path.replace(shown, meant), body.replace(shown, meant)
        answers.append(client.transport.perform_request(method, path, body=json.loads(body)))
    before = search(client, request_.index, text=None)  # a default pipeline leaves it alone
    assert search(client, request_.index) == before[::-1]
    by_hand = connector_and_pipeline(client, request_.index)
    pipelines.install(request_)
    assert connector_and_pipeline(client, request_.index) == by_hand
    client.indices.put_settings(index=request_.index, body={"index.search.default_pipeline": None})
    assert list(pipelines.remove(request_.index).values()) == [1, 1, 1, 1]


def connector_and_pipeline(client: opensearchpy.OpenSearch, index: str) -> tuple[Any, Any]:
    """What calls the service, and what gives it the hits' texts, without ids."""
    name = f"sinkrank-{index}"
    (connector,) = objects(client, name)["connectors"]
    found = client.transport.perform_request("GET", f"/_plugins/_ml/connectors/{connector}")
    pipeline = client.transport.perform_request("GET", f"/_search/pipeline/{name}")[name]
    del pipeline["response_processors"][0]["rerank"]["ml_opensearch"]
    return {key: found[key] for key in ("name", "protocol", "client_config", "actions")}, pipeline


def test_what_the_cluster_still_holds_in_use_is_deleted_when_it_is_free() -> None:
    """OpenSearch 2.19 answers so while a model's nodes deploy or undeploy it."""
    deployed = "Model cannot be deleted in deploying or deployed state. Try undeploy model first then delete"
    refusals = {
        "/_plugins/_ml/models/m": (400, {"error": {"type": "status_exception", "reason": deployed}, "status": 400}),
        "/_plugins/_ml/connectors/c": (409, {"error": {"type": "status_exception", "reason": "1 models"}}),
    }
    deleted: list[str] = []

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        if path.endswith("/_search"):
            ids = {"models": ["m"], "connectors": ["c"]}.get(path.split("/")[3], [])
            return 200, {"hits": {"hits": [{"_id": one} for one in ids]}}
        if method == "DELETE" and path in refusals:
            return refusals.pop(path)
        if method == "DELETE":
            deleted.append(path)
        return 200, {}

    with serve_fake(answer) as fake, opened(fake.address) as pipelines:
        assert pipelines.remove("pets")["model"] == 1
    assert deleted[1:] == ["/_plugins/_ml/models/m", "/_plugins/_ml/connectors/c"]


def test_a_cluster_that_may_not_call_the_service_says_what_to_set(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    for lacking in (TRUSTED, PRIVATE):
        client.cluster.put_settings(body={"persistent": {lacking: None}})
        with pytest.raises(
            StoreUnavailable, match=rf"(?s)rank by {request_.service_url}/v1/rerank.*{TRUSTED}.*{PRIVATE}"
        ):
            pipelines.install(request_)
        client.cluster.put_settings(body={"persistent": {TRUSTED: [".*"], PRIVATE: True}})


def test_a_service_that_does_not_answer_is_found_out_before_searches_meet_it(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    nobody = PipelineRequest(index=request_.index, service_url="http://127.0.0.1:9")
    with pytest.raises(StoreUnavailable, match=r"cannot rank by http://127\.0\.0\.1:9/v1/rerank .*sinkrank serve"):
        pipelines.install(nobody)
    with pytest.raises(opensearchpy.NotFoundError):
        client.transport.perform_request("GET", f"/_search/pipeline/sinkrank-{request_.index}")


@pytest.mark.parametrize("status", [401, 403])
def test_a_service_that_wants_a_key_is_not_taken_for_the_cluster(
    pipelines: EnginePipelines, request_: PipelineRequest, service: Any, status: int
) -> None:
    service.status = status
    with pytest.raises(StoreUnavailable, match=rf"{service.address}/v1/rerank .*{status}.*--api-key-file"):
        pipelines.install(request_)


def test_the_one_text_field_is_ranked_by_whatever_its_type_and_of_several_none_is_guessed(
    client: opensearchpy.OpenSearch, pipelines: EnginePipelines, request_: PipelineRequest
) -> None:
    """OpenSearch joins several without a space."""
    other = f"{request_.index}-news"
    properties = {"body": {"type": "match_only_text"}, "day": {"type": "date"}}
    client.indices.create(index=other, body={"mappings": {"properties": properties}})
    assert pipelines.install(replace(request_, index=other)).fields == ("body",)
    client.indices.put_mapping(index=other, body={"properties": {"title": {"type": "text"}}})
    with pytest.raises(BadInput, match=r"several text fields .body, title.*without a space.*--field"):
        pipelines.install(replace(request_, index=other))
    pipelines.remove(other)
    client.indices.delete(index=other)


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
        ({"service_url": "localhost:8080"}, "http://HOST:PORT"),
        ({"service_url": "http://h/${parameters.query}"}, "http://HOST:PORT"),
        ({"service_url": "http://me:secret@h"}, "credentials"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(change: dict[str, Any], words: str) -> None:
    wanted = {"index": "pets", "service_url": "http://h", **change}
    with opened("opensearch://127.0.0.1:9") as pipelines, pytest.raises(WrongParameter, match=words) as raised:
        pipelines.install(PipelineRequest(**wanted))
    assert "secret" not in str(raised.value)


def test_an_engine_without_ml_commons_is_told_which_plugins_it_lacks(
    opensearch_2_url: str, elasticsearch_8_url: str
) -> None:
    for url in (opensearch_2_url, elasticsearch_8_url):
        with opened(url) as pipelines:
            with pytest.raises(BadInput, match=r"opensearch-ml and opensearch-neural-search, or use the proxy"):
                pipelines.install(PipelineRequest(index="pets", service_url="http://127.0.0.1:9"))
            with pytest.raises(BadInput, match="no ml-commons"):
                pipelines.remove("pets")
