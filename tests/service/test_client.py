"""The client against the service itself, and against servers that fail."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3
from flask import Flask, redirect
from werkzeug.wrappers import Response

from reranker.base.errors import WrongParameter
from reranker.client import (
    ClientError,
    ConflictProblem,
    NotFoundProblem,
    RequestProblem,
    ServiceFailure,
    ServiceProblem,
    ServiceUnavailable,
    ServiceUnreachable,
    SinkrankClient,
    UnexpectedAnswer,
    UnknownWordsProblem,
)
from reranker.client import sinkrank_client as module
from reranker.service.requests import ExplainBody, RerankBody, SearchBody
from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store
from tests.service.conftest import serving
from tests.stores.fake_engine import FakeEngine
from tests.stores.fake_engine import serve as serve_fake


@pytest.fixture
def client(app: Flask) -> Iterator[SinkrankClient]:
    with serving(app) as url, SinkrankClient(url, n_retries=0) as client:
        yield client


def test_a_search_brings_the_hits_with_their_ranks(client: SinkrankClient) -> None:
    answer = client.search("cat dog zzz", language="en", languages=["fr"], method="sinkhorn", size=1)
    # The French page of cats and dogs; it lacks the English word that nobody knows.
    assert [(hit["id"], hit["rank"], hit["lacking_words"]) for hit in answer["hits"]] == [("cat-fr", 1, [])]
    assert (answer["index"], answer["method"], answer["unknown_words"]) == ("pages", "sinkhorn", ["zzz"])


def test_the_second_page_goes_on_after_the_first(client: SinkrankClient) -> None:
    whole = [hit["id"] for hit in client.search("cat dog", size=4)["hits"]]
    assert [hit["id"] for hit in client.search("cat dog", offset=2, size=2)["hits"]] == whole[2:]


def test_an_explanation_is_of_the_document_that_was_named(client: SinkrankClient) -> None:
    answer = client.explain("cat dog", "cat-fr", index="pages", language="en", method="emd")
    assert answer["id"] == "cat-fr"
    assert [word["distance"] for word in answer["words"]] == pytest.approx(
        [sum(pair["mass"] * pair["cost"] for pair in word["pairs"]) + word["rest_distance"] for word in answer["words"]]
    )
    assert answer["document"] is not None
    (chat,) = [word for word in answer["document_words"] if word["word"] == "chat"]
    assert [answer["document"]["text"][start:end] for start, end in chat["in_text"]] == ["chat", "chat"]


def test_documents_are_reranked_by_the_fields_that_were_named(client: SinkrankClient) -> None:
    answer = client.rerank(
        "cat",
        [{"title": "pain"}, {"title": "chat"}],
        language="en",
        document_languages=["fr", "fr"],
        rank_fields=["title"],
        top_n=1,
        return_documents=True,
    )
    assert [(result["index"], result.get("document")) for result in answer["results"]] == [(1, {"title": "chat"})]


def test_a_service_that_drains_is_not_ready_which_is_no_error(app: Flask, client: SinkrankClient) -> None:
    assert client.ready()["status"] == "ready"
    app.extensions["sinkrank"].draining.set()
    answer = client.ready()
    assert (answer["status"], answer["checks"]["running"]) == ("not ready", {"ready": False})


@pytest.mark.parametrize(
    ("call", "kind", "status", "code"),
    [
        (lambda client: client.search("xxyy"), UnknownWordsProblem, 422, "unknown_words"),
        (lambda client: client.search("cat", index="nowhere"), NotFoundProblem, 404, "not_found"),
        (lambda client: client.search("cat", method="no-such"), RequestProblem, 400, "bad_input"),
        (lambda client: client.search(" "), RequestProblem, 400, "empty_query"),
        (lambda client: client.explain("cat", "nothing"), NotFoundProblem, 404, "not_found"),
        # In Cohere's shape there is no code.
        (lambda client: client.rerank(" ", ["a"]), RequestProblem, 400, ""),
        (lambda client: client.rerank("cat", ["a"] * 51), RequestProblem, 413, ""),
    ],
)
def test_a_problem_of_the_service_is_an_error_of_its_kind(
    client: SinkrankClient, call: Callable[[SinkrankClient], Any], kind: type[ServiceProblem], status: int, code: str
) -> None:
    with pytest.raises(kind) as raised:
        call(client)
    problem = raised.value.problem
    assert type(raised.value) is kind
    assert (problem.status, problem.code) == (status, code)
    assert problem.detail in str(raised.value)
    assert "no problem details" not in problem.detail


def test_a_service_without_a_store_says_so(
    make_app: Callable[[Settings, Store | None], Flask],
    settings: Settings,
) -> None:
    with (
        serving(make_app(settings, None)) as url,
        SinkrankClient(url, n_retries=0) as client,
        pytest.raises(ServiceUnavailable, match="has no store"),
    ):
        client.search("cat")


@pytest.mark.parametrize(
    ("call", "body", "left_out"),
    [
        (SinkrankClient.search, SearchBody, set()),
        (SinkrankClient.explain, ExplainBody, set()),
        (SinkrankClient.rerank, RerankBody, {"model"}),  # there is one
    ],
)
def test_a_call_takes_what_the_route_takes(call: Callable[..., Any], body: Any, left_out: set[str]) -> None:
    assert set(inspect.signature(call).parameters) - {"self"} == set(body.model_fields) - left_out


@contextmanager
def answering(*answers: tuple[int, Any]) -> Iterator[tuple[FakeEngine, list[tuple[str, str, Any]]]]:
    """A server that gives these answers in turn, the last one for ever; and what it was asked."""
    asked: list[tuple[str, str, Any]] = []

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        asked.append((method, path, json.loads(body) if body else None))
        return answers[min(len(asked), len(answers)) - 1]

    with serve_fake(answer) as fake:
        yield fake, asked


FOUND = (
    200,
    {
        "hits": [],
        "index": "pages",
        "n_candidates": 0,
        "language": "en",
        "first_stage": "hybrid",
        "method": "none",
        "precision": "none",
        "n_converged": 0,
        "has_feedback": False,
        "unknown_words": [],
        "took_ms": {"total": 0.5},
    },
)
DOWN = (503, {"type": "urn:x", "title": "Service Unavailable", "status": 503, "detail": "down", "code": "y"})


def test_a_503_is_tried_again_until_it_is_answered() -> None:
    with answering(DOWN, DOWN, FOUND) as (fake, asked), SinkrankClient(fake.address) as client:
        assert client.search("cat", size=0)["index"] == "pages"
    assert asked == [("POST", "/v1/search", {"query": "cat", "size": 0})] * 3


def test_it_is_given_up_after_as_many_tries_as_were_allowed() -> None:
    with (
        answering(DOWN) as (fake, asked),
        SinkrankClient(fake.address, n_retries=2) as client,
        pytest.raises(ServiceUnavailable, match="down") as raised,
    ):
        client.search("cat")
    assert len(asked) == 3
    assert raised.value.problem.type == "urn:x"


def test_the_wait_between_tries_grows_and_has_an_end() -> None:
    retries = module._retries(20)
    retries.backoff_jitter = 0.0
    waits = []
    for _ in range(20):
        retries = retries.increment("POST", "/", urllib3.HTTPResponse(status=503))
        waits.append(retries.get_backoff_time())
    assert waits[:4] == [0, 0.4, 0.8, 1.6]
    assert max(waits) == 10


def test_a_server_that_names_hours_to_wait_is_not_obeyed() -> None:
    retries = module._retries(3)
    assert not retries.is_retry("POST", 429, has_retry_after=True)
    assert not retries.respect_retry_after_header


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((200, b"<html>a router</html>"), UnexpectedAnswer),
        ((200, ["a list"]), UnexpectedAnswer),
        ((200, {"hits": []}), UnexpectedAnswer),
        ((200, {"hits": 1}), UnexpectedAnswer),
        ((200, b"[" * 100_000), UnexpectedAnswer),
        ((302, {}), UnexpectedAnswer),
        ((401, b"<html>who are you</html>"), RequestProblem),
        ((502, b"\xff\xfe"), ServiceFailure),
        ((599, {"detail": 7, "title": None}), ServiceFailure),
        ((409, {"code": "version_mismatch", "detail": "d"}), ConflictProblem),
        ((400, {}), RequestProblem),
        ((429, {}), RequestProblem),
        ((500, {}), ServiceFailure),
        ((0, None), ServiceUnreachable),  # the connection breaks off
    ],
)
def test_an_answer_that_is_no_503_and_not_the_services_is_an_error_at_once(
    answer: tuple[int, Any], kind: type[ClientError]
) -> None:
    with answering(answer) as (fake, asked), SinkrankClient(fake.address) as client:
        with pytest.raises(kind) as raised:
            client.search("cat")
        assert type(raised.value) is kind
        assert len(asked) == 1


def test_ready_takes_no_other_503_for_an_answer() -> None:
    with (
        answering((503, b"<html>down</html>")) as (fake, asked),
        SinkrankClient(fake.address) as client,
        pytest.raises(ServiceUnavailable, match="no problem details"),
    ):
        client.ready()
    assert len(asked) == 1


def test_a_redirect_is_not_followed() -> None:
    elsewhere, asked = Flask("elsewhere"), []

    @elsewhere.post("/<path:path>")
    def lead_on(path: str) -> Response:
        asked.append(path)
        return redirect("/v1/other", 307)

    with (
        serving(elsewhere) as url,
        SinkrankClient(url) as client,
        pytest.raises(UnexpectedAnswer, match="answered 307"),
    ):
        client.search("cat")
    assert asked == ["v1/search"]


def test_an_answer_that_is_too_large_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 10)
    with (
        answering(FOUND) as (fake, _),
        SinkrankClient(fake.address) as client,
        pytest.raises(UnexpectedAnswer, match="over 10 bytes"),
    ):
        client.search("cat")


def test_nobody_at_the_address_is_named() -> None:
    with (
        SinkrankClient("http://127.0.0.1:9", n_retries=0) as client,
        pytest.raises(ServiceUnreachable, match=r"127\.0\.0\.1:9 does not answer .*sinkrank serve"),
    ):
        client.ready()


def test_each_request_has_the_callers_headers_and_a_gateways_path() -> None:
    with (
        answering(FOUND) as (fake, asked),
        SinkrankClient(f"{fake.address}/sinkrank/", headers={"X-Opaque-Id": "mine-7"}) as client,
    ):
        client.search("кот")
    assert asked[0][1:] == ("/sinkrank/v1/search", {"query": "кот"})
    assert fake.headers[0]["x-opaque-id"] == "mine-7"


def test_a_pool_of_the_callers_own_stays_open() -> None:
    with answering(FOUND) as (fake, _), urllib3.PoolManager() as pool:
        for _ in range(2):
            with SinkrankClient(fake.address, pool=pool) as client:
                client.search("cat")
        assert len(pool.pools) == 1


@pytest.mark.parametrize(
    "url",
    ["localhost:8080", "", "file:///etc/passwd", "http://", "http://h:port", "http://h/?a=b", "http://u:secret@h"],
)
def test_a_url_that_is_none_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(WrongParameter) as raised:
        SinkrankClient(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "wrong", [{"timeout_s": 0}, {"connect_timeout_s": -1}, {"n_retries": -1}, {"timeout_s": float("nan")}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(WrongParameter, match=next(iter(wrong))):
        SinkrankClient(**wrong)


def test_importing_it_brings_no_arithmetic_along() -> None:
    heavy = ("numpy", "scipy", "pydantic", "flask", "opensearchpy")
    code = f"import sys, reranker.client; print([name for name in {heavy} if name in sys.modules])"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
