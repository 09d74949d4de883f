"""The page in a real browser, as people use it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

from reranker.embeddings import Embeddings
from reranker.text.documents import Document
from tests.support.browser.pages import OpenPage, called, ids, judge, open_expert_settings, opened_pages, searched
from tests.support.service import serving_page

MARKUP = "<b>cat</b> <img src=x onerror=alert(1)>"
# 25 documents: three pages. The first stage likes pure texts, the transport those that hold the query's words.
DOCUMENTS = [
    Document("markup", MARKUP, "en", title="Markup <i>title</i>"),
    *(Document(f"d{i:02}", f"{'cat ' * (i % 4)}{'dog ' * (i % 3)}bread {'water ' * (i % 5)}", "en") for i in range(22)),
    Document("unknown", "zzz qqq", "en", title="Nothing known"),
    Document("titled", "Water: here a cat sleeps", "en", title="Water"),
]
IN_TWO_LANGUAGES = [
    Document("en", "See: a cat sleeps", "en", title="A cat"),
    Document("fr", "Voici un chat", "fr", title="Le chat"),
]
INDICES = {"pages": DOCUMENTS, "both": IN_TWO_LANGUAGES}


@pytest.fixture(scope="module")
def address(embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("page")
    with serving_page(embeddings, home, INDICES, index="pages", first_stage="hybrid") as url:
        yield url


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[OpenPage]:
    with opened_pages(browser, address) as opened:
        yield opened


def asked(address: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    with urllib3.PoolManager() as http:
        return http.request("POST", f"{address}{path}", json=body).json()


def test_both_orders_stand_side_by_side_with_a_line_for_each_hit(open_page: OpenPage, address: str) -> None:
    page = open_page()
    searched(page, "cat water")
    hits = asked(address, "/v1/search", {"query": "cat water", "size": 100})["hits"]
    before = sorted(hits, key=lambda hit: hit["first_stage_rank"])
    assert ids(page, "after") == [hit["id"] for hit in hits[:10]]
    assert ids(page, "before") == [hit["id"] for hit in before[:10]]
    assert page.locator("#moves path").count() == len({*ids(page, "before"), *ids(page, "after")})
    risen = next(hit for hit in hits[:10] if hit["rank"] < hit["first_stage_rank"])
    item = page.locator(f"#after li[data-id='{risen['id']}']")
    assert f"▲ {risen['first_stage_rank'] - risen['rank']}" in item.inner_text()


def test_each_hit_says_how_likely_it_is_and_the_status_where_none_is(open_page: OpenPage, address: str) -> None:
    page = open_page()
    body = {"query": "cat water", "size": 100, "min_relevance": 0}
    searched(page, "cat water")
    answer = asked(address, "/v1/search", body)
    first = answer["hits"][0]
    percent = int(100 * first["relevance"] + 0.5)  # as Math.round does
    assert f"{percent} % likely" in page.locator(f"#after li[data-id='{first['id']}']").inner_text()
    assert answer["no_good_answer"] is ("probably no hit answers this" in page.locator("#status").inner_text())
    page.route("**/v1/search", lambda route: route.fulfill(json=answer | {"no_good_answer": True}))
    searched(page, "cat water")
    expect(page.locator("#status")).to_contain_text("probably no hit answers this")
    page.unroute("**/v1/search")


def test_an_example_searches_when_it_is_clicked(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.locator("#examples button")).to_have_count(5)
    example = page.locator("#examples button").first
    query = example.inner_text()
    example.click()
    expect(page.get_by_label("Query", exact=True)).to_have_value(query)
    expect(page.locator("#after li").first).to_be_visible()
    assert ids(page, "after") != ids(page, "before")


def test_the_examples_are_those_of_the_chosen_index(open_page: OpenPage) -> None:
    page = open_page("?index=both")
    expect(page.locator("#examples button").first).to_be_visible()
    assert set(page.locator("#examples button").all_inner_texts()) == {"A cat", "Le chat"}
    page.get_by_label("Index").select_option("pages")
    expect(page.locator("#examples button")).to_have_count(5)


@pytest.mark.parametrize("may_search", [True, False])
def test_of_many_examples_those_are_shown_whose_orders_differ_most_or_the_first_ones_if_no_search_succeeds(
    open_page: OpenPage, may_search: bool
) -> None:
    page = open_page("?index=both")
    expect(page.locator("#examples button").first).to_be_visible()
    titles = [{"query": f"title {n}", "language": "en", "target": ""} for n in range(9)]
    page.route("**/-/ui/examples*", lambda route: route.fulfill(json={"examples": titles}))
    searches: list[dict[str, Any]] = []

    def answer(route: Route) -> None:
        """The ranks of the hits of `title N` are turned round where N is odd."""
        searches.append(json.loads(route.request.post_data or ""))
        n = int(searches[-1]["query"][-1])
        ranks = (2, 1) if n % 2 else (1, 2)
        hits = [{"first_stage_rank": rank} for rank in ranks]
        route.fulfill(json={"hits": hits}) if may_search else route.fulfill(status=429, json={})

    page.route("**/v1/search", answer)
    page.get_by_label("Index").select_option("pages")
    expect(page.locator("#examples button")).to_have_text(
        [f"title {n}" for n in ((1, 3, 5, 7, 0) if may_search else range(5))]
    )
    assert [each["query"] for each in searches] == [each["query"] for each in titles]
    assert {(each["index"], each["language"]) for each in searches} == {("pages", "en")}
    page.get_by_label("Index").select_option("both")
    page.get_by_label("Index").select_option("pages")
    expect(page.locator("#examples button")).to_have_count(5)
    assert len(searches) == len(titles)  # they are kept, and not searched again


@pytest.mark.parametrize(("ranks", "share"), [([1, 2, 3], 0.0), ([2, 1], 0.5), ([11, 12], 1.0), ([], 0.0)])
def test_how_much_two_orders_differ(open_page: OpenPage, ranks: list[int], share: float) -> None:
    """By hand: of the first one the orders of [2, 1] share none, of the first two both: 1 - (0 + 1) / 2."""
    assert called(open_page(), "examples", "difference", ranks) == pytest.approx(share)


def test_a_hit_opens_into_its_transport(open_page: OpenPage, address: str) -> None:
    page = open_page("?query=cat+water&method=sinkhorn&hit=d11")
    explained = asked(address, "/v1/explain", {"query": "cat water", "id": "d11", "method": "sinkhorn"})
    bands = page.locator(".transport .band")
    expect(bands.first).to_be_attached()
    pairs = [pair for word in explained["words"] for pair in word["pairs"]]
    assert bands.count() == len(pairs)
    for pair in pairs:
        band = page.locator(f".band[data-query='{pair['query_word']}'][data-document='{pair['document_word']}']")
        assert float(band.get_attribute("stroke-width") or 0) == pytest.approx(max(0.75, 420 * pair["mass"]), abs=0.01)
        assert f"distance {pair['cost']:.3f}" in (band.text_content() or "")
    rows = page.locator(".pairs tbody tr")
    assert rows.count() == len(pairs)
    assert f"{explained['distance']:.4f}" in page.locator(".sums").inner_text()


def test_a_missing_document_says_why_it_is_not_on_the_page(open_page: OpenPage, address: str) -> None:
    """`unknown` has no word of the query, and no embedding."""
    page = open_page("?query=cat+water")
    expect(page.locator("#after li").first).to_be_visible()
    hits = asked(address, "/v1/search", {"query": "cat water", "size": 100})["hits"]
    last = hits[-1]
    page.get_by_label("Is a document missing? Its id").fill(last["id"])
    page.get_by_role("button", name="Why not?").click()
    standing = asked(address, "/v1/explain", {"query": "cat water", "id": last["id"]})["standing"]
    told = page.locator(".standing")
    expect(told).to_contain_text(f"It is at rank {last['rank']} of {len(hits)}")
    expect(told).to_contain_text(f"Its score is {standing['score_behind']:.4f} below")
    assert f"hit={last['id']}" in page.url
    page.get_by_role("button", name="Close").click()
    page.get_by_label("Is a document missing? Its id").fill("nowhere")
    page.keyboard.press("Enter")
    expect(page.locator("#why-body .wrong")).to_contain_text("no document 'nowhere'")


def test_markup_in_a_document_is_text(open_page: OpenPage) -> None:
    page = open_page("?query=cat&first_stage=knn")
    item = page.locator("#after li[data-id='markup']")
    expect(item).to_contain_text(MARKUP)
    item.get_by_role("button", name="Why").click()
    expect(page.locator(".document-text")).to_have_text(MARKUP)
    assert page.locator("img").count() == 0


def test_a_slider_ranks_anew_at_once(open_page: OpenPage) -> None:
    page = open_page("?query=cat+water&method=relaxed")
    expect(page.locator("#examples button").first).to_be_visible()  # the page has searched for them
    expect(page.locator("#after li").first).to_be_visible()
    open_expert_settings(page)
    for name, value, sent in (
        ("Smoothing", "-0.8", {"epsilon": 0.16}),
        ("other words", "0.65", {"epsilon": 0.16, "tau": 0.3}),
    ):
        with page.expect_request("**/v1/search") as request:
            page.get_by_label(re.compile(name)).fill(value)
        body = json.loads(request.value.post_data or "")
        assert {key: body[key] for key in sent} == sent
    expect(page).to_have_url(re.compile("epsilon=0.16&tau=0.3"))
    with page.expect_request("**/v1/search") as request:
        page.get_by_role("button", name="Defaults").click()
    assert "epsilon" not in json.loads(request.value.post_data or "")


def test_the_sliders_begin_at_the_services_settings(browser: Browser, embeddings: Embeddings, tmp_path: Path) -> None:
    settings = {"method": "relaxed", "epsilon": 0.3, "tau": 0.7, "first_stage_share": 0.42}
    with (
        serving_page(embeddings, tmp_path, INDICES, index="pages", **settings) as url,
        opened_pages(browser, url) as opened,
    ):
        page = opened()
        expect(page.locator("#examples button").first).to_be_visible()  # the page has searched for them
        open_expert_settings(page)
        shown = [page.locator(f"output[name={name}_shown]") for name in ("epsilon", "tau", "share")]
        assert [one.text_content() for one in shown] == ["0.3", "0.7", "not used by relaxed"]
        with page.expect_request("**/v1/search") as unmoved:
            searched(page, "cat")
        assert {"epsilon", "tau", "first_stage_share"}.isdisjoint(json.loads(unmoved.value.post_data or ""))
        with page.expect_request("**/v1/search") as moved:
            page.get_by_label("Smoothing").fill("-1")
        assert json.loads(moved.value.post_data or "")["epsilon"] == 0.1
        page.get_by_role("button", name="Defaults").click()
        assert shown[0].text_content() == "0.3"
        page.get_by_label("Method").select_option("auto")
        expect(shown[2]).to_have_text("42 %")


def test_a_link_keeps_the_whole_state(open_page: OpenPage) -> None:
    page = open_page()
    open_expert_settings(page)
    chosen = {"method": "relaxed", "first_stage": "bm25", "depth": "20", "language": "en", "target": "en"}
    for name, value in chosen.items():
        page.locator(f"select[name={name}]").select_option(value)
    page.get_by_label(re.compile("Smoothing")).fill("-1.3")
    page.get_by_label(re.compile("other words")).fill("0.2")
    searched(page, "cat water")
    page.get_by_role("button", name="Next").click()
    page.locator("#after li").first.get_by_role("button", name="Why").click()
    title = page.locator("#why-name").inner_text()
    expect(page.locator(".transport")).to_be_visible()
    again = open_page(page.url.removeprefix(page.url.split("?")[0]))
    expect(again.locator(".transport")).to_be_visible()
    assert again.locator("#why-name").inner_text() == title
    assert ids(again, "after") == ids(page, "after")
    for field in ("query", "language", "target", "first_stage", "depth", "method", "index", "epsilon", "tau"):
        value = "form => form.elements[name].value".replace("name", json.dumps(field))
        assert again.locator("#search").evaluate(value) == page.locator("#search").evaluate(value)


def test_an_address_with_nonsense_is_read_over(open_page: OpenPage) -> None:
    page = open_page("?query=cat&method=%3Cb%3E&depth=abc&epsilon=-1&page=0&hit=none&first_stage=x")
    expect(page.locator("#after li").first).to_be_visible()
    expect(page.locator("select[name=method]")).to_have_value("auto")


def test_the_columns_are_no_higher_than_their_hits_after_a_search_with_more_of_them(open_page: OpenPage) -> None:
    alone = open_page("?query=sleeps")
    expect(alone.locator("#after mark").first).to_be_visible()  # which may change the height
    n_hits, height = alone.locator("#after li").count(), alone.locator("#columns").evaluate("it => it.clientHeight")
    assert n_hits < 10
    page = open_page("?query=cat+water")
    expect(page.locator("#after li")).to_have_count(10)
    searched(page, "sleeps")
    expect(page.locator("#after li")).to_have_count(n_hits)
    page.wait_for_function("height => document.getElementById('columns').clientHeight === height", arg=height)


def test_the_address_names_a_search_that_fails_and_back_leads_to_the_one_before(open_page: OpenPage) -> None:
    page = open_page("?query=cat")
    expect(page.locator("#after li").first).to_be_visible()
    seen = ids(page, "after")
    page.locator("input[name=query]").fill("xqxq")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_class(re.compile("wrong"))
    assert "query=xqxq" in page.url
    page.go_back()
    expect(page.locator("#after li").first).to_be_visible()
    assert "query=cat" in page.url
    assert page.locator("input[name=query]").input_value() == "cat"
    assert ids(page, "after") == seen


def test_pages_turn_within_the_window(open_page: OpenPage) -> None:
    page = open_page("?query=cat+water")
    expect(page.locator("#after li").first).to_be_visible()
    seen = ids(page, "after")
    for _ in range(2):
        page.get_by_role("button", name="Next").click()
        seen += ids(page, "after")
    assert len(seen) == len(set(seen)) > 20
    assert page.get_by_role("button", name="Next").is_disabled()
    page.get_by_role("button", name="Previous").click()
    assert ids(page, "after") == seen[10:20]


def test_the_keyboard_is_enough(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.get_by_label("Query", exact=True)).to_be_focused()
    page.keyboard.type("cat water")
    page.keyboard.press("Enter")
    expect(page.locator("#after li").first).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Tab")
        if "Why" in page.evaluate("document.activeElement.textContent"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    assert page.evaluate("document.activeElement.textContent") == "Why?"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "query"


def test_a_click_beside_the_explanation_closes_it_and_a_selection_that_is_drawn_out_of_it_does_not(
    open_page: OpenPage,
) -> None:
    page = open_page("?query=cat+water&hit=d11")
    expect(page.locator(".transport")).to_be_visible()
    page.locator("#why-name").hover()
    page.mouse.down()
    page.mouse.move(5, 5)
    page.mouse.up()
    expect(page.locator("dialog")).to_be_visible()
    page.mouse.click(5, 5)
    expect(page.locator("dialog")).to_be_hidden()


def test_a_narrow_screen_shows_all_without_scrolling_sideways(open_page: OpenPage) -> None:
    page = open_page("?query=cat+water", viewport={"width": 360, "height": 740})
    expect(page.locator("#after li").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Why").first.click()
    expect(page.locator(".transport")).to_be_visible()
    assert page.locator("dialog").evaluate("dialog => dialog.scrollWidth - dialog.clientWidth") <= 0


def test_judgments_are_saved_as_qrels_with_their_queries(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("?query=cat&language=en")
    expect(page.locator("#after li").first).to_be_visible()
    good, bad, dropped = ids(page, "after")[:3]
    judge(page, good, "relevant")
    judge(page, bad, "not relevant")
    judge(page, dropped, "relevant")
    judge(page, dropped, "relevant")  # taken back
    searched(page, "water dog")
    other = ids(page, "after")[0]
    judge(page, other, "relevant")
    expect(page.locator("#judged")).to_have_text("3 hits judged for 2 queries.")
    page.reload()
    expect(page.locator("#judged")).to_have_text("3 hits judged for 2 queries.")
    expect(page.locator(f"#after li[data-id='{other}'] [aria-pressed=true]")).to_have_text("Relevant")
    saved = {}
    for name in ("qrels", "queries"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save {name}").click()
        download.value.save_as(tmp_path / name)
        saved[name] = (tmp_path / name).read_text(encoding="utf-8")
    assert saved["qrels"] == f"q1 0 {good} 1\nq1 0 {bad} 0\nq2 0 {other} 1\n"
    assert [json.loads(line) for line in saved["queries"].splitlines()] == [
        {"query_id": "q1", "query": "cat", "language": "en", "index": "pages"},
        {"query_id": "q2", "query": "water dog", "language": "en", "index": "pages"},
    ]
    page.get_by_role("button", name="Forget all").click()
    expect(page.locator("#judgments")).to_be_hidden()


def test_nothing_found_says_what_to_do(open_page: OpenPage) -> None:
    page = open_page("?query=cat&target=fr")
    expect(page.locator("#status")).to_have_text("No document found.")
    expect(page.locator("#advice")).to_contain_text("Try fewer or other words")
    expect(page.locator("#advice")).to_contain_text("documents of all languages")
    expect(page.locator("#results")).to_be_hidden()
    page.get_by_label("Documents in").select_option("")
    expect(page.locator("#after li").first).to_be_visible()
    expect(page.locator("#advice")).to_be_hidden()


def test_a_query_without_a_known_word_is_told_how_to_add_its_language(open_page: OpenPage) -> None:
    page = open_page("?query=tulostimessa+paperitukos&first_stage=hybrid")
    expect(page.locator("#advice")).to_contain_text("--queries-in CODE --replace")
    searched(page, "cat")
    expect(page.locator("#advice")).to_be_hidden()


def test_an_option_searches_anew_after_a_search_that_failed(open_page: OpenPage) -> None:
    page = open_page("?query=zzz&first_stage=knn")
    expect(page.locator("#status")).to_have_class("wrong")
    open_expert_settings(page)
    page.locator("select[name=first_stage]").select_option("bm25")
    expect(page.locator("#after li[data-id='unknown']")).to_be_visible()


def test_errors_say_what_to_do(open_page: OpenPage) -> None:
    page = open_page("?first_stage=knn")
    page.route("**/v1/search", lambda route: route.abort())
    page.get_by_label("Query", exact=True).fill("cat")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Start it with: sinkrank serve")
    page.route("**/v1/search", lambda route: route.fulfill(body="<p>Sign in</p>", content_type="text/html"))
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Does a gateway ask you to sign in?")
    page.unroute("**/v1/search")
    page.get_by_label("Query", exact=True).fill("qqq")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("qqq")
    expect(page.locator("#status")).to_have_class("wrong")


def test_a_search_that_ends_while_its_answer_comes_is_no_answer_without_json(open_page: OpenPage) -> None:
    told = """async () => {
        const { ask } = await import("/-/static/service.js");
        window.fetch = async () => ({ ok: true, json: () => Promise.reject(new DOMException("", "AbortError")) });
        return ask("GET", "/").then(() => "answered", (error) => error.name);
    }"""
    assert open_page().evaluate(told) == "AbortError"


def test_the_share_of_the_first_stages_score_is_one_slider_and_stays_in_the_link(open_page: OpenPage) -> None:
    page = open_page("?query=cat+water&first_stage=bm25")
    expect(page.locator("#examples button").first).to_be_visible()  # the page has searched for them
    expect(page.locator("#after li").first).to_be_visible()
    slider = page.get_by_label(re.compile("own score counts"))
    expect(page.locator("output[name=share_shown]")).to_have_text("as recommended")
    with page.expect_request("**/v1/search") as request:
        slider.fill("1")
    assert json.loads(request.value.post_data or "")["first_stage_share"] == 1
    expect(page).to_have_url(re.compile("share=1"))
    expect(page.locator("output[name=share_shown]")).to_have_text("100 %")
    assert ids(page, "after") == ids(page, "before")
    page.reload()
    expect(page.locator("#after li").first).to_be_visible()
    expect(page.locator("output[name=share_shown]")).to_have_text("100 %")
    with page.expect_request("**/v1/search") as request:
        page.get_by_role("button", name="Defaults").click()
    assert "first_stage_share" not in json.loads(request.value.post_data or "")


def test_the_querys_words_and_their_nearest_are_marked_and_the_title_is_not_repeated(open_page: OpenPage) -> None:
    """The text begins with its title; dog is at a cosine of 0.8 from cat, less than 0.85 of 1."""
    page = open_page("?query=chat+eau&language=fr&first_stage=knn")
    hit = page.locator("#after li[data-id='titled']")
    expect(hit.locator(".snippet mark")).to_have_text(["cat"])
    expect(hit.locator(".snippet mark")).to_have_class("near")
    expect(hit.locator(".snippet")).to_have_text("here a cat sleeps")
    page = open_page("?query=cat+sleeps&language=en&first_stage=bm25")
    hit = page.locator("#after li[data-id='titled']")
    expect(hit.locator(".snippet mark.same")).to_have_text(["cat", "sleeps"])


def broken_rules(page: Page) -> list[tuple[str, str]]:
    """(rule, element) of what axe finds."""
    found = Axe().run(page).response["violations"]
    return [(rule["id"], node["html"]) for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (400, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.conformance),
        pytest.param(400, "light", marks=pytest.mark.conformance),
    ],
)
def test_no_rule_of_accessibility_is_broken(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    expect(page.locator("#examples button").first).to_be_visible()
    assert broken_rules(page) == []
    open_expert_settings(page)
    searched(page, "cat water")
    expect(page.locator("#after mark").first).to_be_visible()
    page.locator("#after li").first.get_by_role("button", name=": relevant").click()
    page.get_by_text("Add queries", exact=True).click()
    page.get_by_label("One query a line").fill("cat\ndog")
    page.get_by_role("button", name="Add these").click()
    expect(page.locator(".measures")).to_be_visible()
    assert broken_rules(page) == []
    page.get_by_role("button", name="Why").first.click()
    expect(page.locator(".transport")).to_be_visible()
    assert broken_rules(page) == []


def test_on_a_narrow_screen_either_order_is_one_press_away_wherever_one_is(open_page: OpenPage) -> None:
    page = open_page("?query=cat+water", viewport={"width": 400, "height": 800})
    page.locator("#after li").last.scroll_into_view_if_needed()
    expect(page.locator("#before")).to_be_hidden()
    expect(page.get_by_role("radio", name="Before re-ranking")).to_be_in_viewport()
    page.get_by_role("radio", name="Before re-ranking").check()
    expect(page.locator("#before li").first).to_be_visible()
    expect(page.locator("#after")).to_be_hidden()
    wide = open_page("?query=cat+water")
    expect(wide.locator("#before li").first).to_be_visible()
    expect(wide.locator("#orders")).to_be_hidden()


@pytest.mark.parametrize("before", ["猫が水を飲む" * 50, "ที่" * 100], ids=["ja", "th"])
def test_the_snippet_of_a_text_without_spaces_is_where_its_marks_are(open_page: OpenPage, before: str) -> None:
    match = {"start": 300, "end": 301, "query_word": "パン", "likeness": 1}
    made = """async ([text, match]) => {
        const { snippet } = await import("/-/static/snippet.js");
        return snippet("", text, [match]).map((part) => part.textContent ?? part);
    }"""
    first, lead, mark, rest, last = open_page().evaluate(made, [f"{before}麺{before}", match])
    assert (first, mark, last) == ("… ", "麺", " …")
    assert 30 <= len(lead) <= 32
    assert len(lead + mark + rest) == 160
    assert not unicodedata.combining(lead[0])


@pytest.mark.parametrize("place", [".title", ".snippet"])
def test_own_and_similar_words_are_underlined_in_two_ways(open_page: OpenPage, place: str) -> None:
    """chat is the query's own word, cat has a cosine of 0.96 with it."""
    page = open_page("?query=chat&language=fr&first_stage=knn&index=both")
    line = "mark => getComputedStyle(mark).textDecorationStyle"
    for name, style in (("same", "solid"), ("near", "dotted")):
        for mark in (page.locator(f"#after {place} mark.{name}").first, page.locator(f"#results > .legend .{name}")):
            assert mark.evaluate(line) == style


def test_a_hit_names_its_language_only_where_hits_differ_in_it(open_page: OpenPage) -> None:
    page = open_page("?query=cat&language=en&index=both")
    expect(page.locator("#after .code").filter(visible=True)).to_have_text(["en", "fr"])
    page.get_by_label("Documents in").select_option("fr")
    expect(page.locator("#after li")).to_have_count(1)
    expect(page.locator("#after .code")).to_be_hidden()
