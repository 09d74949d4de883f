"""What passes through the proxy is the same on both sides, down to the bytes."""

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import urllib3
from pydantic import SecretStr

from reranker.base.errors import BadInput
from reranker.upstream.addresses import EngineAddress, read_address
from reranker.upstream.nodes import Upstream
from tests.support.fake_engine import FakeEngine, Received, ok
from tests.support.listening import closed_port
from tests.support.service import MakeProxy, serving
from tests.support.waiting import PATIENCE_S


@pytest.fixture
def url(fake: FakeEngine, make_proxy: MakeProxy) -> Iterator[str]:
    app = make_proxy(
        store_username="admin",
        store_password=SecretStr("secret"),
        max_body_bytes=100_000,
        proxy_max_body_bytes=1_000_000,
    )
    with serving(app) as url:
        yield url


def send_raw(url: str, request: bytes) -> bytes:
    """What a bare socket gets for bare bytes."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        answer = b""
        while block := connection.recv(65_536):
            answer += block
    return answer


@pytest.mark.parametrize(
    "target",
    [
        "/_cat/indices?v&h=index,docs.count",
        "/%3Clogs-%7Bnow%2Fd%7D%3E/_doc/a%2fb",
        "/pages/_doc/caf%C3%A9?routing=%41",
        "/pages/_doc/1?q=100%",
        "/pages//_doc/1",
        "/pages/",
        "/pages/_source/../x",
        "/pages?a=1&a=2&&b",
        "/pages?",
        "/pages?empty=",
        "/pages;v=1/x?y=a+b%20c",
        "/pages/_doc/a%0Ab",
        "/%0Apages/%0D%0A%0a",
        "/v1%0A/_search",
        "/%00/%E2%80%A8",
    ],
)
def test_the_request_target_is_passed_as_it_was_written(fake: FakeEngine, url: str, target: str) -> None:
    send_raw(url, f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert fake.received[0].line == f"GET {target} HTTP/1.1"


def test_a_host_in_the_request_is_not_gone_to(fake: FakeEngine, url: str) -> None:
    send_raw(url, b"GET http://evil.example:99/a?b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert fake.received[0].line == "GET /a?b HTTP/1.1"
    assert fake.received[0].header("Host") == fake.url.removeprefix("opensearch://")


LINES = b'{}\n{"query": {"match": {"body": "cat"}}, "ext": {"rerank": {"window_size": -1}}}\n'
PLAIN_LINES = b'{}\n{"query": {"match": {"body": "cat"}}}\n'
SEARCH = b'{"query": {"match": {"body": "cat"}},  "ext": {"rerank": {"window_size": 3}}, "size": 3}'
PLAIN_SEARCH = b'{"query": {"match": {"body": "cat"}}, "size": 3}'
PADDED = SEARCH + b" " * 200_000
ODD = (
    b"query: cat",  # YAML
    b'{"ext": {"rerank": {"query_context": {"query_text_path": "query.match.body"}}}}',  # neural-search's
)


@pytest.mark.parametrize("body", [PLAIN_SEARCH, b"", LINES, PADDED, gzip.compress(PLAIN_SEARCH, mtime=0), *ODD])
@pytest.mark.parametrize("path", ["/pages/_search", "/_msearch"])
def test_a_search_that_is_switched_off_is_passed_as_it_is(fake: FakeEngine, url: str, path: str, body: bytes) -> None:
    """Whatever its body is, but for a section of ours."""
    headers = {"Content-Type": "application/json"} | ({"Content-Encoding": "gzip"} if body[:1] == b"\x1f" else {})
    answer = urllib3.request("POST", f"{url}{path}?a=1&rerank=false&b=%2F", body=body, headers=headers)
    assert answer.headers["X-Rerank-Status"] == "skipped"
    assert answer.headers["X-Rerank-Reason"] == ("body_too_large" if body == PADDED else "disabled")
    assert fake.received[0].line == f"POST {path}?a=1&b=%2F HTTP/1.1"
    assert fake.received[0].body == (PLAIN_LINES if (path, body) == ("/_msearch", LINES) else body)


@pytest.mark.parametrize(
    ("path", "body", "sent", "reason"),
    [
        ("/pages/_search?rerank=false", SEARCH, PLAIN_SEARCH, "disabled"),
        ("/pages/_search?rerank=false", gzip.compress(SEARCH, mtime=0), PLAIN_SEARCH, "disabled"),
        ("/pages/_search?rerank=false", b'{"ext": {"rerank": 5, "a": {}}}', b'{"ext": {"a":{}}}', "disabled"),
        ("/_msearch?rerank=false", LINES, PLAIN_LINES, "disabled"),
        ("/_msearch?filter_path=-took", LINES, PLAIN_LINES, "filter_path"),
        ("/_msearch?filter_path=-took", LINES[:-1], LINES[:-1], "filter_path"),
        ("/_msearch?rerank=false", b"{}\noops\n" + LINES, b"{}\noops\n" + PLAIN_LINES, "disabled"),
        ("/_msearch", LINES * 201, PLAIN_LINES * 201, "body_too_large"),
    ],
)
def test_an_engine_is_not_sent_the_section_of_a_search_that_is_not_re_ranked(
    fake: FakeEngine, url: str, path: str, body: bytes, sent: bytes, reason: str
) -> None:
    """It would refuse the search."""
    headers = {"Content-Type": "application/json"} | ({"Content-Encoding": "gzip"} if body[:1] == b"\x1f" else {})
    answer = urllib3.request("POST", f"{url}{path}", body=body, headers=headers)
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("skipped", reason)
    (received,) = fake.received
    assert received.body == sent
    assert received.header("Content-Encoding") is None


@pytest.mark.parametrize(("status", "shown"), [(200, 200), (400, 500)])
def test_an_engine_that_fails_without_the_section_is_sent_it_and_its_failure_stays_if_it_refuses_it(
    fake: FakeEngine, url: str, status: int, shown: int
) -> None:
    """The processor `rerank` of an index's default pipeline fails without it; other engines refuse it."""
    sent = gzip.compress(SEARCH, mtime=0)

    def answer(received: Received) -> bytes:
        return ok(b"{}").replace(b"200 OK", b"%d X" % (status if received.body == sent else 500))

    fake.answer = answer
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    found = urllib3.request("POST", f"{url}/pages/_search?rerank=false", body=sent, headers=headers, retries=False)
    assert found.status == shown
    assert [received.body for received in fake.received] == [PLAIN_SEARCH, sent]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_every_method_is_passed(fake: FakeEngine, url: str, method: str) -> None:
    urllib3.request(method, f"{url}/pages/_doc/1", retries=False)
    assert fake.received[0].line.startswith(f"{method} /pages/_doc/1 ")


