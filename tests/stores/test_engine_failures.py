"""What the engine store makes of nodes that fail, refuse, delay or are something else."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from reranker.base.errors import BadInput, NotAllowed, NotAnEngine, NotFound, SinkrankError, StoreUnavailable
from reranker.embeddings.hubness import HubnessSample
from reranker.stores import EngineAccess, open_store
from reranker.stores.base.writing import WriteResult
from reranker.stores.engine import retries
from reranker.stores.engine.client import connect, detect_distribution, engine_errors
from reranker.stores.engine.writable import WritableEngineStore
from reranker.upstream.addresses import EngineAddress, read_address
from reranker.upstream.nodes import Upstream
from reranker.upstream.rights import Rights
from tests.stores.fake_engine import serve
from tests.stores.samples import ALL, DESCRIPTION, MAPPING, make_document, query, write_documents
from tests.support.tls_server import certificates

__all__ = ["certificates"]
ROOT = {"version": {"distribution": "opensearch", "number": "2.19.1"}}


def error(kind: str, reason: str) -> dict[str, Any]:
    return {"error": {"root_cause": [{"type": kind, "reason": reason}], "type": kind, "reason": reason}}


def healthy(method: str, path: str, body: str) -> tuple[int, Any] | None:
    """The answers that come before what a test is about."""
    if path.startswith("/docs/_mapping"):
        return 200, MAPPING
    if path.startswith("/docs/_alias"):
        return 200, {"acknowledged": True}
    return (200, ROOT) if path == "/" else None


def bulk_ids(body: str) -> list[str]:
    """The ids of a request that only adds or replaces documents."""
    return [json.loads(line)["index"]["_id"] for line in body.splitlines()[::2]]


def bulk_answer(ids: list[str], statuses: dict[str, int]) -> dict[str, Any]:
    items = []
    for doc_id in ids:
        status = statuses.get(doc_id, 201)
        details: dict[str, Any] = {"_id": doc_id, "status": status}
        if status >= 400:
            details["error"] = {"type": "some_exception", "reason": f"reason of {doc_id}"}
        items.append({"index": details})
    return {"errors": any(status >= 400 for status in statuses.values()), "items": items}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 0)


@pytest.mark.parametrize(
    ("status", "content", "expected", "message"),
    [
        (401, error("security_exception", "no"), StoreUnavailable, "or store_api_key.*SINKRANK_STORE_PASSWORD"),
        (403, error("security_exception", "no permissions"), StoreUnavailable, "no permissions"),
        (404, error("index_not_found_exception", "no such index"), NotFound, "sinkrank ingest"),
        (404, b"<html>Not Found</html>", NotAnEngine, "not answer like a search engine"),
        (429, error("circuit_breaking_exception", "too much"), StoreUnavailable, "overloaded"),
        (400, error("parsing_exception", "what is this"), BadInput, "what is this"),
        (413, b"too large", BadInput, "413"),
        (500, error("null_pointer_exception", "oops"), StoreUnavailable, "oops"),
        (502, b"<html>Bad Gateway</html>", StoreUnavailable, "502"),
        (500, b"<html>\r\n  <h1>Error</h1>\n</html>", StoreUnavailable, "500: <html> <h1>Error</h1> </html>"),
        (503, error("cluster_block_exception", "no master"), StoreUnavailable, "no master"),
        (503, error("unavailable_shards_exception", "no shard"), StoreUnavailable, "allocation/explain"),
        (200, b"<html>Welcome</html>", StoreUnavailable, "not answer like a search engine"),
        (0, None, StoreUnavailable, "broke.*http or https"),
    ],
)
def test_every_failure_of_a_node_is_one_of_our_errors(
    status: int, content: Any, expected: type[SinkrankError], message: str
) -> None:
    with serve(lambda *request: healthy(*request) or (status, content)) as node:
        store = open_store(node.address, username="someone", password="secret-word")
        for call in (lambda: store.open("docs").knn(query(1, 0, 0, 0), 5, ALL), lambda: store.open("docs").count()):
            with pytest.raises(expected, match=message) as caught:
                call()
            assert "secret-word" not in str(caught.value)
            assert node.address in str(caught.value) or expected is BadInput
        store.close()


def opened(address: str) -> WritableEngineStore:
    store = open_store(address)
    assert isinstance(store, WritableEngineStore)
    return store


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (ROOT, "opensearch"),
        ({"version": {"number": "8.15.5", "build_flavor": "default"}}, "elasticsearch"),
        ({"version": {"number": "7.10.2", "distribution": "opensearch"}}, "opensearch"),
    ],
)
def test_the_engine_is_known_by_its_version(root: Any, expected: str) -> None:
    with serve(lambda *request: (200, root)) as node:
        address = read_address(node.address)
        assert isinstance(address, EngineAddress)
        with closing(connect(Upstream(address))) as client:
            assert detect_distribution(client) == expected


@pytest.mark.parametrize(
    ("status", "content"), [(200, {}), (200, {"version": "1"}), (200, []), (200, b"<html></html>"), (404, b"not here")]
)
def test_a_server_that_is_no_engine_is_refused(status: int, content: Any) -> None:
    with serve(lambda *request: (status, content)) as node:
        address = read_address(node.address)
        assert isinstance(address, EngineAddress)
        with closing(connect(Upstream(address))) as client, no_engine(), engine_errors(node.address):
            detect_distribution(client)
        if status == 404:
            with closing(opened(node.address)) as store, no_engine():
                store.indices()


def no_engine() -> Any:
    return pytest.raises((BadInput, StoreUnavailable), match="check host, port and path")


def test_a_node_that_does_not_answer_is_unavailable_after_the_time_out() -> None:
    given_up = threading.Event()

    def answer(*request: str) -> tuple[int, Any]:
        given_up.wait()
        return 200, {}

    with serve(answer) as node:
        store = open_store(node.address, timeout_s=0.2)
        try:
            # The server would wait for ever.
            with pytest.raises(StoreUnavailable, match="store_timeout_s"):
                store.indices()
        finally:
            given_up.set()
        store.close()


def test_a_host_that_accepts_no_connection_is_unavailable() -> None:
    with ExitStack() as sockets:
        server = sockets.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):  # fill its queue: Linux drops what comes then
            client = sockets.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        store = open_store(f"http://127.0.0.1:{server.getsockname()[1]}", timeout_s=0.5)
        with pytest.raises(StoreUnavailable, match="nothing answers"):
            store.indices()
        store.close()


def test_credentials_are_sent_in_utf_8() -> None:
    with serve(lambda *request: (200, {})) as node:
        store = open_store(node.address.replace("//", "//jos%C3%A9:p%C3%A4ss%E2%82%AC@"))
        assert store.indices() == []
        store.close()
    assert node.headers[0]["authorization"] == "Basic " + base64.b64encode("josé:päss€".encode()).decode()


def write(answer: Callable[[list[str]], tuple[int, Any]], documents: list[str]) -> Iterator[WriteResult]:
    """Answers each bulk request's ids with `answer` and gives the results."""

    def respond(method: str, path: str, body: str) -> tuple[int, Any]:
        return healthy(method, path, body) or answer(bulk_ids(body))

    with serve(respond) as node:
        store = open_store(node.address, timeout_s=5)
        yield from write_documents(store, "docs", [make_document(doc_id) for doc_id in documents])
        store.close()


