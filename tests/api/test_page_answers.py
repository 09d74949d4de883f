"""The page on answers of an engine that are written by hand, given in the browser: what engines answer rarely."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from reranker.embeddings import Embeddings
from tests.support.browser.pages import OpenPage, called, ids, judge, opened_pages, searched
from tests.support.service import serving_page

MAPPING = {"shop": {"mappings": {"properties": {"title": {"type": "text"}, "body": {"type": "text"}}}}}
ARABIC = "قطة سوداء، تنام"  # its comma leaves the sentence in a paragraph from left to right

Answers = Callable[[list[dict[str, Any]]], Page]


def hit(index: str, doc_id: str, rank: int, title: str) -> dict[str, Any]:
    details = {
        "rank": rank,
        "first_stage_rank": rank,
        "first_stage_score": 1 / rank,
        "score_parts": {"words": 1 / rank},
    }
    source = {"title": title, "body": f"{title}: {title}"}
    return {"_index": index, "_id": doc_id, "_score": 1 / rank, "_source": source, "_rerank": details}


@pytest.fixture(scope="module")
def address(embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_page(embeddings, tmp_path_factory.mktemp("page"), {}) as url:
        yield url


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[OpenPage]:
    with opened_pages(browser, address, ("/v1/", "_search", "_mapping")) as opened:
        yield opened


def answer_with(page: Page, hits: list[dict[str, Any]], engine: str = "open", query: str = "?index=shop") -> None:
    """Loads the page anew, before an engine with the index `shop` that answers each search with these hits."""

    def show(route: Route) -> None:
        text = route.fetch().text()
        assert 'data-engine=""' in text
        route.fulfill(body=text.replace('data-engine=""', f'data-engine="{engine}"'), content_type="text/html")

    found = {"took": 1, "hits": {"total": {"value": len(hits), "relation": "eq"}, "hits": hits}}
    page.route("**/-/ui*", show)
    page.route("**/_resolve/**", lambda route: route.fulfill(json={"indices": [{"name": "shop"}, {"name": "two"}]}))
    page.route("**/_mapping", lambda route: route.fulfill(json=MAPPING))
    page.route("**/_msearch", lambda route: route.fulfill(json={"responses": []}))
    page.route("**/_search*", lambda route: route.fulfill(json=found, headers={"X-Rerank-Status": "applied"}))
    page.goto(f"{page.url.partition('?')[0]}{query}")


def kept_judgments(page: Page) -> list[dict[str, int]]:
    kept = page.evaluate("localStorage.getItem('sinkrank-judgments')")
    return [entry["documents"] for entry in json.loads(kept)]


def test_hits_of_several_indices_with_one_id_are_told_apart(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [hit("shop_en", "1", 1, "A red cat"), hit("shop_de", "1", 2, "Ein roter Hund")])
    searched(page, "cat")
    expect(page.locator("#after .title")).to_have_text(["A red cat", "Ein roter Hund"])
    expect(page.locator("#after mark.same")).not_to_have_count(0)  # the texts stand there anew, with their marks
    expect(page.locator("#after .title")).to_have_text(["A red cat", "Ein roter Hund"])
    assert ids(page, "after") == ["shop_en/1", "shop_de/1"]
    expect(page.locator("#moves path")).to_have_count(2)
    judge(page, "shop_de/1", "relevant")
    expect(page.locator("#after [aria-pressed=true]")).to_have_count(1)
    assert kept_judgments(page) == [{"shop_de/1": 1}]
    page.get_by_role("button", name="Why is Ein roter Hund here?").click()
    expect(page.locator("#why-name")).to_have_text("2. Ein roter Hund")


def test_a_hit_of_several_indices_is_explained_as_itself_on_later_pages(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [hit(f"shop_{n}", "1", n, f"Cat {n}") for n in range(1, 13)])
    searched(page, "cat")
    page.get_by_role("button", name="Next page").click()
    page.get_by_role("button", name="Why is Cat 12 here?").click()
    expect(page.locator("#why-body .sums")).to_have_text("Score 0.0833; the engine had it at rank 12.")


@pytest.mark.parametrize("told", [{"timed_out": True}, {"_shards": {"total": 2, "successful": 1, "failed": 1}}])
def test_an_answer_that_lacks_a_part_of_the_index_says_so(open_page: OpenPage, told: dict[str, Any]) -> None:
    page = open_page()
    answer_with(page, [])
    found = {"took": 1, "hits": {"hits": [hit("shop", "1", 1, "A cat")]}}
    page.route("**/_search*", lambda route: route.fulfill(json=found | told))
    searched(page, "cat")
    expect(page.locator("#status")).to_contain_text("a part of the index did not answer")


def test_a_text_that_is_too_long_to_highlight_hides_no_hits_of_its_shard(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [])

    def answer(route: Route) -> None:
        hits = [hit("shop", str(n), n, f"Cat {n}") for n in (1, 2)]
        has_failed = "highlight" in json.loads(route.request.post_data or "")
        shards = {"total": 2, "successful": 2 - has_failed, "failed": int(has_failed)}
        route.fulfill(json={"took": 1, "_shards": shards, "hits": {"hits": hits[: 2 - has_failed]}})

    page.route("**/_search*", answer)
    searched(page, "cat")
    expect(page.locator("#after li")).to_have_count(2)


def test_hits_of_one_index_are_judged_by_their_ids(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [hit("shop-version-7", "1", 1, "A cat"), hit("shop-version-7", "2", 2, "A dog")])
    searched(page, "cat")
    judge(page, "2", "relevant")
    assert kept_judgments(page) == [{"2": 1}]


def test_judgments_of_two_tabs_are_all_kept(open_page: OpenPage) -> None:
    page = open_page()
    hits = [hit("shop", str(n), n, f"Cat {n}") for n in (1, 2, 3)]
    answer_with(page, hits)
    other = page.context.new_page()
    other.goto(page.url.partition("?")[0])
    answer_with(other, hits)
    for tab in (page, other):
        searched(tab, "cat")
    judge(page, "1", "relevant")
    judge(other, "2", "not relevant")
    judge(page, "3", "relevant")
    assert kept_judgments(page) == [{"1": 1, "2": 0, "3": 1}]


def test_a_document_may_have_the_id_of_what_every_object_has(open_page: OpenPage) -> None:
    page = open_page()
    names = ["constructor", "toString", "__proto__"]
    answer_with(page, [hit("shop", name, n, f"Cat {n}") for n, name in enumerate(names, 1)])
    searched(page, "cat")
    expect(page.locator("#after [aria-pressed=true]")).to_have_count(0)
    judge(page, "toString", "relevant")
    judge(page, "__proto__", "not relevant")
    page.reload()
    expect(page.locator("#judged")).to_have_text("2 hits judged for 1 query.")
    expect(page.locator(".verdict")).to_contain_text("Of 1 judged query")
    expect(page.locator("#judgments")).not_to_contain_text("NaN")


def test_the_first_index_of_a_secured_engine_is_chosen_with_its_fields(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [], engine="secured", query="")
    page.get_by_role("button", name="Show its indices").click()
    expect(page.locator("#index-choice select")).to_have_value("shop")
    expect(page.locator("#field-list .field")).to_have_count(2)
    expect(page.locator("select[name=first_stage]")).to_be_disabled()


def test_what_is_said_of_one_indexs_fields_goes_when_another_is_chosen(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [])
    page.route("**/two/_mapping", lambda route: route.fulfill(status=403, json={}))
    page.get_by_label("Index").select_option("two")
    expect(page.locator("#engine-note")).to_contain_text("The fields of two cannot be read")
    page.get_by_label("Index").select_option("shop")
    expect(page.locator("#engine-note")).to_be_hidden()


def test_a_search_where_there_is_no_index_leaves_what_is_said_of_that(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_label("Query", exact=True).fill("cat")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("The store does not answer.")


def test_a_title_as_long_as_a_text_is_clipped(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [hit("shop", "1", 1, "cat " * 2000)])
    searched(page, "cat")
    clipped = "cat " * 49 + "cat…"
    for place in ("#before .name", "#after .title"):
        expect(page.locator(place)).to_have_text(clipped)
    page.get_by_role("button", name="Why is").click()
    expect(page.locator("#why-name")).to_have_text(f"1. {clipped}")


def test_hits_of_one_index_are_explained_as_its_own_when_another_is_chosen(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [hit("shop", "1", 1, "A cat")])
    searched(page, "cat")
    add_ours = """() => {
        const made = new Option("ours");
        made.dataset.ours = "";
        document.querySelector("select[name=index]").append(made);
    }"""
    page.evaluate(add_ours)
    page.route("**/-/ui/examples*", lambda route: route.fulfill(json={"examples": []}))
    page.get_by_label("Query", exact=True).fill("")  # so the hits stay
    page.get_by_label("Index").select_option("ours")
    page.get_by_label("Is a document missing? Its id").fill("7")
    with page.expect_request("**/v1/explain") as request:
        page.get_by_role("button", name="Why not?").click()
    asked = json.loads(request.value.post_data or "")
    assert (asked["index"], asked["search"]["query"]["multi_match"]["query"]) == ("shop", "cat")


def test_texts_that_run_from_right_to_left_are_shown_so(open_page: OpenPage) -> None:
    page = open_page()
    answer_with(page, [hit("shop", "1", 1, ARABIC)])
    searched(page, ARABIC)
    page.get_by_text("Add queries", exact=True).click()
    page.get_by_label("One query a line").fill(ARABIC)
    page.get_by_role("button", name="Add these").click()
    for place in ("input[name=query]", "#before .name", "#after .title", "#after .snippet", "#query-rows .link"):
        assert page.locator(place).evaluate("element => getComputedStyle(element).direction") == "rtl", place
    page.get_by_role("button", name="Why is").click()
    expect(page.locator("#why-name")).to_have_text(f"1. \u2068{ARABIC}\u2069")
    assert called(page, "elements", "isolated", "cat") == "cat"


def test_a_page_whose_address_holds_a_password_searches(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address.replace("http://", "http://reader:secret@") + "/-/ui")
    failed = page.evaluate(
        "async () => (await import('/-/static/service.js')).ask('GET', '/-/openapi.json').then(() => '', String)"
    )
    context.close()
    assert failed == ""


@pytest.mark.parametrize("status", [400, 422])
def test_searching_all_goes_on_past_a_query_of_unknown_words_alone(open_page: OpenPage, status: int) -> None:
    page = open_page()
    answer_with(page, [hit("shop", "1", 1, "A cat")])
    page.route("**/_search*", lambda route: route.fulfill(status=status, json={"error": {"reason": "no such field"}}))
    page.get_by_text("Add queries", exact=True).click()
    page.get_by_label("One query a line").fill("cat\ndog")
    page.get_by_role("button", name="Add these").click()
    page.get_by_role("button", name="Search all").click()
    said = "no such field" if status == 400 else "2 queries searched."
    expect(page.locator("#list-says")).to_have_text(said)
