"""Marks by meaning beside those of real engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from tests.proxy.conftest import named_index
from tests.support.calls import make_index, multi_search, post
from tests.support.engines.sources import Engine

pytestmark = pytest.mark.engine

# With what an engine cuts, escapes and marks in its own way.
BODIES = [
    'A cat <b>&amp;</b> a "dog" sat on it; it\'s a/b. Then the cat slept! No more of it.',
    "Un chat & un pain <i>noir</i>. Il dort.",
    "Nothing of it. " + "A long way to go before a cat comes " * 6,
    "water",
]
TAGS = ["cat", "un chat", "bread"]
FORMS: dict[str, dict[str, Any]] = {
    "default": {},
    "html": {"encoder": "html"},
    "whole values": {"number_of_fragments": 0},
    "short, by score": {"fragment_size": 20, "order": "score"},
    "plain": {"type": "plain"},
    "styled": {"tags_schema": "styled"},
    "no_match_size": {"no_match_size": 12},
    "any field": {"require_field_match": False},
}
QUERY = {"bool": {"should": [{"match": {"body": "the cat"}}, {"match_all": {}}]}}


@pytest.fixture(scope="module")
def marked(engine: Engine) -> Iterator[str]:
    with named_index(engine.url) as name, urllib3.PoolManager(retries=False) as http:
        properties = {"body": {"type": "text"}, "tags": {"type": "text"}}
        make_index(http, engine.url, name, properties, [{"body": body, "tags": TAGS} for body in BODIES])
        yield name


def highlights(answer: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    return {hit["_id"]: hit.get("highlight", {}) for hit in answer["hits"]["hits"]}


def search_of(form: dict[str, Any], mode: Any) -> dict[str, Any]:
    highlight = {"fields": {"body": {}, "tags": {}}, **form}
    section = {"query_context": {"query_text": "the cat"}, "language": "en", "highlight": mode}
    return {"query": QUERY, "highlight": highlight, "ext": {"rerank": section}}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_the_engine_marks_stays_as_it_is_and_is_marked_by_meaning_too(
    http: urllib3.PoolManager, engine: Engine, url: str, marked: str, form: dict[str, Any]
) -> None:
    """Cosines of cat: chat 0.96, dog 0.8."""
    body = search_of(form, "engine")
    direct = highlights(post(http, f"{engine.url}/{marked}/_search", {**body, "ext": {}}).json())
    found = {}
    for mode in ("engine", "both", "meaning"):
        answer = post(http, f"{url}/{marked}/_search", search_of(form, mode))
        assert answer.headers["X-Rerank-Status"] == "applied", answer.data
        found[mode] = highlights(answer.json())
    assert found["engine"] == direct
    for doc_id in ("0", "2"):
        assert found["both"][doc_id]["body"] == direct[doc_id]["body"]
    assert found["both"]["3"] == direct["3"]
    (french,) = found["both"]["1"]["body"]
    assert re.search(r"Un <em[^>]*>chat</em> (&|&amp;) un pain", french)
    for doc_id, fields in direct.items():
        for name, fragments in fields.items():
            ours = " ".join(found["meaning"][doc_id][name])
            assert set(re.findall(r"<em[^>]*>.*?</em>", " ".join(fragments))) <= set(
                re.findall(r"<em[^>]*>.*?</em>", ours)
            )
    if form.get("require_field_match") is False:
        assert found["both"]["0"]["tags"] == ["<em>cat</em>"]
        assert found["meaning"]["0"]["tags"] == ["<em>cat</em>", "un <em>chat</em>"]


def test_a_multi_search_and_a_page_without_source_are_marked(http: urllib3.PoolManager, url: str, marked: str) -> None:
    body = search_of({}, "both")
    lines = [{"index": marked}, {**body, "_source": False}, {"index": marked}, {**body, "size": 1, "_source": ["tags"]}]
    for _ in range(3):  # from the second on a window of ids may serve
        answers = multi_search(http, f"{url}/_msearch", *lines).json()["responses"]
        assert highlights(answers[0])["1"] == {"body": ["Un <em>chat</em> & un pain <i>noir</i>. Il dort."]}
        assert "_source" not in answers[0]["hits"]["hits"][0]
        assert set(answers[1]["hits"]["hits"][0]["_source"]) == {"tags"}


def test_pages_behind_a_hit_and_points_in_time_are_marked(
    http: urllib3.PoolManager, engine: Engine, url: str, marked: str
) -> None:
    body = {**search_of({}, "both"), "sort": ["_score", {"_doc": "asc"}], "size": 1}
    seen: dict[str, Any] = {}
    for _ in BODIES:
        hits = post(http, f"{url}/{marked}/_search", body).json()["hits"]["hits"]
        seen |= {hit["_id"]: hit.get("highlight", {}) for hit in hits}
        body["search_after"] = hits[-1]["sort"]
    assert seen["1"] == {"body": ["Un <em>chat</em> & un pain <i>noir</i>. Il dort."]}
    scrolled = post(http, f"{url}/{marked}/_search?scroll=1m", {"query": QUERY, "highlight": {"fields": {"body": {}}}})
    assert scrolled.headers["X-Rerank-Reason"] == "scroll"
    assert highlights(scrolled.json())["1"] == {}