def test_the_callers_headers_are_passed_without_those_of_the_connection(fake: FakeEngine, url: str) -> None:
    headers = {
        "Authorization": "Basic dXNlcjpwYXNz",
        "X-Opaque-Id": "42",
        "Connection": "keep-alive, X-Secret-Hop",
        "X-Secret-Hop": "1",
        "Keep-Alive": "timeout=5",
        "TE": "trailers",
        "User-Agent": "me",
        "Accept-Encoding": "br",
        "Origin": "http://127.0.0.1:1234",
    }
    urllib3.request("GET", f"{url}/pages", headers=headers)
    received = fake.received[0]
    assert received.header("Authorization") == "Basic dXNlcjpwYXNz"
    assert received.header("X-Opaque-Id") == "42"
    assert received.header("User-Agent") == "me"
    assert received.header("Accept-Encoding") == "br"
    assert received.header("Origin") == "http://127.0.0.1:1234"
    for name in ("X-Secret-Hop", "Keep-Alive", "TE"):
        assert received.header(name) is None


def test_a_page_of_the_services_own_address_is_of_no_other_origin_for_the_engine(fake: FakeEngine, url: str) -> None:
    """The engine compares `Origin` with its own address, and with `http.cors.enabled` it would refuse the page."""
    for origin in (url, "http://shop.example"):
        urllib3.request("POST", f"{url}/pages/_search", json={}, headers={"Origin": origin})
    assert [received.header("Origin") for received in fake.received] == [None, "http://shop.example"]


