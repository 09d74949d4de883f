"""A search page in headless Chromium: InstantSearch over Searchkit, which asks by `_msearch` across origins."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import urllib3
from playwright.sync_api import Browser, Page, Response

from tests.clients.conftest import Proxying
from tests.clients.javascript_packages import installed_packages, run_node
from tests.support.calls import make_index
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.conformance, pytest.mark.engine]

INDEX = "clients-browser"
# In the order in which the engine finds them by "any"; "chat" may be a misspelled "cat" to it, which comes first.
DOCUMENTS = [
    {"text": "any bread", "tag": "thing"},
    {"text": "any car", "tag": "thing"},
    {"text": "any water", "tag": "thing"},
    {"text": "any dog", "tag": "pet"},
    {"text": "any cat", "tag": "pet"},
]
DIRECT = [["any cat", "any bread"], ["any car", "any water"], ["any dog"]]
# Cosines with "chat": cat 0.96, dog 0.936, car -0.28, water -0.352, bread -0.96.
RE_RANKED = [["any cat", "any dog"], ["any car", "any water"], ["any bread"]]
PAGES = ("first_page", "second_page", "third_page")

_WAIT_MS = 60_000
_SHOWN = {
    "hits": "#hits .ais-Hits-item",
    "marked": "#hits .ais-Hits-item mark",
    "tags": "#tags .ais-RefinementList-label",
    "pages": "#pages .ais-Pagination-item--page",
}
_HAS_STATE = """(wanted) => {
  const { status, shown } = document.body.dataset;
  const sorted = (state) => JSON.stringify(Object.entries(state).sort());
  return status === "idle" && shown !== undefined && sorted(JSON.parse(shown)) === sorted(wanted);
}"""


@dataclass
class Visit:
    """What the page showed at each step, and what it asked for.

    Attributes:
        searches: of each the path, the status and the proxy's word.
    """

    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    searches: list[tuple[str, int, str | None]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the page is served."""
    folder: Path = tmp_path_factory.mktemp("page")
    run_node(installed_packages(), "bundle.js", str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def proxy_url(engine: Engine, proxying: Proxying, origin: str) -> Iterator[str]:
    """The proxy in front of an engine that answers pages of `origin`, with the index."""
    with urllib3.PoolManager(retries=False) as http, proxying(engine.url) as url:
        answer = http.request("OPTIONS", f"{engine.url}/_msearch", headers=preflight(origin))
        if "access-control-allow-origin" not in answer.headers:
            pytest.skip(f"{engine.url} answers no page of 127.0.0.1: set http.cors.enabled and http.cors.allow-origin")
        http.request("DELETE", f"{engine.url}/{INDEX}")
        make_index(http, engine.url, INDEX, {"text": {"type": "text"}, "tag": {"type": "keyword"}}, DOCUMENTS)
        yield url
        http.request("DELETE", f"{engine.url}/{INDEX}")


@pytest.fixture(scope="module")
def visits(engine: Engine, proxy_url: str, origin: str, browser: Browser) -> tuple[Visit, Visit]:
    """What the page showed in front of the engine, and what in front of the proxy."""
    direct, proxied = (
        visit(browser, f"{origin}/index.html?{urlencode({'index': INDEX, 'engine': url})}")
        for url in (engine.url, proxy_url)
    )
    return direct, proxied


def visit(browser: Browser, url: str) -> Visit:
    """Searches on the page as a person would."""
    made = Visit()
    answers: list[Response] = []
    with browser.new_page() as page:
        page.set_default_timeout(_WAIT_MS)
        page.on("pageerror", lambda error: made.faults.append(str(error)))
        page.on("console", lambda message: made.faults.append(message.text) if message.type == "error" else None)
        page.on("response", lambda answer: answers.append(answer) if answer.request.method == "POST" else None)
        page.goto(url)
        made.steps["start"] = shown(page, {})
        page.locator("#query input").fill("any chat")
        made.steps["first_page"] = shown(page, {"query": "any chat"})
        for step, number in (("second_page", 2), ("third_page", 3)):
            page.locator("#pages").get_by_role("link", name=f"Page {number}", exact=True).click()
            made.steps[step] = shown(page, {"query": "any chat", "page": number})
        page.locator("#tags").get_by_text("thing").click()
        made.steps["thing"] = shown(page, {"query": "any chat", "refinementList": {"tag": ["thing"]}})
        made.searches = [
            (urlsplit(answer.url).path, answer.status, answer.header_value("x-rerank-status")) for answer in answers
        ]
    return made


def shown(page: Page, state: dict[str, Any]) -> dict[str, Any]:
    """What the page shows once it has the answer to that state of its widgets."""
    page.wait_for_function(_HAS_STATE, arg=state)
    texts = {name: page.locator(selector).all_inner_texts() for name, selector in _SHOWN.items()}
    return {**texts, "total": page.locator("#total .ais-Stats-text").inner_text()}


def preflight(origin: str) -> dict[str, str]:
    """What a browser asks before it sends JSON to another origin."""
    return {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }


def hits(made: Visit) -> list[list[str]]:
    """Of the three pages of the query."""
    return [made.steps[page]["hits"] for page in PAGES]


def test_the_page_shows_hits_in_another_order(visits: tuple[Visit, Visit]) -> None:
    direct, proxied = visits
    assert hits(direct) == DIRECT
    assert hits(proxied) == RE_RANKED


def test_counts_facets_and_pages_are_those_of_the_engine(visits: tuple[Visit, Visit]) -> None:
    direct, proxied = visits
    for step in ("start", *PAGES, "thing"):
        for part in ("total", "tags", "pages"):
            assert proxied.steps[step][part] == direct.steps[step][part]
    first = direct.steps["first_page"]
    assert (first["total"], first["tags"], first["pages"]) == ("5", ["thing3", "pet2"], ["1", "2", "3"])


def test_a_facet_that_is_chosen_filters_what_is_re_ranked(visits: tuple[Visit, Visit]) -> None:
    direct, proxied = visits
    assert direct.steps["thing"]["hits"] == ["any bread", "any car"]
    assert proxied.steps["thing"]["hits"] == ["any car", "any water"]
    assert proxied.steps["thing"]["total"] == "3"


def test_hits_stay_highlighted_and_words_near_the_querys_are_marked_too(visits: tuple[Visit, Visit]) -> None:
    direct, proxied = visits
    for made in visits:
        assert made.steps["start"]["marked"] == []
    marked = [[made.steps[page]["marked"] for page in PAGES] for made in (direct, proxied)]
    assert marked[0] == [["any", "cat", "any"], ["any", "any"], ["any"]]
    assert marked[1] == [["any", "cat", "any", "dog"], ["any", "any"], ["any"]]


def test_before_anything_is_typed_the_order_is_the_engines(visits: tuple[Visit, Visit]) -> None:
    direct, proxied = visits
    assert proxied.steps["start"] == direct.steps["start"]


def test_the_page_asks_by_msearch_and_meets_no_error(visits: tuple[Visit, Visit]) -> None:
    direct, proxied = visits
    assert (direct.faults, proxied.faults) == ([], [])
    assert direct.searches == [("/_msearch", 200, None)] * 5
    assert proxied.searches == [("/_msearch", 200, "skipped"), *[("/_msearch", 200, "applied")] * 4]
