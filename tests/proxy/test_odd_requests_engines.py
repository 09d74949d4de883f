"""Odd requests to an engine and to the proxy in front of it: the same status, headers and body."""

from __future__ import annotations

import gzip
import http.client
import os
import zlib
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import urllib3

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from tests.proxy.odd_requests import (
    OddRequest,
    nested,
    odd_requests,
    without_what_differs,
)
from tests.support.calls import make_index
from tests.support.engines.sources import Engine
from tests.support.service import serving

INDEX = f"odd-{os.getpid()}"
# Of the connection, or the server's own.
NOT_COMPARED = {"date", "server", "connection", "content-length", "transfer-encoding", "server-timing", "keep-alive"}


@pytest.fixture(scope="module")
def front(engine: Engine, embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The proxy in front of an engine with five documents; gives its URL."""
    settings = Settings(
        home=tmp_path_factory.mktemp("odd"),
        threads=1,
        store=f"{engine.distribution}://{engine.url.partition('://')[2]}",
        proxy_budget_ms=60_000,
        proxy_translate="never",
        proxy_learn_weights=False,
        proxy_timeout_s=20,
    )
    properties = {"t": {"type": "text"}, "n": {"type": "integer"}}
    documents = [{"t": text, "n": n} for n, text in enumerate(["cat", "cat dog", "dog", "bread cat water", "car cat"])]
    app = create_app(settings, None, embeddings)
    with urllib3.PoolManager() as http, serving(app) as url:
        make_index(http, engine.url, INDEX, properties, documents)
        yield url
        http.request("DELETE", f"{engine.url}/{INDEX}")


def send(url: str, odd: OddRequest) -> tuple[int | None, dict[str, str], bytes]:
    """Status, headers and body; None where the connection ends without an answer."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        target = odd.target.replace("{index}", INDEX)
        connection.putrequest(odd.method, target, skip_accept_encoding=True)
        body = None if odd.body is None else odd.body.replace(b"{index}", INDEX.encode())
        lengths = {} if body is None else {"Content-Length": str(len(body))}
        for name, value in {**odd.headers, **lengths}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, headers, answer.read()
    except (http.client.RemoteDisconnected, ConnectionResetError):
        return None, {}, b""
    finally:
        connection.close()


def plain(headers: dict[str, str], body: bytes) -> bytes:
    coding = headers.get("content-encoding")
    return gzip.decompress(body) if coding == "gzip" else zlib.decompress(body) if coding == "deflate" else body


def compared(directly: tuple[int | None, dict[str, str], bytes], proxied: tuple[int | None, dict[str, str], bytes]):
    """What is to be the same of two answers, of each."""
    (status, headers, body), (our_status, our_headers, our_body) = directly, proxied
    if status is None:
        return 502, our_status
    is_reranked = our_headers.get("x-rerank-status") in ("applied", "fallback")
    is_reranked |= our_headers.get("x-rerank-reason") == "beyond_window"
    ours_to_add = {"x-rerank-status", "x-rerank-reason"}
    return (
        (
            status,
            {name: one for name, one in headers.items() if name not in NOT_COMPARED},
            without_what_differs(plain(headers, body), is_reranked),
        ),
        (
            our_status,
            {name: one for name, one in our_headers.items() if name not in NOT_COMPARED | ours_to_add},
            without_what_differs(plain(our_headers, our_body), is_reranked),
        ),
    )


# A quarter of them on each engine, and all on the first.
@pytest.mark.parametrize("quarter", [0, *(pytest.param(n, marks=pytest.mark.any_engine) for n in (1, 2, 3))])
def test_the_proxy_answers_what_the_engine_answers(engine: Engine, front: str, quarter: int) -> None:
    answers = {odd.name: compared(send(engine.url, odd), send(front, odd)) for odd in [*odd_requests()][quarter::4]}
    assert {name: both for name, both in answers.items() if both[0] != both[1]} == {}


def test_a_key_twice_in_our_own_section_is_refused_too(front: str) -> None:
    body = b'{"ext":{"rerank":{"details":true,"details":false}},"query":{"match":{"t":"cat"}}}'
    assert send(front, OddRequest("", "/{index}/_search", body))[0] == 400


@pytest.mark.parametrize("n", [100, 150])
def test_our_section_is_taken_out_however_deep_the_query_is(engine: Engine, front: str, n: int) -> None:
    body = nested(n)[:-1] + b',"ext":{"rerank":{"query_context":{"query_text":"cat"}}}}'
    status, headers, answer = send(front, OddRequest("", "/{index}/_search", body))
    engines_status, _, engines_answer = send(engine.url, OddRequest("", "/{index}/_search", nested(n)))
    if None in (status, engines_status) or status == 502:
        return  # from some 300 on the engine's own stack may give out: it closes the connection
    assert status == engines_status
    if status == 200:
        assert headers["x-rerank-status"] == "applied"
        assert without_what_differs(answer, True) == without_what_differs(engines_answer, True)