Given = dict[str, int] | tuple[int, Any]
"""What a bulk request is answered: statuses by id, or status and content of the whole answer."""


def written(documents: list[str], *given: Given) -> tuple[list[WriteResult], list[list[str]]]:
    """The results, and the ids of each request; the last answer is given again and again."""
    requests: list[list[str]] = []

    def answer(ids: list[str]) -> tuple[int, Any]:
        requests.append(ids)
        now = given[min(len(requests), len(given)) - 1]
        return now if isinstance(now, tuple) else (200, bulk_answer(ids, now))

    return list(write(answer, documents)), requests


OVERLOADED = (429, error("rejected", "busy"))


def test_documents_refused_for_load_are_sent_again_and_answered_in_order() -> None:
    results, requests = written(["1", "2", "3"], {"1": 429, "2": 400}, {})
    assert requests == [["1", "2", "3"], ["1"]]
    assert results == [WriteResult("1"), WriteResult("2", "some_exception: reason of 2"), WriteResult("3")]


@pytest.mark.parametrize("failures", [[OVERLOADED], [(0, None)] * 3], ids=["load", "cut connections"])
def test_a_request_that_the_engine_could_not_take_is_sent_again(failures: list[Given]) -> None:
    results, requests = written(["1", "2"], *failures, {})
    assert results == [WriteResult("1"), WriteResult("2")]
    assert requests == [["1", "2"]] * (len(failures) + 1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (OVERLOADED, "overloaded"),
        # A full disk is a block (403 or 429), a red index 503: the document is to be written again another day.
        *[({"2": status}, "reason of 2") for status in (403, 429, 500, 503)],
        ((200, bulk_answer(["1"], {})), "2 got 1 answers"),
    ],
)
def test_what_is_no_fault_of_a_document_never_rejects_it(given: Given, told: str) -> None:
    with pytest.raises(StoreUnavailable, match=told):
        written(["1", "2"], given)


