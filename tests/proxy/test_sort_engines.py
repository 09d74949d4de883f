"""Searches sorted by score and then by other keys, and walked through by `search_after`, on real engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import urllib3
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.proxy.conftest import named_index
from tests.support.calls import BY_CHAT, WORDS, chat, hits, make_index, multi_search, post, words
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

N_MANY = 60
FIND = {"query": {"match": {"all": "qqq"}}}


@pytest.fixture(scope="module")
def index(engine: Engine) -> Iterator[str]:
    """Hits that the engine has in the order of their ids, by falling scores."""
    documents = [{"n": n, "body": text, "all": "qqq " + "rrr " * n} for n, text in enumerate(WORDS)]
    with named_index(engine.url) as name, urllib3.PoolManager(retries=False) as http:
        make_index(http, engine.url, name, {"n": {"type": "integer"}}, documents)
        yield name


@pytest.fixture(scope="module")
def many(engine: Engine) -> Iterator[str]:
    """Hits of five different scores of the engine."""
    documents = [
        {"n": n, "name": f"k{n:02}", "body": WORDS[n % len(WORDS)], "all": "qqq " * (n % 5 + 1)} for n in range(N_MANY)
    ]
    properties = {"n": {"type": "integer"}, "name": {"type": "keyword"}}
    with named_index(engine.url) as name, urllib3.PoolManager(retries=False) as http:
        make_index(http, engine.url, name, properties, documents)
        yield name


@contextmanager
def point_in_time(http: urllib3.PoolManager, engine: Engine, url: str, index: str) -> Iterator[dict[str, Any]]:
    is_elasticsearch = engine.distribution == "elasticsearch"
    path = "_pit" if is_elasticsearch else "_search/point_in_time"
    opened = http.request("POST", f"{url}/{index}/{path}?keep_alive=1m").json()
    pit_id = opened["id" if is_elasticsearch else "pit_id"]
    yield {"id": pit_id, "keep_alive": "1m"}
    body = {"id": pit_id} if is_elasticsearch else {"pit_id": [pit_id]}
    assert http.request("DELETE", f"{url}/{path}", json=body).status == 200


def outcome(answer: urllib3.BaseHTTPResponse) -> tuple[str | None, str | None]:
    return answer.headers.get("X-Rerank-Status"), answer.headers.get("X-Rerank-Reason")


# Nearest to `chat` first; of two with the same words that with the larger `n`.
BY_CHAT_AND_N = ["chat", "cat cat", "cat", "dog dog", "dog", "car", "water", "bread bread", "bread", "zzz"]


@pytest.mark.parametrize(
    ("more", "parameters"),
    [
        ({"sort": ["_score", {"n": "desc"}]}, ""),
        ({"sort": {"_score": "desc", "n": {"order": "desc"}}}, ""),
        ({"sort": [{"_score": {"order": "DESC"}}, {"n": "desc"}], "track_scores": True}, ""),
        ({}, "?sort=_score,n:desc"),
    ],
)
def test_hits_of_the_same_score_are_in_the_order_of_the_callers_key(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str, more: Any, parameters: str
) -> None:
    """As the engine's order has them, which scores all hits the same."""
    body = {"query": {"match_all": {}}, "size": len(WORDS), **more}
    direct = post(http, f"{engine.url}/{index}/_search{parameters}", body)
    answer = post(http, f"{url}/{index}/_search{parameters}", {**body, "ext": chat(text_fields=["body"])})
    assert outcome(answer) == ("applied", None), answer.data
    assert words(answer) == BY_CHAT_AND_N
    scores = [hit["_score"] for hit in hits(answer)]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] < scores[0] == 1.0
    # `sort` is the engine's, by which `search_after` goes on.
    assert {hit["_id"]: hit["sort"] for hit in hits(answer)} == {hit["_id"]: hit["sort"] for hit in hits(direct)}
    assert (answer.json()["hits"]["max_score"] is None) == (direct.json()["hits"]["max_score"] is None)


def test_the_keys_of_the_url_follow_those_of_the_body(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str
) -> None:
    """The engine alone, and then the proxy: sorted by `n` first it keeps its order."""
    by_n = {**FIND, "sort": [{"n": "asc"}]}
    for base in (engine.url, url):
        answer = post(http, f"{base}/{index}/_search?sort=_score:desc", by_n)
        assert [hit["sort"][0] for hit in hits(answer)] == list(range(10))
    assert outcome(answer) == ("skipped", "sorted")
    by_score = {"query": {"match_all": {}}, "sort": ["_score"]}
    answer = post(http, f"{engine.url}/{index}/_search?sort=n:desc", by_score)
    assert [hit["sort"] for hit in hits(answer)] == [[1.0, n] for n in reversed(range(10))]
    answer = post(http, f"{url}/{index}/_search?sort=n:desc", {**by_score, "ext": chat(text_fields=["body"])})
    assert (outcome(answer), words(answer)) == (("applied", None), BY_CHAT_AND_N)


def test_a_page_of_it_comes_with_its_own_keys_where_windows_come_without_text(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str
) -> None:
    body = {"query": {"match": {"body": "cat dog"}}, "size": 1, "sort": ["_score", {"n": "desc"}]}
    direct = {hit["_id"]: hit["sort"] for hit in hits(post(http, f"{engine.url}/{index}/_search", {**body, "size": 9}))}
    answers = [post(http, f"{url}/{index}/_search", body) for _ in range(4)]
    assert [outcome(one) for one in answers] == [("applied", None)] * 4
    (hit,) = hits(answers[0])
    assert hit["sort"] == direct[hit["_id"]]
    assert all(hits(one) == [hit] for one in answers)


