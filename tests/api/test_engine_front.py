"""What is answered ahead of Flask: the same refusals, and nothing of ours on what is passed on."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from reranker.api.limits import REFUSAL
from reranker.service.key_file import add_key
from tests.support.fake_engine import FakeEngine
from tests.support.service import MakeProxy


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/-/nothing", 404),
        ("GET", "/-/live", 200),
        ("GET", "/v1/search", 405),
        ("GET", "/rerank", 405),
        ("DELETE", "/%72erank", 405),
        ("GET", "/v2/other", 404),
        ("GET", "//-/live", 200),
        ("GET", "/%2Fv1/search", 405),
        ("GET", "/v1%2Fsearch", 405),
        ("PROPFIND", "/pages", 404),
    ],
)
def test_what_is_not_for_the_engine_does_not_reach_it(
    fake: FakeEngine, make_proxy: MakeProxy, method: str, target: str, status: int
) -> None:
    # The test client would take `//pages` for a host.
    overrides = {"REQUEST_URI": target, "PATH_INFO": unquote(target)}
    answer = make_proxy().test_client().open(method=method, environ_overrides=overrides)
    assert answer.status_code == status
    assert answer.headers["X-Opaque-Id"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert fake.received == []


@pytest.mark.parametrize("index", ["v1", "v2", "rerank"])
def test_an_index_with_a_name_of_ours_is_told_why_it_is_not_reached(
    fake: FakeEngine, make_proxy: MakeProxy, index: str
) -> None:
    answer = make_proxy().test_client().post(f"/{index}/_search", json={})
    assert answer.status_code == 404
    assert "Paths outside /-, /rerank, /v1 and /v2 are passed on" in answer.get_json()["detail"]
    assert fake.received == []


@pytest.mark.parametrize("path", ["/v1/rerank", "/v1/traffic", "/-/static/page.js"])
def test_a_route_of_ours_names_its_own_methods_alone(fake: FakeEngine, make_proxy: MakeProxy, path: str) -> None:
    client = make_proxy().test_client()
    for method, status in (("OPTIONS", 200), ("PATCH", 405), ("TRACE", 405)):
        answer = client.open(path, method=method)
        assert answer.status_code == status
        methods = set(answer.headers["Allow"].split(", "))
        assert methods == ({"POST", "OPTIONS"} if path == "/v1/rerank" else {"GET", "HEAD", "OPTIONS"})
    assert fake.received == []


@pytest.mark.parametrize(
    "target", ["/", "/pages", "//pages/_doc/1", "/v1x/_search", "/_search?v1", "/pages/v1", "/a?//b"]
)
def test_what_is_for_the_engine_comes_back_without_headers_of_ours(
    fake: FakeEngine, make_proxy: MakeProxy, target: str
) -> None:
    overrides = {"REQUEST_URI": target, "PATH_INFO": target.partition("?")[0]}
    answer = make_proxy().test_client().get(headers={"X-Opaque-Id": "7"}, environ_overrides=overrides)
    assert answer.status_code == 200
    assert "X-Opaque-Id" not in answer.headers
    assert "X-Content-Type-Options" not in answer.headers
    assert len(fake.received) == 1


def test_a_host_that_is_not_ours_is_refused_once_and_counted_once(fake: FakeEngine, make_proxy: MakeProxy) -> None:
    client = make_proxy(allowed_hosts=["search.example"]).test_client()
    answer = client.get("/pages", headers={"Host": "evil.example"})
    assert answer.status_code == 421
    assert fake.received == []
    counted = client.get("/-/metrics", headers={"Host": "search.example"}).text
    assert 'sinkrank_http_requests_total{method="GET",route="engine",status="421"} 1.0' in counted


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"HTTP_HOST": "evil.example"}, 421, "host_not_allowed"),
        ({"HTTP_X_API_KEY": "wrong"}, 401, "unauthenticated"),
        ({REFUSAL: "threads"}, 429, "rejected_execution_exception"),
    ],
)
def test_who_is_refused_on_the_engines_paths_gets_an_error_in_its_shape(
    fake: FakeEngine, make_proxy: MakeProxy, tmp_path: Path, asked: dict[str, str], status: int, code: str
) -> None:
    keys = tmp_path / "keys"
    key = add_key(keys, "client")
    client = make_proxy(allowed_hosts=["search.example"], api_keys=keys).test_client()
    overrides = {"HTTP_HOST": "search.example", "HTTP_X_API_KEY": key} | asked
    answer = client.get("/pages", environ_overrides=overrides)
    assert answer.status_code == status
    error = answer.get_json()["error"]
    assert (error["type"], error["root_cause"][0]["type"]) == (code, code)
    assert fake.received == []


def test_an_error_of_the_engines_paths_is_in_its_shape(make_proxy: MakeProxy) -> None:
    answer = make_proxy(proxy_max_body_bytes=1_000).test_client().put("/pages", data=b"a" * 1_001)
    assert answer.status_code == 413
    assert answer.get_json()["error"]["type"] == "request_entity_too_large"
    assert "X-Content-Type-Options" not in answer.headers