def test_nothing_is_added_to_a_request(fake: FakeEngine, url: str) -> None:
    """Nor are the service's credentials lent to it."""
    send_raw(url, b"GET /pages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert {name.lower() for name, _ in fake.received[0].headers} == {"host"}


def test_a_body_is_passed_as_it_is(fake: FakeEngine, url: str) -> None:
    body = gzip.compress(b'{"index":{}}\n{"a":1}\n') + bytes(range(256))
    headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
    urllib3.request("POST", f"{url}/_bulk", body=body, headers=headers)
    received = fake.received[0]
    assert received.body == body
    assert not received.is_chunked
    assert received.header("Content-Type") == "application/x-ndjson"
    assert received.header("Content-Encoding") == "gzip"


def test_a_body_in_chunks_is_passed_whole(fake: FakeEngine, url: str) -> None:
    urllib3.request("POST", f"{url}/_bulk", body=iter([b"a" * 70_000, b"b" * 70_000]))
    assert fake.received[0].body == b"a" * 70_000 + b"b" * 70_000


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_over_the_limit_is_refused(fake: FakeEngine, url: str, is_chunked: bool) -> None:
    body = b"a" * 1_000_001
    answer = urllib3.request("PUT", f"{url}/pages", body=iter([body]) if is_chunked else body, retries=False)
    assert answer.status == 413
    assert "1000000 bytes" in answer.json()["error"]["reason"]
    assert fake.received == []


def test_an_answer_of_a_gateway_before_the_engine_is_passed_without_the_headers_of_the_connection(
    fake: FakeEngine, url: str
) -> None:
    lines = [
        "HTTP/1.1 407 Proxy Authentication Required",
        'Proxy-Authenticate: Basic realm="gateway"',
        "Keep-Alive: timeout=5",
        "Trailers: X-Sum",
        "Upgrade: h2c",
        "Content-Length: 2",
    ]
    fake.answer = lambda received: "\r\n".join([*lines, "Connection: close, X-Hop", "X-Hop: 1", "", "no"]).encode()
    answer = urllib3.request("GET", f"{url}/pages", retries=False)
    assert (answer.status, answer.data) == (407, b"no")
    assert {name.lower() for name in answer.headers} == {"content-length", "date", "server"}


def test_an_answer_is_passed_as_it_is(fake: FakeEngine, url: str) -> None:
    body = gzip.compress(b'{"pages":{}}')
    lines = [
        "HTTP/1.1 302 Odd",
        "Content-Type: application/vnd.elasticsearch+json;compatible-with=8",
        "Content-Encoding: gzip",
        "X-Elastic-Product: Elasticsearch",
        "Access-Control-Allow-Origin: http://127.0.0.1:1234",
        "Warning: 299 one",
        "Warning: 299 two",
        "Location: http://elsewhere.example/",
        f"Content-Length: {len(body)}",
        "Connection: close, X-Hop",
        "X-Hop: 1",
    ]
    fake.answer = lambda received: "\r\n".join([*lines, "", ""]).encode() + body
    answer = urllib3.request("GET", f"{url}/pages", decode_content=False, redirect=False)
    assert (answer.status, answer.reason, answer.data) == (302, "Odd", body)
    assert answer.headers["Content-Type"] == "application/vnd.elasticsearch+json;compatible-with=8"
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["X-Elastic-Product"] == "Elasticsearch"
    assert answer.headers["Access-Control-Allow-Origin"] == "http://127.0.0.1:1234"
    assert answer.headers["Location"] == "http://elsewhere.example/"
    assert answer.headers.getlist("Warning") == ["299 one", "299 two"]
    assert "X-Hop" not in answer.headers
    assert "X-Content-Type-Options" not in answer.headers
    assert not any(name.startswith("X-Rerank") for name in answer.headers)
    assert len(fake.received) == 1  # a redirect is the caller's to follow


def test_an_answer_without_a_content_type_gets_none(fake: FakeEngine, url: str) -> None:
    fake.answer = lambda received: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    answer = urllib3.request("GET", f"{url}/pages")
    assert answer.data == b"hi"
    assert "Content-Type" not in answer.headers


def test_a_head_keeps_its_length(fake: FakeEngine, url: str) -> None:
    fake.answer = lambda received: b"HTTP/1.1 200 OK\r\nContent-Length: 321\r\nConnection: close\r\n\r\n"
    answer = urllib3.request("HEAD", f"{url}/pages")
    assert (answer.status, answer.headers["Content-Length"], answer.data) == (200, "321", b"")


def test_an_engine_that_is_down_is_named_without_its_credentials(make_proxy: MakeProxy) -> None:
    port = closed_port()
    client = make_proxy(store=f"opensearch://admin:secret@127.0.0.1:{port}").test_client()
    for response in (
        client.get("/_cat/indices"),
        client.post("/pages/_search", json={"query": {"match": {"a": "cat"}}}),
    ):
        assert response.status_code == 502
        error = response.get_json()["error"]
        assert f"opensearch://127.0.0.1:{port}" in error["reason"]
        assert "secret" not in response.text
        assert error["root_cause"][0]["type"] == "engine_unreachable"


def test_an_engine_that_does_not_answer_in_time_is_given_up(make_proxy: MakeProxy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = make_proxy(store=f"opensearch://127.0.0.1:{listener.getsockname()[1]}", proxy_timeout_s=0.2)
        response = app.test_client().get("/_cat/indices")
    assert response.status_code == 504
    assert "proxy_timeout_s" in response.get_json()["error"]["reason"]


def test_what_is_passed_on_may_take_longer_than_our_own_searches(fake: FakeEngine, make_proxy: MakeProxy) -> None:
    def merge(received: Received) -> bytes:
        time.sleep(0.5)
        return ok(b"{}")

    fake.answer = merge
    app = make_proxy(store_timeout_s=0.1)
    assert app.test_client().post("/pages/_forcemerge").status_code == 200


LENGTH = b"Content-Length: 300000\r\n\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n"
LARGE = bytes(200_000)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("rest", [LENGTH, LENGTH + b"some", CHUNKS, CHUNKS + b"5\r\nso"])
def test_an_answer_that_breaks_off_before_its_first_block_is_an_error(
    fake: FakeEngine, url: str, method: str, rest: bytes
) -> None:
    fake.answer = lambda received: b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + rest
    for path in ("/pages/_doc/1", "/pages/_search"):
        answer = urllib3.request(method, f"{url}{path}", retries=False)
        assert answer.status == 502
        error = answer.json()["error"]
        assert error["type"] == "engine_unreachable"
        assert "broke off (" in error["reason"]


def test_an_answer_that_stops_before_its_first_block_is_given_up(make_proxy: MakeProxy) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = make_proxy(store=f"opensearch://127.0.0.1:{listener.getsockname()[1]}", proxy_timeout_s=0.3)
        released = threading.Event()

        def stop() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(head)
                released.wait(60)

        thread = threading.Thread(target=stop)
        thread.start()
        response = app.test_client().get("/_cat/indices")
        released.set()
        thread.join()
    assert response.status_code == 504
    assert "proxy_timeout_s" in response.get_json()["error"]["reason"]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("rest", [LENGTH + LARGE, CHUNKS + b"30D40\r\n" + LARGE + b"\r\n"])
def test_an_answer_that_breaks_off_later_ends_with_its_connection_and_one_line_in_the_log(
    fake: FakeEngine, url: str, rest: bytes, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    fake.answer = lambda received: b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + rest
    where = urlsplit(url)
    caplog.clear()
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE_S) as connection:
        connection.sendall(f"GET /pages HTTP/{version}\r\nHost: localhost\r\n\r\n".encode())
        with connection.makefile("rb") as stream:
            headers = b"".join(iter(stream.readline, b"\r\n"))
            if b"chunked" not in headers and b"Content-Length" not in headers:
                with pytest.raises(ConnectionResetError):
                    stream.read()  # an end would say that this was all
            else:
                body = stream.read()
                assert 0 < body.count(0) <= len(LARGE)
                assert not body.endswith(b"0\r\n\r\n")
    (record,) = caplog.records
    assert record.getMessage().startswith("the answer to GET '/pages' broke off: the engine's answer broke off (")
    assert record.exc_info is None


def test_a_path_cannot_leave_the_one_in_the_settings(fake: FakeEngine) -> None:
    address = read_address(f"{fake.url}/below")
    assert isinstance(address, EngineAddress)
    upstream = Upstream(address)
    upstream.send("GET", "/pages", []).close()
    assert fake.received[0].line == "GET /below/pages HTTP/1.1"
    for target in ("/../admin", "/a/%2e%2e/%2e%2e/admin"):
        with pytest.raises(BadInput):
            upstream.send("GET", target, [])
    upstream.close()


def test_a_broken_connection_is_not_blamed_on_a_body_that_is_nested_too_deeply(fake: FakeEngine, url: str) -> None:
    deep = '{"bool": {"must": [' * 2_000 + '{"match": {"body": "cat"}}' + "]}}" * 2_000
    body = f'{{"query": {deep}}}'
    headers = {"Content-Type": "application/json"}
    passed = urllib3.request("POST", f"{url}/pages/_search", body=body, headers=headers, retries=False)
    assert (passed.status, passed.headers["X-Rerank-Reason"]) == (200, "unknown_query")
    assert fake.received[0].body == body.encode()
    fake.answer = lambda received: b""
    broken = urllib3.request("POST", f"{url}/pages/_search", body=body, headers=headers, retries=False)
    assert broken.status == 502
    assert "broke (it was closed without an answer)" in broken.json()["error"]["reason"]


@pytest.mark.parametrize(
    "line",
    [
        "GET /a",
        "GET HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET /-/live",
        "GET /a HTTP/0.9",
        "GET /a HTTP/1.2",
        "GET /a HTTP/2.0",
    ],
)
def test_a_wrong_request_line_is_refused_and_the_connection_closed(fake: FakeEngine, url: str, line: str) -> None:
    answer = send_raw(url, f"{line}\r\nHost: localhost\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.0 400 ")
    assert b"The request line is not a method, a target and HTTP/1.1" in answer
    assert answer.count(b"HTTP/1.") == 2  # the status line and the text: the second request is not answered
    assert fake.received == []
