"""Which `Host` and `Origin` headers are answered."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from pydantic import ValidationError

from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store
from tests.support.service import serving

MakeApp = Callable[[Settings, Store | None], Flask]
REBOUND = "rebound.example:8080"


def _status(app: Flask, host: str, path: str = "/-/live") -> int:
    return app.test_client().get(path, headers={"Host": host}).status_code


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:8080", "localhost.:80", "127.0.0.1:8080", "127.3.2.1", "[::1]:8080", "[::1]"]
)
def test_a_loopback_service_answers_to_loopback_hosts(make_app: MakeApp, host: str) -> None:
    assert _status(make_app(Settings(), None), host) == 200


@pytest.mark.parametrize(
    "host",
    [
        REBOUND,
        "localhost.rebound.example",
        "127.0.0.1.rebound.example",
        "localhost, rebound.example",
        "localhost@rebound.example",
        "192.168.0.7:8080",
        "[fe80::1]:8080",
        "localhost:80:80",
        "[localhost]",
        "\xe9.example",
    ],
)
def test_a_loopback_service_refuses_other_hosts(make_app: MakeApp, host: str) -> None:
    assert _status(make_app(Settings(), None), host) == 421


@pytest.mark.parametrize("own", ["127.0.0.1", "::1", "localhost", "127.0.0.9", "127.1"])
@pytest.mark.parametrize(
    "path", ["/", "/-/live", "/-/ready", "/-/metrics", "/-/ui", "/-/static/page.js", "/pages/_search", "/-/nothing"]
)
def test_every_route_is_protected(make_app: MakeApp, own: str, path: str) -> None:
    answer = make_app(Settings(host=own), None).test_client().get(path, headers={"Host": REBOUND})
    assert answer.status_code == 421
    assert answer.get_json()["code"] == "host_not_allowed"
    assert "allowed_hosts" in answer.get_json()["detail"]


def test_the_setting_adds_names(make_app: MakeApp) -> None:
    app = make_app(Settings(allowed_hosts=("Search.Example.org", "search.internal")), None)
    assert [_status(app, host) for host in ("search.example.org:8080", "search.internal", "localhost")] == [200] * 3
    assert [_status(app, host) for host in ("example.org", "a.search.example.org", REBOUND)] == [421] * 3
    assert _status(make_app(Settings(allowed_hosts=("*",)), None), REBOUND) == 200


def test_a_service_on_another_address_answers_to_any_host_unless_told_which(make_app: MakeApp) -> None:
    assert _status(make_app(Settings(host="0.0.0.0"), None), REBOUND) == 200
    app = make_app(Settings(host="0.0.0.0", allowed_hosts=("search.example.org",)), None)
    hosts = ("search.example.org", "localhost:8080", "10.1.2.3:8080", "[fd00::7]:8080", REBOUND)
    assert [_status(app, host) for host in hosts] == [200, 200, 200, 200, 421]


def test_a_request_of_http_1_0_without_a_host_is_answered(app: Flask) -> None:
    with serving(app) as url, socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), 10) as connection:
        connection.sendall(b"GET /-/live HTTP/1.0\r\n\r\n")
        assert connection.recv(100).split()[1] == b"200"


@pytest.mark.parametrize("name", ["http://example.org", "example.org:80", "127.0.0.1:80", "", "a b", "*.example.org"])
def test_a_setting_that_names_no_host_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="without scheme and port"):
        Settings(allowed_hosts=(name,))


def _search(app: Flask, origin: str | None, **more: Any) -> int:
    headers = {"Host": "localhost:8080", **({} if origin is None else {"Origin": origin})}
    return app.test_client().post("/v1/search", data=b'{"query": "cat"}', headers=headers, **more).status_code


@pytest.mark.parametrize("kind", [None, "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", "http://[", ""])
def test_a_page_of_another_origin_cannot_post_without_a_preflight(app: Flask, origin: str, kind: str | None) -> None:
    assert _search(app, origin, content_type=kind) == 403


def test_pages_that_may_post_do(app: Flask, make_app: MakeApp, store: Store, settings: Settings) -> None:
    assert _search(app, "http://localhost:8080", content_type="text/plain") == 200
    # A browser asks by a preflight first.
    assert _search(app, "https://evil.example", content_type="application/json") == 200
    named = make_app(settings.model_copy(update={"allowed_hosts": ("pages.example",)}), store)
    assert _search(named, "https://pages.example:444", content_type="text/plain") == 200
    assert _search(named, "https://evil.example", content_type="text/plain") == 403


def test_a_preflight_of_our_own_routes_allows_no_origin(app: Flask) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = app.test_client().options("/v1/search", headers=headers)
    assert "Access-Control-Allow-Origin" not in answer.headers
