"""A window without its text gives the same answer as a whole one, byte for byte."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import urllib3
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.proxy.window_kinds import SEQUENCE_NUMBERS, STORED_BAGS, WindowKinds, WindowPlan
from reranker.service.service import EXTENSION
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.text.bags import pack
from reranker.text.documents import Document
from reranker.upstream.addresses import EngineAddress, read_address
from tests.support.calls import make_index, ndjson
from tests.support.engines.sources import Engine
from tests.support.service import fill

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

WORDS = ("cat", "dog", "water", "bread", "car", "zzz")
N_DOCUMENTS = 60
# By then an index's bags are known, and a comparison has shown that an ids-only window fits.
N_SEARCHES = 7


def text_of(n: int) -> str:
    return " ".join(WORDS[(n * step + step) % len(WORDS)] for step in range(1, 2 + n % 4))


@dataclass
class Remembering(WindowKinds):
    """Notes what is asked for, and what was of no use."""

    asked: list[str | None] = field(default_factory=list)
    n_failures: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def kind_for(self, plan: WindowPlan, caller: bytes, names: tuple[str, ...], text: str) -> str | None:
        self.asked.append(super().kind_for(plan, caller, names, text))
        return self.asked[-1]

    def failed(self, caller: bytes, names: tuple[str, ...]) -> None:
        self.n_failures += 1
        super().failed(caller, names)


class BothWays:
    """Sends searches to a proxy that asks for whole windows, and to one that asks for ids-only ones."""

    def __init__(self, app: Flask, engine: Engine, http: urllib3.PoolManager) -> None:
        self.app, self.engine, self.http = app, engine, http
        self.kinds = Remembering()
        address = read_address(engine.url)
        assert isinstance(address, EngineAddress)
        self._address = address
        self._whole = Proxy(app.extensions[EXTENSION], address, WindowKinds(kinds=()))
        self.forget()

    def forget(self) -> None:
        self.kinds = Remembering()
        self.ids_only = Proxy(self.app.extensions[EXTENSION], self._address, self.kinds)

    def send(self, path: str, body: Any, is_whole: bool = False) -> TestResponse:
        self.app.extensions[PROXY_EXTENSION] = self._whole if is_whole else self.ids_only
        kind = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        data = body if isinstance(body, bytes) else json.dumps(body)
        return self.app.test_client().post(path, data=data, headers={"Content-Type": kind})

    def compare(self, path: str, body: Any, wanted: str | None = None) -> str | None:
        """The kind of window that the last of several equal searches came from; None for a whole one.

        Args:
            wanted: send until a window is of this kind; None for any ids-only one.
        """
        for _ in range(N_SEARCHES):
            self.kinds.asked, self.kinds.n_failures = [], 0
            ids_only = self.send(path, body)
            if any(kind and wanted in (None, kind) for kind in self.kinds.asked) and not self.kinds.n_failures:
                break
        whole = self.send(path, body, is_whole=True)
        assert without_time(ids_only) == without_time(whole)
        assert ids_only.headers.get("X-Rerank-Status") == whole.headers.get("X-Rerank-Status")
        assert ids_only.headers.get("X-Rerank-Reason") == whole.headers.get("X-Rerank-Reason")
        return None if self.kinds.n_failures else next(iter(self.kinds.asked), None)


def without_time(answer: TestResponse) -> str:
    assert answer.status_code == 200, answer.text
    return re.sub(r'"(took|query_total)" ?: ?\d+|"profile":.*', '"took":0', answer.text)


@dataclass(frozen=True)
class Indices:
    """Names of indices: ours with one shard and with three, not ours with one and with three."""

    ours: str
    ours_3: str
    theirs: str
    theirs_3: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.ours, self.ours_3, self.theirs, self.theirs_3))


def copy_index(http: urllib3.PoolManager, url: str, index: str, name: str, n_shards: int, shift: int = 0) -> None:
    """An index with the same mapping and documents, each with what the one so many places behind it has."""
    (made,) = http.request("GET", f"{url}/{index}").json().values()
    kept = {one: made["settings"]["index"][one] for one in ("analysis", "knn") if one in made["settings"]["index"]}
    shards = {"number_of_shards": n_shards, "number_of_replicas": 0}
    body = {"settings": {"index": {**kept, **shards}}, "mappings": made["mappings"]}
    assert http.request("PUT", f"{url}/{name}", json=body).status == 200
    hits = http.request("GET", f"{url}/{index}/_search?size=1000").json()["hits"]["hits"]
    named = zip(hits, hits[shift:] + hits[:shift], strict=True)
    lines = [line for hit, other in named for line in ({"index": {"_id": hit["_id"]}}, other["_source"])]
    headers = {"Content-Type": "application/x-ndjson"}
    answer = http.request("POST", f"{url}/{name}/_bulk?refresh=true", body=ndjson(*lines), headers=headers)
    assert answer.json()["errors"] is False, answer.data


@pytest.fixture(scope="module")
def indices(engine: Engine, embeddings: Embeddings) -> Iterator[Indices]:
    names = Indices(*(f"ids-only-{os.getpid()}-{name}" for name in ("ours", "ours3", "theirs", "theirs3")))
    documents = [
        Document(
            f"d{n}",
            text_of(n),
            "en",
            title=text_of(n + 1),
            url=f"https://example.org/{n}",
            metadata={"year": 2000 + n % 5},
        )
        for n in range(N_DOCUMENTS)
    ]
    with urllib3.PoolManager(retries=False) as http, closing(open_store(engine.url)) as store:
        fill(store, embeddings, names.ours, documents)
        copy_index(http, engine.url, names.ours, names.ours_3, n_shards=3)
        texts = [
            {"t": text_of(n), "title": text_of(n + 1), "n": n, "parts": [{"p": text_of(n)}, {"p": "zzz"}]}
            for n in range(N_DOCUMENTS)
        ]
        kinds = {
            "t": {"type": "text"},
            "title": {"type": "text"},
            "n": {"type": "integer"},
            "parts": {"type": "nested"},
        }
        make_index(http, engine.url, names.theirs, kinds, texts)
        copy_index(http, engine.url, names.theirs, names.theirs_3, n_shards=3)
        yield names
        for name in (names.ours_3, names.theirs, names.theirs_3):
            http.request("DELETE", f"{engine.url}/{name}")
        store.drop(names.ours)


@pytest.fixture
def own_copy(both: BothWays, indices: Indices) -> Iterator[str]:
    """The name of a copy of the index that is not ours, and before `-ours` of a copy of the one that is; that before
    `-ours1` has one shard."""
    name, http, url = f"{indices.theirs}-copy", both.http, both.engine.url
    texts = [{"t": text_of(n), "title": text_of(n + 1), "n": n} for n in range(N_DOCUMENTS)]
    make_index(http, url, name, {"t": {"type": "text"}}, texts)
    copy_index(http, url, indices.ours, f"{name}-ours", n_shards=2)
    copy_index(http, url, indices.ours, f"{name}-ours1", n_shards=1)
    yield name
    for one in (name, f"{name}-ours", f"{name}-ours1"):
        http.request("DELETE", f"{url}/{one}")


@pytest.fixture
def both(ways: BothWays) -> BothWays:
    """Nothing is known yet."""
    ways.forget()
    return ways


@pytest.fixture(scope="module")
def ways(engine: Engine, embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothWays]:
    home: Path = tmp_path_factory.mktemp("ids-only")
    options = Settings(home=home, threads=1, store=engine.url, proxy_budget_ms=60_000, proxy_learn_weights=False)
    with closing(open_store(engine.url)) as store, urllib3.PoolManager(retries=False) as http:
        app = create_app(options, store, embeddings)
        yield BothWays(app, engine, http)


def search(field: str, text: str = "cat dog water", **members: Any) -> dict[str, Any]:
    return {"query": {"match": {field: text}}, "size": 5, **members}


# Members of a body, and whether the window can be ids-only: they are about the page alone, or about the window.
MEMBERS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"from": 3}, True),
    ({"from": 45, "size": 10}, True),
    ({"from": 45, "ext": {"rerank": {"min_relevance": 0.99}}, "_source": ["title", "n"], "version": True}, True),
    ({"_source": False}, True),
    ({"_source": ["title", "n"]}, True),
    ({"_source": {"excludes": ["t", "text", "nbow"]}}, True),
    ({"_source": ["n"], "highlight": {"fields": {"t.none": {}, "text.none": {}}}}, True),  # the engine marks nothing
    ({"docvalue_fields": ["n", "lang"]}, True),
    ({"fields": ["n", "lang", "metadata.*"], "_source": False}, True),
    ({"stored_fields": ["n"]}, True),
    ({"script_fields": {"two": {"script": "1 + 1"}}}, True),
    ({"version": True}, True),
    ({"seq_no_primary_term": True}, True),
    ({"sort": ["_score"]}, True),
    ({"sort": "_score", "track_scores": True}, True),
    ({"min_score": 0.2}, True),
    ({"track_total_hits": 7}, True),
    ({"track_total_hits": False}, True),
    ({"terminate_after": 1_000}, True),
    ({"timeout": "20s"}, True),
    ({"post_filter": {"exists": {"field": "_id"}}}, True),
    ({"aggs": {"all": {"filter": {"match_all": {}}, "aggs": {"top": {"top_hits": {"size": 2}}}}}}, True),
    ({"aggs": {"top": {"top_hits": {"size": 1, "_source": False}}}, "fields": ["n", "lang"]}, False),
    ({"aggregations": {"n": {"value_count": {"field": "_id"}}}}, True),
    ({"suggest": {"s": {"text": "cat", "term": {"field": "t"}}}}, True),
    ({"ext": {"rerank": {"details": True}}}, True),
    ({"ext": {"rerank": {"window_size": 20}}}, True),
    ({"ext": {"rerank": {"window_size": 9}}}, False),
    ({"explain": True}, False),
    ({"profile": True}, False),
    ({"size": 60}, False),
]
# Of them, those that are also sent to our index with one shard and to the other with three.
WITH_OTHER_SHARDS: list[dict[str, Any]] = [{}, {"from": 45, "size": 10}, {"terminate_after": 1_000}, {"explain": True}]


@pytest.mark.parametrize(("members", "is_ids_only"), MEMBERS, ids=[json.dumps(members) for members, _ in MEMBERS])
def test_what_a_body_says_besides_its_query_has_its_meaning(
    both: BothWays, indices: Indices, members: dict[str, Any], is_ids_only: bool
) -> None:
    if "script_fields" in members and "elastic" in both.engine.name:
        pytest.skip("the assembled Elasticsearch has no scripts")
    asked = [(indices.ours_3, "text.en", STORED_BAGS), (indices.theirs, "t", SEQUENCE_NUMBERS)]
    if members in WITH_OTHER_SHARDS:
        asked += [(indices.ours, "text.en", SEQUENCE_NUMBERS), (indices.theirs_3, "t", None)]
    for name, text_field, kind in asked:
        body = search(text_field, **members)
        if "aggregations" in members:  # the ids of documents cannot be counted everywhere
            body["aggregations"] = {"n": {"terms": {"field": "lang" if name.endswith(("ours", "ours3")) else "n"}}}
        if "suggest" in members:
            body["suggest"] = {"s": {"text": "cat", "term": {"field": text_field}}}
        if "post_filter" in members:
            body["post_filter"] = {"match": {text_field: "cat"}}
        assert both.compare(f"/{name}/_search", body) == (kind if is_ids_only else None), name


NAMED = {"match": {"FIELD": {"query": "cat", "_name": "a cat"}}}
QUERIES: list[tuple[dict[str, Any], bool]] = [
    ({"highlight": {"fields": {"FIELD": {}}}}, True),
    (
        {
            "highlight": {
                "fields": {"FIELD": {"type": "plain", "number_of_fragments": 2}},
                "pre_tags": ["["],
                "post_tags": ["]"],
            }
        },
        True,
    ),
    ({"highlight": {"require_field_match": False, "fields": {"*": {}}}}, False),
    ({"query": {"bool": {"should": [NAMED, {"match": {"FIELD": "water bread"}}]}}}, True),
    ({"query": {"bool": {"must": NAMED, "filter": {"exists": {"field": "FIELD"}}}}, "from": 2}, True),
    ({"query": {"multi_match": {"query": "cat car", "fields": ["FIELD^3", "TITLE"]}}}, True),
    ({"query": {"query_string": {"query": "cat OR bread", "default_field": "FIELD"}}}, True),
    ({"query": {"match": {"FIELD": "zzz cat"}}, "runtime_mappings": {}}, True),
    ({"query": {"match": {"FIELD": "chat"}}}, True),
    ({"query": {"function_score": {"query": {"match": {"FIELD": "cat"}}}}}, True),
]


@pytest.mark.parametrize(("members", "is_ids_only"), QUERIES, ids=[json.dumps(members) for members, _ in QUERIES])
def test_what_is_shown_of_the_query_is_the_same(
    both: BothWays, indices: Indices, members: dict[str, Any], is_ids_only: bool
) -> None:
    if "runtime_mappings" in members and "opensearch" in both.engine.name:
        pytest.skip("OpenSearch has no runtime mappings")
    for name, prefix, kind in ((indices.ours_3, "FIELD", STORED_BAGS), (indices.theirs, "FIELD", SEQUENCE_NUMBERS)):
        text_field, title = ("text.en", "title.en") if kind == STORED_BAGS else ("t", "title")
        written = json.dumps({**search(prefix), **members}).replace("FIELD", text_field).replace("TITLE", title)
        assert both.compare(f"/{name}/_search", json.loads(written)) == (kind if is_ids_only else None), name


PARAMETERS: list[tuple[str, bool]] = [
    ("q=FIELD:cat&size=4", True),
    ("q=cat&df=FIELD&default_operator=AND&size=4", True),
    ("size=4&from=2&pretty", True),
    ("size=4&filter_path=hits.hits._id,hits.total,took", True),
    ("size=4&_source=false", True),
    ("size=4&_source_includes=title&version=true&seq_no_primary_term=true", True),
    ("size=4&stored_fields=n&docvalue_fields=n", True),
    ("size=4&rest_total_hits_as_int=true&typed_keys", True),
    ("size=4&track_total_hits=true&search_type=dfs_query_then_fetch", True),
    ("size=4&allow_partial_search_results=false&request_cache=false&batched_reduce_size=2", True),
    ("size=4&ignore_unavailable=true&expand_wildcards=open&preference=_local", True),
    ("size=4&sort=_score:desc&timeout=30s&terminate_after=10000", True),
    ("size=4&explain=true", False),
    ("size=4&error_trace=true&human", True),
]


@pytest.mark.parametrize(("parameters", "is_ids_only"), PARAMETERS)
def test_parameters_of_the_url_have_their_meaning(
    both: BothWays, indices: Indices, parameters: str, is_ids_only: bool
) -> None:
    for name, text_field, kind in ((indices.ours_3, "text.en", STORED_BAGS), (indices.theirs, "t", SEQUENCE_NUMBERS)):
        path = f"/{name}/_search?{parameters.replace('FIELD', text_field)}"
        expected = kind if is_ids_only and not (kind == SEQUENCE_NUMBERS and "preference" in parameters) else None
        assert (
            both.compare(path, {} if "q=" in parameters else {"query": {"match": {text_field: "cat dog"}}}) == expected
        )


def test_lines_of_a_multi_search_share_their_requests(both: BothWays, indices: Indices) -> None:
    lines = [
        *({"index": indices.ours}, search("text.en")),
        *({"index": indices.theirs}, search("t", highlight={"fields": {"t": {}}})),
        *({"index": indices.theirs_3}, search("t", "dog")),
        *({"index": indices.ours_3}, search("text.en", "bread", sort=["_doc"])),
        *({"index": [indices.ours, indices.ours_3]}, search("text.en", "car", _source=["title"])),
        *({"index": "missing"}, search("t")),
        *({"index": indices.theirs}, search("t", "cat", **{"from": 10_000})),
    ]
    for _ in range(N_SEARCHES):
        both.compare("/_msearch", ndjson(*lines))
    assert both.kinds.asked[:3] == [SEQUENCE_NUMBERS, SEQUENCE_NUMBERS, None]
    assert both.kinds.asked[3:5] == [STORED_BAGS, None]


# The engines refuse them for a page without hits as well.
REFUSED: list[dict[str, Any]] = [
    {"highlight": {"fields": {"FIELD": {"unheard": 1}}}},
    {"docvalue_fields": [{"field": "n", "unheard": 1}]},
    {"script_fields": {"two": {"script": "1 +"}}},
]


@pytest.mark.parametrize("members", REFUSED, ids=json.dumps)
def test_a_page_without_hits_is_refused_as_the_engine_refuses_it(
    both: BothWays, indices: Indices, members: dict[str, Any]
) -> None:
    for name, text_field, kind in ((indices.ours_3, "text.en", STORED_BAGS), (indices.theirs, "t", SEQUENCE_NUMBERS)):
        first = search(text_field, "cat", **{"from": 45})
        body = {**first, **json.loads(json.dumps(members).replace("FIELD", text_field))}
        lines = ndjson({"index": name}, first, {"index": name}, body)
        for path, sent in ((f"/{name}/_search", json.dumps(body).encode()), ("/_msearch", lines)):
            both.forget()
            assert both.compare(f"/{name}/_search", first) == kind
            headers = {"Content-Type": "application/json"}
            direct = both.http.request("POST", f"{both.engine.url}{path}", body=sent, headers=headers)
            answer = both.send(path, sent)
            assert both.kinds.asked[-1] == kind
            assert errors(answer.get_json()) == errors(direct.json()) != [None]


def errors(answer: Any) -> list[Any]:
    """The kinds of errors of an answer, or of all answers of a multi-search."""
    return [one["error"]["type"] if "error" in one else None for one in answer.get("responses", [answer])]


def test_hits_of_several_indices_and_of_aliases(both: BothWays, indices: Indices) -> None:
    alias = f"{indices.ours}-alias"
    action = {
        "add": {
            "indices": [indices.ours_3, f"{indices.ours}-*"],
            "alias": alias,
            "filter": {"match": {"text.en": "cat"}},
        }
    }
    one = {"add": {"index": indices.theirs, "alias": f"{alias}-one", "filter": {"match": {"t": "cat"}}}}
    made = both.http.request("POST", f"{both.engine.url}/_aliases", json={"actions": [action, one]})
    assert made.status == 200, made.data
    body = search("text.en", "cat water bread")
    assert both.compare(f"/{alias}/_search", body) == STORED_BAGS
    assert both.compare(f"/{indices.ours},{indices.ours_3}/_search", body) == STORED_BAGS
    assert both.compare(f"/{indices.ours}*/_search", body) == STORED_BAGS
    assert both.compare(f"/{alias}-one/_search", search("t", "cat water bread")) == SEQUENCE_NUMBERS
    everywhere = {"query": {"multi_match": {"query": "cat", "fields": ["t", "text.en"]}}, "size": 20}
    assert both.compare(f"/{','.join(indices)}/_search", everywhere) is None


def test_an_alias_that_chooses_a_shard_is_not_taken_for_another(both: BothWays, indices: Indices) -> None:
    names = [f"{indices.theirs}-r{n}" for n in range(6)]
    actions = [{"add": {"index": indices.theirs_3, "alias": name, "routing": str(n)}} for n, name in enumerate(names)]
    assert both.http.request("POST", f"{both.engine.url}/_aliases", json={"actions": actions}).status == 200
    for name in names:
        assert both.compare(f"/{name}/_search", search("t")) in (SEQUENCE_NUMBERS, None)
    for n in range(6):
        assert both.compare(f"/{indices.theirs_3}/_search?routing={n}", search("t")) is None
        assert both.compare(f"/{indices.ours_3}/_search?routing={n}", search("text.en", size=2)) in (STORED_BAGS, None)


# Members of a document, beside those that ingest writes.
ODD_MEMBERS = [
    '"url": "\\u00e9\\/\\ud83d\\ude00 \\u001f <&> \\"title\\": 1"',
    '"metadata": {"n": 1.10, "big": 12345678901234567890, "huge": 123456789012345678901234567890, "e": 1e16}',
    '"title": {}, "metadata": {"empty": [], "none": null, "list": [1.0, 2], "yes": true}',
    '"title.en": "a dotted name", "metadata.deep.url": "https://example.org/deep", "url" : null',
    '"title": { "en" : [ "one" , "two" ] } , "metadata": [{"a": 1}, {"b": {"title": 2}}, {}]',
    '"metadata": {"title": {"url": "of metadata"}}',
]
FILTERS: list[Any] = [
    ["title", "url"],
    ["url"],
    ["metadata"],
    ["url", "metadata", "title"],
    ["missing"],
    "title",
    {"excludes": ["nbow"]},
    {"excludes": ["nbow", "title", "bag"]},
    {"includes": ["title", "url", "metadata"], "excludes": ["url"]},
    {"includes": ["title", "bag", "title_key", "nbow"]},
    ["metadata.title", "url"],
    ["ti*", "*.title"],
    {"excludes": ["metadata.*", "t*"]},
    {"includes": ["*"], "excludes": ["bag"]},
    [""],
    True,
    False,
]


@pytest.mark.parametrize("source", FILTERS, ids=json.dumps)
def test_a_page_has_of_each_document_what_the_engines_filter_leaves(both: BothWays, own_copy: str, source: Any) -> None:
    name, url = f"{own_copy}-ours", both.engine.url
    got = both.http.request("GET", f"{url}/{name}/_search?size=1").json()["hits"]["hits"][0]["_source"]
    common = {key: got[key] for key in ("bag", "lang", "doc_id", "nbow")} | {"text": {"en": "cat bread"}}
    for n, members in enumerate(ODD_MEMBERS):
        document = f"{json.dumps(common | {'doc_id': f'odd{n}'})[:-1]}, {members}}}"
        headers = {"Content-Type": "application/json"}
        answer = both.http.request("PUT", f"{url}/{name}/_doc/odd{n}", body=document.encode(), headers=headers)
        assert answer.status == 201, answer.data
    both.http.request("POST", f"{url}/{name}/_refresh")
    body = search("text.en", "cat bread", size=30, _source=source)
    assert both.compare(f"/{name}/_search", body) == STORED_BAGS
    hits = both.send(f"/{name}/_search", body).get_json()["hits"]["hits"]
    assert {f"odd{n}" for n in range(len(ODD_MEMBERS))} <= {hit["_id"] for hit in hits}
    asked = {"query": {"ids": {"values": [hit["_id"] for hit in hits]}}, "size": len(hits), "_source": source}
    expected = both.http.request("POST", f"{url}/{name}/_search", json=asked).json()["hits"]["hits"]
    assert {hit["_id"]: hit.get("_source") for hit in hits} == {hit["_id"]: hit.get("_source") for hit in expected}


def change_after_window(both: BothWays, change: Callable[[], None]) -> None:
    """Makes a change once, between the next ids-only window and its page."""
    upstream, pending = both.ids_only.upstream, [change]
    send = upstream.send

    def changed(*arguments: Any, **named: Any) -> urllib3.BaseHTTPResponse:
        if b'"track_total_hits":false' in arguments[3] and pending:
            pending.pop()()
        return send(*arguments, **named)

    upstream.send = changed  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("whose", "kind"), [("", SEQUENCE_NUMBERS), ("-ours", STORED_BAGS), ("-ours1", SEQUENCE_NUMBERS)]
)
@pytest.mark.parametrize("what", ["deleted", "written again"])
def test_a_hit_that_changes_before_the_page_is_fetched_gives_the_page_of_a_whole_window(
    both: BothWays, own_copy: str, whose: str, kind: str, what: str
) -> None:
    http, engine = both.http, both.engine.url
    name, text_field = f"{own_copy}{whose}", "text.en" if whose else "t"
    body = search(text_field, "cat", seq_no_primary_term=True)
    assert both.compare(f"/{name}/_search", body, kind) == kind
    first = both.send(f"/{name}/_search", body).get_json()["hits"]["hits"][0]

    def change() -> None:
        place = f"{engine}/{name}/_doc/{first['_id']}?refresh=true"
        method = "DELETE" if what == "deleted" else "PUT"
        answer = http.request(method, place, json=None if what == "deleted" else first["_source"])
        assert answer.status in (200, 201), answer.data

    both.kinds.n_failures = 0
    change_after_window(both, change)
    answer = both.send(f"/{name}/_search", body)
    assert both.kinds.n_failures == 1
    assert answer.headers["X-Rerank-Status"] == "applied"
    assert without_time(answer) == without_time(both.send(f"/{name}/_search", body, is_whole=True))
    assert (first["_id"] in [hit["_id"] for hit in answer.get_json()["hits"]["hits"]]) == (what != "deleted")


def test_pages_of_a_multi_search_have_the_filter_of_their_own_search(both: BothWays, own_copy: str) -> None:
    """Also where the page of the one before cannot be had."""
    names = f"{own_copy}-ours", f"{own_copy}-ours1"
    for filters in ((["url"], ["url"]), (["title"], None), (["title"], ["url", "lang"])):
        both.forget()
        lines = [
            line
            for name, source in zip(names, filters, strict=True)
            for line in ({"index": name}, search("text.en", **({} if source is None else {"_source": source})))
        ]
        for _ in range(N_SEARCHES):
            both.compare("/_msearch", ndjson(*lines))
        assert None not in both.kinds.asked[:2]

    def change() -> None:
        assert both.http.request("DELETE", f"{both.engine.url}/{names[0]}").status == 200

    change_after_window(both, change)
    ids_only = both.send("/_msearch", ndjson(*lines))
    assert without_time(ids_only) == without_time(both.send("/_msearch", ndjson(*lines), is_whole=True))


@pytest.mark.parametrize("has_old_ids", [False, True], ids=["in another order", "by the same numbers and ids"])
@pytest.mark.parametrize(("whose", "text_field"), [("", "t"), ("-ours1", "text.en")])
def test_an_index_that_is_made_anew_is_not_ranked_by_its_old_bags(
    both: BothWays, own_copy: str, indices: Indices, whose: str, text_field: str, has_old_ids: bool
) -> None:
    name, url, body = f"{own_copy}{whose}", both.engine.url, search(text_field, "cat dog")
    assert both.compare(f"/{name}/_search", body) == SEQUENCE_NUMBERS
    both.http.request("DELETE", f"{url}/{name}")
    if has_old_ids:  # each document has the id and the numbers of before, and the text of the one that followed
        copy_index(both.http, url, indices.ours if whose else indices.theirs, name, n_shards=1, shift=1)
    else:
        copy_index(both.http, url, indices.ours_3 if whose else indices.theirs_3, name, n_shards=1)
    answer = both.send(f"/{name}/_search", body)
    assert both.kinds.n_failures == 1
    assert without_time(answer) == without_time(both.send(f"/{name}/_search", body, is_whole=True))


def asked_of_the_engine(both: BothWays) -> list[Any]:
    """The bodies of the searches from now on."""
    upstream, bodies = both.ids_only.upstream, []
    send = upstream.send

    def noted(*arguments: Any, **named: Any) -> Any:
        bodies.append(json.loads(arguments[3]))
        return send(*arguments, **named)

    upstream.send = noted  # type: ignore[method-assign]
    return bodies


def test_a_new_search_takes_one_request_and_one_that_comes_again_asks_for_no_text(
    both: BothWays, own_copy: str
) -> None:
    both.send(f"/{own_copy}/_search", search("t", "cat dog water"))  # compares both kinds of window
    bodies = asked_of_the_engine(both)
    new = both.send(f"/{own_copy}/_search", search("t", "bread car"))
    assert ["stored_fields" in body for body in bodies] == [False]
    bodies.clear()
    again = both.send(f"/{own_copy}/_search", search("t", "bread car"))
    assert [body.get("stored_fields") for body in bodies] == ["_none_", None]
    assert [body["size"] for body in bodies] == [100, 5]
    assert without_time(again) == without_time(new)


@pytest.mark.parametrize("n", [1, N_DOCUMENTS])
@pytest.mark.parametrize(("whose", "text_field"), [("", "t"), ("-ours1", "text.en")])
def test_documents_that_are_not_cached_are_fetched_by_one_request(
    both: BothWays, own_copy: str, n: int, whose: str, text_field: str
) -> None:
    name, url = f"{own_copy}{whose}", both.engine.url
    body = search(text_field, "cat dog water bread car zzz", size=5)
    assert both.compare(f"/{name}/_search", body) == SEQUENCE_NUMBERS
    bodies = asked_of_the_engine(both)
    both.send(f"/{name}/_search", body)
    assert len(bodies) == 2
    hits = both.http.request("GET", f"{url}/{name}/_search?size={n}").json()["hits"]["hits"]
    lines = [line for hit in hits for line in ({"index": {"_id": hit["_id"]}}, hit["_source"])]
    headers = {"Content-Type": "application/x-ndjson"}
    both.http.request("POST", f"{url}/{name}/_bulk?refresh=true", body=ndjson(*lines), headers=headers)
    bodies.clear()
    answer = both.send(f"/{name}/_search", body)
    assert both.kinds.n_failures == 0
    assert [len(asked["query"].get("terms", {}).get("_seq_no", ())) for asked in bodies] == [0, n, 5]
    assert without_time(answer) == without_time(both.send(f"/{name}/_search", body, is_whole=True))


def test_an_index_of_ours_behind_an_alias_is_changed(both: BothWays, own_copy: str, indices: Indices) -> None:
    first, second, url, body = f"{own_copy}-ours1", f"{own_copy}-ours", both.engine.url, search("text.en", "cat dog")
    alias = f"{own_copy}-alias"
    both.http.request("DELETE", f"{url}/{second}")
    copy_index(both.http, url, indices.ours_3, second, n_shards=1)  # other documents have its sequence numbers
    add = [{"add": {"index": name, "alias": alias}} for name in (first, second)]
    for actions in (add[:1], [{"remove": {"index": first, "alias": alias}}, add[1]]):
        answer = both.http.request("POST", f"{url}/_aliases", json={"actions": actions})
        assert answer.status == 200, answer.data
        ids_only = both.send(f"/{alias}/_search", body)
        assert without_time(ids_only) == without_time(both.send(f"/{alias}/_search", body, is_whole=True))
        assert both.compare(f"/{alias}/_search", body) == SEQUENCE_NUMBERS


def test_bags_of_other_embeddings_are_not_taken_for_bags_of_ours(
    both: BothWays, own_copy: str, indices: Indices, embeddings: Embeddings
) -> None:
    """They have the same form. An alias gets an index of theirs when it is known to have stored bags."""
    other, alias, url = f"{own_copy}-other", f"{own_copy}-mixed", both.engine.url
    copy_index(both.http, url, indices.ours, other, n_shards=1)
    try:
        (made,) = both.http.request("GET", f"{url}/{other}/_mapping").json().values()
        meta = made["mappings"]["_meta"]
        assert meta["sinkrank"]["embeddings_version"] == embeddings.version
        meta["sinkrank"]["embeddings_version"] = "0123456789abcdef"
        assert both.http.request("PUT", f"{url}/{other}/_mapping", json={"_meta": meta}).status == 200
        hits = both.http.request("GET", f"{url}/{other}/_search?size=1000").json()["hits"]["hits"]
        bag = pack(embeddings.bag("bread", "en"))
        lines = [line for hit in hits for line in ({"index": {"_id": hit["_id"]}}, {**hit["_source"], "bag": bag})]
        answer = both.http.request(
            "POST",
            f"{url}/{other}/_bulk?refresh=true",
            body=ndjson(*lines),
            headers={"Content-Type": "application/x-ndjson"},
        )
        assert answer.json()["errors"] is False, answer.data
        body = search("text.en", "cat dog")
        for name in (indices.ours_3, other):
            add = {"actions": [{"add": {"index": name, "alias": alias}}]}
            assert both.http.request("POST", f"{url}/_aliases", json=add).status == 200
            ids_only = both.send(f"/{alias}/_search", body)
            assert without_time(ids_only) == without_time(both.send(f"/{alias}/_search", body, is_whole=True))
            if name == indices.ours_3:
                assert both.compare(f"/{alias}/_search", body, STORED_BAGS) == STORED_BAGS
        assert both.kinds.asked[-1] == STORED_BAGS
    finally:
        both.http.request("DELETE", f"{url}/{other}")


@given(
    chosen=st.lists(st.sampled_from([members for members, _ in MEMBERS if "profile" not in members]), max_size=4),
    text=st.lists(st.sampled_from([*WORDS, "chat", "chien"]), min_size=1, max_size=4).map(" ".join),
    kind=st.sampled_from(["match", "match_phrase", "match_bool_prefix", "simple_query_string"]),
    is_ours=st.booleans(),
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_search_is_answered_alike(
    both: BothWays, indices: Indices, chosen: list[dict[str, Any]], text: str, kind: str, is_ours: bool
) -> None:
    name, text_field = (indices.ours_3, "text.en") if is_ours else (indices.theirs, "t")
    clause = {"query": text, "fields": [text_field]} if kind == "simple_query_string" else {text_field: text}
    body: dict[str, Any] = {"query": {kind: clause}, "size": 5}
    for members in chosen:
        body |= members
    for unknown in ("suggest", "aggregations", "post_filter", "script_fields"):
        body.pop(unknown, None)
    both.compare(f"/{name}/_search", body)
