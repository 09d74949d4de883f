"""The description of the routes: that it is whole, and that the service does what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import regex
import schemathesis
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import CHECKS, load_all_checks

from reranker.api.limits import REFUSAL
from reranker.api.openapi import ROUTES, description
from reranker.service.key_file import add_key
from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store

ROOT = Path(__file__).parents[2]

load_all_checks()
# A query of any words is a valid body, but need not be one that finds a word; and what the routes of others' clients
# have no use for they read over. All else that schemathesis knows is checked.
LEFT_OUT = ["positive_data_acceptance", "negative_data_rejection"]
CHECKED = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]
MOST_EXAMPLES = 25


def test_each_of_our_routes_is_described_and_no_other(app: Flask) -> None:
    ours = {
        (rule.rule, method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule not in ("/", "/-/static/<path:name>")
    }
    assert ours == {(route.path, route.method) for route in ROUTES}


def test_it_is_served_as_it_is_generated(client: FlaskClient) -> None:
    served = client.get("/-/openapi.json")
    assert served.mimetype == "application/json"
    assert served.get_json() == json.loads(json.dumps(description()))
    assert served.get_json()["openapi"].startswith("3.1.")


def test_each_status_in_the_table_of_errors_is_described() -> None:
    _, errors = (ROOT / "docs" / "http.md").read_text(encoding="utf-8").split("\n## Errors\n")
    listed = {status for row in regex.findall(r"^\| ([\d, ]+) \|", errors, regex.M) for status in row.split(", ")}
    assert {"400", "421", "429", "501", "502"} <= listed
    for path in ("/v1/search", "/v1/explain", "/v1/rerank", "/v2/rerank", "/rerank"):
        assert listed <= set(description()["paths"][path]["post"]["responses"])


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.parametrize(("asked", "status"), [({"HTTP_HOST": "evil.example"}, 421), ({REFUSAL: "threads"}, 429)])
def test_what_is_refused_before_any_route_is_described(
    app: Flask, route: Any, asked: dict[str, str], status: int
) -> None:
    answer = app.test_client().open(route.path, method=route.method, environ_overrides=asked)
    assert answer.status_code == status
    described = description()["paths"][route.path][route.method]["responses"][str(status)]["content"]
    assert list(described) == [answer.mimetype]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.parametrize(("is_lost", "status"), [(False, 401), (True, 503)])
def test_what_is_refused_for_want_of_an_api_key_is_described(
    make_app: Callable[[Settings, Store | None], Flask],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    route: Any,
    is_lost: bool,
    status: int,
) -> None:
    monkeypatch.setattr("reranker.api.api_keys.LOOK_SECONDS", 0)
    file = tmp_path / "keys"
    key = add_key(file, "shop")
    client = make_app(Settings(api_keys=file, threads=1), None).test_client()
    if is_lost:
        file.unlink()
    answer = client.open(route.path, method=route.method, headers={"X-Api-Key": key} if is_lost else {})
    assert answer.status_code == (200 if route.path in ("/-/live", "/-/ready") else status)
    described = description()["paths"][route.path][route.method]["responses"][str(answer.status_code)]["content"]
    assert list(described) == [answer.mimetype]


def test_the_index_whose_examples_are_asked_for_is_a_described_parameter() -> None:
    (parameter,) = description()["paths"]["/-/ui/examples"]["get"]["parameters"]
    assert (parameter["name"], parameter["in"]) == ("index", "query")


BODIES = {
    # Without hits, since `from` and `size` together have a limit too.
    "SearchBody": ("/v1/search", {"query": "cat", "size": 0}),
    "ExplainBody": ("/v1/explain", {"query": "cat", "id": "cat-fr"}),
    "RerankBody": ("/v2/rerank", {"query": "cat", "documents": ["dog"]}),
}


def stated(limit: str) -> list[tuple[str, str, Any]]:
    """Model, key and value of each limit of this name in the description."""
    found = []
    for model in BODIES:
        for key, schema in description()["components"]["schemas"][model]["properties"].items():
            (first, *_) = schema.get("anyOf", [schema])
            found += [(model, key, first[limit])] if limit in first else []
    return found


def status_of(client: FlaskClient, model: str, key: str, value: Any) -> int:
    path, body = BODIES[model]
    return client.post(path, json={**body, key: value}).status_code


@pytest.mark.parametrize(("model", "key", "least"), stated("minimum"))
def test_the_least_value_that_is_stated_is_the_least_that_is_taken(
    client: FlaskClient, model: str, key: str, least: float
) -> None:
    assert status_of(client, model, key, least) == 200
    assert status_of(client, model, key, least - (1 if isinstance(least, int) else least / 100)) == 400


@pytest.mark.parametrize(("model", "key", "most"), stated("maximum"))
def test_the_largest_value_that_is_stated_is_the_largest_that_is_taken(
    client: FlaskClient, model: str, key: str, most: float
) -> None:
    assert status_of(client, model, key, most) == 200
    assert status_of(client, model, key, most + 1) == 400


@pytest.mark.parametrize(("model", "key", "values"), stated("enum"))
def test_each_value_that_is_listed_is_taken_and_no_other(
    client: FlaskClient, model: str, key: str, values: list[str]
) -> None:
    assert {status_of(client, model, key, value) for value in values} == {200}
    assert status_of(client, model, key, "other") == 400


def test_each_key_of_a_request_is_described() -> None:
    schemas = description()["components"]["schemas"]
    for model in (*BODIES, "MatchesBody", "TextsBody"):
        assert [key for key, schema in schemas[model]["properties"].items() if not schema.get("description")] == []


GOOD = [
    ("/v1/search", {"query": "cat zzz", "languages": ["fr"], "filters": {"year": {"gte": 1990}}}),
    ("/v1/search", {"query": "cat", "size": 5, "method": "none"}),
    ("/v1/explain", {"query": "cat dog", "id": "cat-fr", "method": "relaxed"}),
    ("/v1/explain", {"query": "cat zzz", "id": "cat-fr"}),
    ("/v1/matches", {"query": "cat zzz", "texts": ["The cat", "zzz chat"], "languages": ["en", "fr"]}),
    ("/v1/rerank", {"query": "cat", "documents": ["dog", {"text": "chat"}], "return_documents": True, "top_n": 1}),
    ("/v2/rerank", {"query": "zzz", "documents": ["dog"]}),
    ("/rerank", {"query": "cat", "texts": ["dog", "chat"], "return_text": True}),
    ("/rerank", {"query": "cat", "documents": ["dog", "chat"]}),
    ("/rerank", {"query": "cat", "texts": ["dog", "zzz"]}),
]


@pytest.mark.parametrize(("path", "body"), GOOD)
def test_a_good_request_is_answered_as_described(app: Flask, path: str, body: dict[str, Any]) -> None:
    schema = schemathesis.openapi.from_wsgi("/-/openapi.json", app)
    case = schema[path]["post"].Case(body=body, media_type="application/json")
    assert case.call_and_validate(checks=CHECKED).status_code == 200


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_service_does_what_the_description_says(app: Flask, route: object) -> None:
    schema = schemathesis.openapi.from_wsgi("/-/openapi.json", app)
    operation = schema[route.path][route.method]  # type: ignore[attr-defined]

    @seed(20261121)
    @settings(
        max_examples=MOST_EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def holds(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKED)

    holds()