def test_a_document_that_is_refused_for_long_gets_in_at_the_last_try() -> None:
    n_tries = retries.N_TRIES
    results, requests = written(["1", "2"], *[{"1": 429}] * (n_tries - 1), {})
    assert results == [WriteResult("1"), WriteResult("2")]
    assert requests == [["1", "2"], *[["1"]] * (n_tries - 1)]


@pytest.mark.parametrize("status", [400, 413])
def test_a_request_refused_for_one_document_is_sent_one_by_one(status: int) -> None:
    def answer(ids: list[str]) -> tuple[int, Any]:
        return (status, error("bad", "bad document")) if "2" in ids else (200, bulk_answer(ids, {}))

    results = list(write(answer, ["1", "2", "3"]))
    assert results == [WriteResult("1"), WriteResult("2", "bad: bad document"), WriteResult("3")]


def test_documents_confirmed_before_a_node_goes_down_have_results_and_no_others() -> None:
    def answer(ids: list[str]) -> tuple[int, Any]:
        return (200, bulk_answer(ids, {})) if "0" in ids else (0, None)

    documents = [str(number) for number in range(700)]
    results = write(answer, documents)
    assert [next(results).doc_id for _ in range(200)] == documents[:200]
    with pytest.raises(StoreUnavailable, match="broke"):
        next(results)


@pytest.fixture
def tls(certificates: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "node.pem", certificates / "node.key")
    return context


def test_a_certificate_is_checked_unless_told_otherwise(tls: ssl.SSLContext, certificates: Path) -> None:
    certificate = certificates / "ca.pem"
    with serve(lambda *request: (200, MAPPING), tls) as node:
        strict = open_store(node.address)
        with pytest.raises(StoreUnavailable, match="store_ca_certs"):
            strict.indices()
        trusting = open_store(node.address, access=EngineAccess(ca_certs=certificate))
        assert trusting.indices() == ["docs"]
        careless = open_store(node.address, access=EngineAccess(verify_certs=False))
        assert careless.indices() == ["docs"]
        named = open_store(node.address.replace("https", "opensearch+https"), access=EngineAccess(ca_certs=certificate))
        assert named.open("docs").description == DESCRIPTION
        for store in (strict, trusting, careless, named):
            store.close()


@pytest.mark.parametrize(
    ("is_tls", "address", "told"), [(False, "https", "no TLS connection"), (True, "http", "http or https")]
)
def test_a_node_that_speaks_the_other_scheme_is_said_to(
    tls: ssl.SSLContext, is_tls: bool, address: str, told: str
) -> None:
    with serve(lambda *request: (200, {}), tls if is_tls else None) as node:
        store = open_store(f"{address}://127.0.0.1:{node.port}")
        with pytest.raises(StoreUnavailable, match=told):
            store.indices()
        store.close()


def test_a_document_that_the_ingest_pipeline_drops_is_not_in_the_index() -> None:
    # What both engines answer for a document that met the processor `drop`.
    dropped = {"index": {"_id": "1", "result": "noop", "status": 200}}
    added = {"index": {"_id": "2", "result": "created", "status": 201}}
    results = list(write(lambda ids: (200, {"errors": False, "items": [dropped, added]}), ["1", "2"]))
    assert results == [WriteResult("1", "the ingest pipeline dropped the document"), WriteResult("2")]


def test_whoever_does_not_want_the_rest_waits_for_no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    # Far longer than a test may take.
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 7_200)
    monkeypatch.setattr(retries, "LONGEST_WAIT_S", 7_200)

    def answer(ids: list[str]) -> tuple[int, Any]:
        return (200, bulk_answer(ids, {})) if "0" in ids else (503, error("unavailable", "red"))

    results = write(answer, [str(number) for number in range(300)])
    assert next(results) == WriteResult("0")
    results.close()


def test_languages_of_a_shard_that_failed_are_counted_when_it_is_there_again() -> None:
    shards = iter([{"total": 2, "failed": 1}, {"total": 2, "failed": 0}])

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        if (known := healthy(method, path, body)) is not None:
            return known
        found = next(shards)
        languages = ["en"] if found["failed"] else ["en", "fr"]
        buckets = [{"key": language, "doc_count": 3} for language in languages]
        return 200, {"_shards": found, "hits": {"hits": []}, "aggregations": {"languages": {"buckets": buckets}}}

    with serve(answer) as node, closing(open_store(node.address)) as store:
        index = store.open("docs")
        assert [dict(index.languages()) for _ in range(3)] == [{"en": 3}, *[{"en": 3, "fr": 3}] * 2]


