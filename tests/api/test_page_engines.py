"""The page on indices of real engines that Sinkrank did not make."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import urllib3
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Route, expect

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.text.documents import Document
from tests.support.browser.pages import OpenPage, ids, judge, opened_pages, searched
from tests.support.calls import make_index
from tests.support.engines.sources import Engine
from tests.support.service import fill, serving

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

OURS, FOREIGN, ALIAS = f"page-ours-{os.getpid()}", f"page-foreign-{os.getpid()}", f"page-alias-{os.getpid()}"
PROPERTIES = {
    "title": {"type": "text", "fields": {"exact": {"type": "text", "analyzer": "simple"}}},
    "parts": {"properties": {"body": {"type": "text"}}},
    "tag": {"type": "keyword"},
    "n": {"type": "integer"},
}
# BM25 likes short texts with "any"; nearest to "cat" are cat, then dog.
PAGES = [
    {"title": f"Page number {n}", "parts": {"body": f"any {words}"}, "tag": "x", "url": f"https://example.org/{n}"}
    for n, words in enumerate(["bread", "car", "dog water bread", "cat and water", "zzz", "water", "dog", "bread car"])
]


@pytest.fixture(scope="module")
def address(engine: Engine, embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = Settings(
        home=tmp_path_factory.mktemp("page"), threads=1, store=engine.url, proxy_budget_ms=60_000, proxy_timeout_s=60
    )
    with closing(open_store(engine.url)) as store, urllib3.PoolManager() as http:
        fill(store, embeddings, OURS, [Document("d1", "cat dog", "en", title="A cat here")])
        make_index(http, engine.url, FOREIGN, PROPERTIES, PAGES)
        actions = [{"add": {"index": FOREIGN, "alias": ALIAS}}]
        assert http.request("POST", f"{engine.url}/_aliases", json={"actions": actions}).status == 200
        app = create_app(settings, store, embeddings)
        with serving(app) as url:
            yield url
        store.drop(OURS)
        http.request("DELETE", f"{engine.url}/{FOREIGN}")


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[OpenPage]:
    with opened_pages(browser, address, ("/v1/", "_search", "_resolve", "_mapping")) as opened:
        yield opened


def body_of(posted: str | None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(posted or "")
    return found


def test_indices_and_aliases_are_listed_without_hidden_ones_and_what_is_ours(open_page: OpenPage) -> None:
    page = open_page()
    others = page.locator("select[name=index] optgroup.others option")
    expect(others.filter(has_text=FOREIGN)).to_have_count(1)
    names = others.all_inner_texts()
    assert ALIAS in names
    assert OURS not in names
    assert not [name for name in names if name.startswith(".") or "sinkrank-" in name]


def test_another_index_offers_its_fields_and_titles(open_page: OpenPage) -> None:
    page = open_page(f"?index={OURS}")
    page.get_by_label("Index").select_option(FOREIGN)
    expect(page.locator("#fields .tick")).to_have_text(["parts.body", "title", "title.exact", "url"])
    assert [box.is_checked() for box in page.locator("#fields [name=field]").all()] == [True, True, False, False]
    expect(page.locator("#examples button")).to_have_count(5)
    example = page.locator("#examples button").first
    query = example.inner_text()
    assert re.fullmatch(r"Page number \d", query)
    example.click()
    expect(page.locator("#after li").first).to_be_visible()
    expect(page.get_by_label("Query", exact=True)).to_have_value(query)


def test_the_examples_are_the_titles_whose_orders_differ_most(open_page: OpenPage) -> None:
    page = open_page(f"?index={OURS}")

    def answer(route: Route) -> None:
        """The ranks of the hits of `Page number N` are turned round where N is odd."""
        lines = [json.loads(line) for line in (route.request.post_data or "").splitlines()]
        searches = [line["query"]["multi_match"]["query"] for line in lines if "query" in line]
        ranks = [(2, 1) if int(query[-1]) % 2 else (1, 2) for query in searches]
        hits = [[{"_id": "x", "_rerank": {"first_stage_rank": rank}} for rank in pair] for pair in ranks]
        route.fulfill(json={"responses": [{"hits": {"hits": each}} for each in hits]})

    page.route("**/_msearch", answer)
    page.get_by_label("Index").select_option(FOREIGN)
    expect(page.locator("#examples button")).to_have_count(5)
    found = page.locator("#examples button").all_inner_texts()
    assert {int(query[-1]) for query in found[:4]} == {1, 3, 5, 7}
    page.unroute("**/_msearch")
    page.get_by_label("Index").select_option(OURS)
    page.get_by_label("Index").select_option(FOREIGN)
    expect(page.locator("#examples button")).to_have_text(found)  # kept, not searched again


def test_both_orders_of_an_index_that_is_not_ours_stand_side_by_side(open_page: OpenPage, engine: Engine) -> None:
    page = open_page(f"?index={FOREIGN}&fields=parts.body&language=en")
    searched(page, "any cat")
    query = {"query": {"multi_match": {"query": "any cat", "fields": ["parts.body"]}}}
    with urllib3.PoolManager() as http:
        found = http.request("POST", f"{engine.url}/{FOREIGN}/_search", json=query).json()["hits"]["hits"]
    assert ids(page, "before") == [hit["_id"] for hit in found]
    assert sorted(ids(page, "after")) == sorted(ids(page, "before"))
    expect(page.locator("#before-name")).to_have_text("The engine’s order")
    expect(page.locator("#status")).to_contain_text("8 found by the engine, the first 8 re-ranked")
    first = page.locator("#after li").first
    assert first.get_attribute("data-id") == "3"
    expect(first.locator(".title")).to_have_text("Page number 3")
    expect(first.locator(".title")).to_have_attribute("href", "https://example.org/3")
    expect(first.locator(".snippet mark.same").last).to_have_text("cat")


def test_fields_weights_and_the_share_are_sent_and_stay_in_the_link(open_page: OpenPage) -> None:
    page = open_page(f"?index={FOREIGN}")
    expect(page.locator("#fields .tick").first).to_be_visible()
    page.get_by_label("Weight of title", exact=True).fill("3")
    page.locator("#share").fill("0.25")
    with page.expect_request("**/_search") as request:
        searched(page, "any cat")
    sent = body_of(request.value.post_data)
    assert sent["query"]["multi_match"]["fields"] == ["parts.body", "title^3"]
    assert sent["ext"]["rerank"]["first_stage_share"] == 0.25
    assert sent["ext"]["rerank"]["details"] is True
    page.reload()
    expect(page.get_by_label("Weight of title", exact=True)).to_have_value("3")
    expect(page.locator("#after li").first).to_be_visible()
    with page.expect_request("**/_search") as request:
        page.get_by_role("checkbox", name="parts.body").uncheck()
    assert body_of(request.value.post_data)["query"]["multi_match"]["fields"] == ["title^3"]


def test_translations_are_shown(open_page: OpenPage) -> None:
    page = open_page(f"?index={FOREIGN}")
    expect(page.locator("#fields .tick").first).to_be_visible()
    english = {"kissa": {"kissa": 1.0, "cats": 0.2, "cat": 0.9, "pet": 0.1}, "leipä": {"bread": 0.8}}
    groups = {"en": english, "fr": {"kissa": {"chat": 0.5, "cat": 0.4}}}
    hit = {"_id": "4", "_score": 0.9, "_source": PAGES[4], "_rerank": {"rank": 1, "translations": groups}}
    answer = {"took": 3, "hits": {"total": {"value": 1, "relation": "eq"}, "hits": [hit]}}
    headers = {"X-Rerank-Status": "applied", "X-Rerank-Reason": "translated"}
    page.route("**/_search", lambda route: route.fulfill(json=answer, headers=headers))
    searched(page, "kissa leipä")
    expect(page.locator("#status")).to_contain_text(
        "searched with translations: kissa → cat, chat, cats; leipä → bread"
    )


def test_why_shows_the_parts_of_the_score_and_the_words(open_page: OpenPage) -> None:
    page = open_page(f"?index={FOREIGN}&query=any+cat&language=en&hit=3")
    expect(page.locator("#why-name")).to_have_text("1. Page number 3")
    expect(page.locator(".parts")).to_contain_text("The engine’s own score")
    expect(page.locator("dialog table").last).to_contain_text("cat")
    assert Axe().run(page).response["violations"] == []


def test_why_names_the_hits_that_a_part_of_the_score_comes_from(open_page: OpenPage) -> None:
    page = open_page(f"?index={FOREIGN}")
    expect(page.locator("#fields .tick").first).to_be_visible()

    def answer(route: Route) -> None:
        """As the engine's hits, the best of them with a part from its neighbours."""
        found = route.fetch()
        body = found.json()
        details = body["hits"]["hits"][0]["_rerank"]
        details["score_parts"]["neighbours"] = 0.1
        neighbours = {"documents": [{"id": "6", "share": 0.75}, {"id": "elsewhere", "share": 0.25}]}
        details["score_sources"] = {"encoder": None, "feedback": None, "neighbours": neighbours}
        route.fulfill(response=found, json=body)

    page.route(f"**/{FOREIGN}/_search", answer)
    searched(page, "any cat")
    page.locator("#after li[data-id='3']").get_by_role("button", name="Why").click()
    expect(page.locator(".sources li")).to_have_text(["“Page number 6” 75.0 %", "“elsewhere” 25.0 %"])
    assert Axe().run(page).response["violations"] == []