@pytest.mark.parametrize("with_pit", [False, True])
def test_a_walk_by_search_after_holds_each_hit_once_in_the_order_of_pages(
    http: urllib3.PoolManager, engine: Engine, url: str, many: str, with_pit: bool
) -> None:
    sort = ["_score", {"name": "desc"}]

    def pages(window: int) -> list[str]:
        body = {**FIND, "sort": sort, "size": N_MANY, "ext": chat(window_size=window)}
        return [hit["_id"] for hit in hits(post(http, f"{url}/{many}/_search", body))]

    def walk(window: int, sizes: Sequence[int], base: dict[str, Any], path: str) -> list[str]:
        seen: list[str] = []
        after: dict[str, Any] = {}
        n_pages = 0
        while True:
            size = sizes[n_pages % len(sizes)]
            body = {**FIND, **base, **after, "sort": sort, "size": size, "ext": chat(window_size=window)}
            answer = post(http, f"{url}{path}", body)
            n_pages += 1
            is_behind = len(seen) > window  # the last hit that was seen stands where the engine has it
            assert outcome(answer) == (("skipped", "search_after") if is_behind else ("applied", None))
            if not hits(answer):
                return seen
            seen += [hit["_id"] for hit in hits(answer)]
            after = {"search_after": hits(answer)[-1]["sort"]}

    @settings(max_examples=10, deadline=None)
    @given(window=st.integers(1, N_MANY + 10), sizes=st.lists(st.integers(3, 25), min_size=1, max_size=4))
    def agree(window: int, sizes: list[int]) -> None:
        whole = pages(window)
        assert sorted(whole, key=int) == [str(n) for n in range(N_MANY)]
        if not with_pit:
            assert walk(window, sizes, {}, f"/{many}/_search") == whole
            return
        with point_in_time(http, engine, url, many) as pit:
            assert walk(window, sizes, {"pit": pit}, "/_search") == whole

    agree()


@pytest.mark.parametrize(
    "more",
    [
        {"search_after": [0.1]},
        {"search_after": [0.1, 2, 3]},
        {"search_after": [0.1, 2], "from": 1},
        {"search_after": ["a", "b"]},
        {"search_after": []},
        {"search_after": {"a": 1}},
        {"search_after": [0.1, 2], "sort": ["_score"]},
    ],
)
def test_a_cursor_that_the_engine_refuses_is_its_error(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str, more: dict[str, Any]
) -> None:
    body = {**FIND, "sort": ["_score", "n"], **more}
    direct, answer = (post(http, f"{where}/{index}/_search", body) for where in (engine.url, url))
    assert (answer.status, answer.json()["error"]) == (direct.status, direct.json()["error"])
    assert answer.status >= 400


def test_where_re_ranking_fails_the_walk_goes_on_in_the_engines_order(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str
) -> None:
    body: dict[str, Any] = {**FIND, "sort": ["_score", "n"], "size": 2}
    body["search_after"] = hits(post(http, f"{engine.url}/{index}/_search", body))[-1]["sort"]
    direct = post(http, f"{engine.url}/{index}/_search", body)
    answer = post(http, f"{url}/{index}/_search", {**body, "ext": chat(text_fields=["n"])})
    assert outcome(answer) == ("fallback", "no_text_in_hits")
    assert answer.json()["hits"] == direct.json()["hits"]


def test_in_a_multi_search_each_walk_is_its_own(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str
) -> None:
    body = {**FIND, "sort": ["_score", {"n": "desc"}], "size": 2, "ext": chat(text_fields=["body"])}
    first = multi_search(http, f"{url}/{index}/_msearch", {}, body).json()["responses"][0]
    assert words(first) == BY_CHAT[:2]
    inside = {**body, "search_after": hits(first)[-1]["sort"]}
    behind = {**inside, "ext": chat(window_size=3)}
    answer = multi_search(http, f"{url}/{index}/_msearch", {}, inside, {}, behind, {}, body)
    assert outcome(answer) == ("applied", "applied=2, search_after=1")
    responses = answer.json()["responses"]
    assert words(responses[0]) == BY_CHAT[2:4]
    behind.pop("ext")
    assert responses[1]["hits"] == post(http, f"{engine.url}/{index}/_search", behind).json()["hits"]
    assert words(responses[2]) == BY_CHAT[:2]


@pytest.mark.parametrize("source", [True, ["n"], False])
def test_a_point_in_time_is_re_ranked_as_its_index_is(
    http: urllib3.PoolManager, engine: Engine, url: str, index: str, many: str, source: Any
) -> None:
    """Texts that the answer does not hold are looked up in it: other indices have documents of the same ids."""
    with point_in_time(http, engine, url, index) as pit:
        body = {**FIND, "pit": pit, "sort": ["_score", {"n": "desc"}], "size": 10, "_source": source}
        direct = post(http, f"{engine.url}/_search", body)
        answer = post(http, f"{url}/_search", {**body, "ext": chat(text_fields=["body"])})
        assert outcome(answer) == ("applied", None)
        assert words(answer) == BY_CHAT
        assert {str(hit) for hit in without_scores(answer)} == {str(hit) for hit in without_scores(direct)}
        assert answer.json().keys() == direct.json().keys()
        assert {hit["_index"] for hit in hits(answer)} == {index}
        alone = {name: value for name, value in body.items() if name != "sort"}
        assert outcome(post(http, f"{url}/_search", {**alone, "ext": chat()})) == ("applied", None)
        assert outcome(post(http, f"{url}/_search", {**body, "sort": ["n"]})) == ("skipped", "point_in_time")


def without_scores(answer: urllib3.BaseHTTPResponse) -> list[dict[str, Any]]:
    return [{name: value for name, value in sorted(hit.items()) if name != "_score"} for hit in hits(answer)]