def test_clicks_of_a_shard_that_failed_are_not_taken_for_none() -> None:
    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        return 200, {"_shards": {"total": 2, "failed": 1}, "hits": {"hits": []}}

    with serve(answer) as node, closing(opened(node.address)) as store, pytest.raises(StoreUnavailable, match="shards"):
        store.ubi_clicks(["q"])


def test_clicks_of_ids_that_nobody_asked_for_are_left_out() -> None:
    """Where `query_id` has no mapping, the engine finds "abc" for "ABC", and "user7-42" for "42"."""
    events = [
        {"_source": {"query_id": query_id, "event_attributes": {"object": {"object_id": "a"}}}}
        for query_id in ("ABC", "abc", "42", "user7-42")
    ]

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        return 200, {"_shards": {"total": 1, "failed": 0}, "hits": {"hits": events}}

    with serve(answer) as node, closing(opened(node.address)) as store:
        assert list(store.ubi_clicks(["ABC", "42"])) == [("ABC", "a"), ("42", "a")]


@pytest.mark.parametrize(
    "attributes", [None, [{"object": {"object_id": "a"}}], {"object": None}, {"object": ["a"]}, {"object": {}}]
)
def test_an_event_that_names_no_object_is_no_click(attributes: Any) -> None:
    """Applications write their events themselves, some of them with nulls."""
    events = [
        {"_source": {"query_id": "q", "event_attributes": each}}
        for each in (attributes, {"object": {"internal_id": None, "object_id": 7}})
    ]

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        return 200, {"_shards": {"total": 1, "failed": 0}, "hits": {"hits": events}}

    with serve(answer) as node, closing(opened(node.address)) as store:
        assert list(store.ubi_clicks(["q"])) == [("q", "7")]


def test_a_point_in_time_that_is_lost_is_not_taken_for_a_missing_index() -> None:
    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        if "point_in_time" in path:
            return 200, {"pit_id": "x"}
        if "_settings" in path:
            return 200, {"docs": {"settings": {"index": {"number_of_shards": "1"}}}}
        if "_search" in path:  # as both engines answer
            return 404, error("search_context_missing_exception", "No search context found for id [1]")
        return healthy(method, path, body) or (500, {})

    with (
        serve(answer) as node,
        closing(opened(node.address)) as store,
        pytest.raises(StoreUnavailable, match="run the same command again"),
    ):
        list(store.bags("docs"))


@pytest.mark.parametrize(
    ("kind", "expected", "told"),
    [
        ("no_shard_available_action_exception", StoreUnavailable, "no_shard_available"),
        ("security_exception", StoreUnavailable, "403"),
    ],
)
def test_what_is_kept_in_a_shard_that_is_away_is_not_taken_for_none(
    kind: str, expected: type[SinkrankError], told: str
) -> None:
    """While a node starts, `_mget` is answered by 200 with an error for each document."""

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        if "_mget" in path:
            return 200, {"docs": [{"_id": one, **error(kind, "No shard available")} for one in json.loads(body)["ids"]]}
        return healthy(method, path, body) or (200, {})

    with serve(answer) as node, closing(opened(node.address)) as store:
        index = store.open("docs")
        calls = [
            index.idf,
            index.hubness_sample,
            lambda: index.stored(["1"]),
            lambda: index.fetch("1"),
            lambda: store.claim("docs", "one", 60),
            lambda: store.release("docs", "one"),
        ]
        for call in calls:
            with pytest.raises(expected, match=told):
                call()


def test_a_caller_without_the_right_to_a_document_is_told_so() -> None:
    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        if "_mget" in path:  # as Elasticsearch answers
            return 200, {"docs": [{"_id": "1", **error("security_exception", "unauthorized for user [me]")}]}
        return healthy(method, path, body) or (200, {})

    with serve(answer) as node, closing(opened(node.address)) as store:
        index = store.open("docs")
        with pytest.raises(NotAllowed, match="unauthorized"):
            index.fetch("1", Rights({"authorization": "Basic me"}))


def test_what_is_kept_in_an_index_that_is_not_there_is_none() -> None:
    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        if "_mget" in path:
            missing = error("index_not_found_exception", "no such index")
            return 200, {"docs": [{"_id": one, **missing} for one in json.loads(body)["ids"]]}
        return healthy(method, path, body) or (200, {})

    with serve(answer) as node, closing(opened(node.address)) as store:
        index = store.open("docs")
        assert index.idf().languages == {}
        assert index.hubness_sample() == HubnessSample()
        for call in (lambda: index.stored(["1"]), lambda: index.fetch("1")):
            with pytest.raises(NotFound, match="no index 'docs'"):
                call()
