"""What a client writes into the head of a request reaches the engine as it was written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import urllib3

from tests.proxy.test_passing import send_raw
from tests.support.fake_engine import FakeEngine
from tests.support.service import MakeProxy, serving

IMPERSONATE = "opendistro_security_impersonate_as"


@pytest.fixture
def url(fake: FakeEngine, make_proxy: MakeProxy) -> Iterator[str]:
    with serving(make_proxy()) as url:
        yield url


def test_a_header_with_underscores_reaches_the_engine_under_its_own_name(fake: FakeEngine, url: str) -> None:
    """WSGI has one name for `a_b` and `a-b`. OpenSearch reads who is impersonated from a header with underscores."""
    headers = urllib3.HTTPHeaderDict({IMPERSONATE: "anna", IMPERSONATE.replace("_", "-"): "bert", "X_y-Z": "caf\xe9"})
    headers.add("x_Y-z", "2")
    urllib3.request("GET", f"{url}/pages/_search?q=cat", headers=headers, retries=False)
    for received in fake.received:
        sent = {name.lower(): value for name, value in received.headers}
        assert sent[IMPERSONATE] == "anna"
        assert sent[IMPERSONATE.replace("_", "-")] == "bert"
        assert sent["x_y-z"] == "caf\xe9, 2"
    assert fake.received


def test_a_header_with_underscores_is_none_of_the_next_request(fake: FakeEngine, url: str) -> None:
    with urllib3.HTTPConnectionPool(url.removeprefix("http://"), maxsize=1) as pool:
        for headers in ({IMPERSONATE: "anna"}, {"Connection": IMPERSONATE, IMPERSONATE: "anna"}, {}):
            pool.request("GET", "/pages", headers=headers, retries=False)
    assert [received.header(IMPERSONATE) for received in fake.received] == ["anna", None, None]


@pytest.mark.parametrize(
    ("target", "passed_on"),
    [
        ("/pages/_count?q=text:café+train", "/pages/_count?q=text:caf%C3%A9+train"),
        ("/pages/_doc/café%2F?a=%e9", "/pages/_doc/caf%C3%A9%2F?a=%e9"),
        ("//café/_count", "//caf%C3%A9/_count"),
        ("/\x00\t\x7f", "/%00%09%7F"),
    ],
)
def test_a_target_that_is_not_ascii_reaches_the_engine_escaped(
    fake: FakeEngine, url: str, target: str, passed_on: str
) -> None:
    """curl sends what it is given, and engines read it."""
    answer = send_raw(url, f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert [received.line for received in fake.received] == [f"GET {passed_on} HTTP/1.1"]


@pytest.mark.parametrize("line", [b"G\xc3\x89T /a HTTP/1.1", b"GET /a HTTP/1.1\xc3\x89", b"GET /a\rb HTTP/1.1"])
def test_a_request_line_that_is_no_http_is_refused(fake: FakeEngine, url: str, line: bytes) -> None:
    assert send_raw(url, line + b"\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.0 400 ")
    assert fake.received == []