def test_the_list_of_queries_works_on_any_index(open_page: OpenPage) -> None:
    page = open_page(f"?index={FOREIGN}")
    expect(page.locator("#fields .tick").first).to_be_visible()
    page.get_by_text("Add queries", exact=True).click()
    page.get_by_label("One query a line").fill("any cat\nany bread")
    page.get_by_role("button", name="Add these").click()
    page.get_by_role("button", name="Search all").click()
    expect(page.locator("#list-says")).to_have_text("2 queries searched.")
    page.get_by_role("button", name="any cat", exact=True).click()
    expect(page.locator("#after li[data-id='3']")).to_be_visible()
    judge(page, "3", "relevant")
    expect(page.locator(".verdict")).to_contain_text("Of 1 judged query Sinkrank’s order is better for")
    assert Axe().run(page).response["violations"] == []


def test_a_query_in_another_language_names_its_translations(open_page: OpenPage) -> None:
    page = open_page(f"?index={FOREIGN}&query=voiture+qqq")
    expect(page.locator("#status")).to_contain_text("searched with translations: voiture → car")
    expect(page.locator("#status")).not_to_contain_text("qqq")  # it has none


@pytest.mark.parametrize(("status", "words"), [(401, "who you are"), (403, "does not let you")])
def test_who_may_not_list_the_indices_is_told_so_and_searches_ours(
    open_page: OpenPage, status: int, words: str
) -> None:
    page = open_page()

    def refuse(route: Route) -> None:
        route.fulfill(status=status, json={"error": {"reason": "no"}, "status": status})

    page.route("**/_resolve/**", refuse)
    page.reload()
    expect(page.locator("#engine-note")).to_contain_text(words)
    expect(page.locator("#sign-in")).to_be_visible(visible=status == 401)
    page.get_by_label("Index").select_option(OURS)
    searched(page, "cat dog")


def test_an_engine_with_a_password_is_asked_for_its_indices_only_when_the_reader_wants_it(
    browser: Browser, engine: Engine, address: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path, threads=1, store=engine.url, store_username="reader", store_password="secret")
    with (
        closing(open_store(engine.url)) as store,
        serving(create_app(settings, store, embeddings)) as url,
        opened_pages(browser, url) as opened,
    ):
        page = opened()
        expect(page.locator("#engine-note")).to_contain_text("asks who you are before it lists")
        expect(page.locator("optgroup.others")).to_have_count(0)
        page.get_by_role("button", name="Show its indices").click()
        expect(page.locator("optgroup.others option").filter(has_text=FOREIGN)).to_have_count(1)
        expect(page.locator("#engine-note")).to_be_hidden()


def test_an_index_without_rights_says_so(open_page: OpenPage) -> None:
    page = open_page(f"?index={FOREIGN}")
    expect(page.locator("#fields .tick").first).to_be_visible()
    page.route("**/_search", lambda route: route.fulfill(status=403, json={"error": {"reason": "no"}}))
    page.get_by_label("Query", exact=True).fill("cat")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Ask its administrator for the right to read the index")


def test_a_document_that_the_engine_does_not_find_says_so(open_page: OpenPage) -> None:
    page = open_page(f"?index={FOREIGN}&query=cat")
    expect(page.locator("#after li")).to_have_count(1)
    page.get_by_label("Is a document missing? Its id").fill("6")
    page.get_by_role("button", name="Why not?").click()
    expect(page.locator(".standing")).to_contain_text("The first stage does not find this document")
    expect(page.locator(".standing")).to_contain_text("it lacks: cat")


def test_a_hit_after_the_first_page_says_what_keeps_it_from_there(open_page: OpenPage, engine: Engine) -> None:
    index = f"page-long-{os.getpid()}"
    with urllib3.PoolManager() as http:
        make_index(http, engine.url, index, PROPERTIES, [*PAGES, *PAGES[:4]])
        page = open_page(f"?index={index}&query=any+cat&fields=parts.body")
        page.get_by_role("button", name="Next page").click()
        expect(page.locator("#after li")).to_have_count(2)
        page.locator("#after li").last.get_by_role("button", name="Why").click()
        expect(page.locator(".standing")).to_contain_text("It is at rank 12 of 12; before re-ranking it is at rank")
        http.request("DELETE", f"{engine.url}/{index}")
