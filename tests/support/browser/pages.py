"""Opens the service's page in a browser; what the console complains of, or a request to elsewhere, fails the test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

# A machine that does much else at the same time takes long to draw a page.
WAIT_MS = 60_000
expect.set_options(timeout=WAIT_MS)

OpenPage = Callable[..., Page]


@contextmanager
def opened_pages(browser: Browser, address: str, may_fail: Sequence[str] = ("/v1/",)) -> Iterator[OpenPage]:
    """A function that opens the page with an address of its own (`?query=…`) and a browser context of its own.

    Args:
        may_fail: parts of the addresses whose failed requests are the page's to show.
    """
    contexts, complaints = [], []

    def is_expected(text: str, url: str) -> bool:
        return "Failed to load resource" in text and any(part in url for part in may_fail)

    def note_console(told: ConsoleMessage) -> None:
        if not is_expected(told.text, told.location["url"]):
            complaints.append(told.text)

    def note_request(request: Request) -> None:
        if not request.url.startswith((address, "data:")):
            complaints.append(request.url)

    def opened(query: str = "", **options: Any) -> Page:
        context = browser.new_context(viewport=options.pop("viewport", {"width": 1280, "height": 900}), **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", note_console)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", note_request)
        page.goto(f"{address}/-/ui{query}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def searched(page: Page, text: str) -> None:
    """Searches, and waits until the hits stand there with their marks."""
    page.get_by_label("Query", exact=True).fill(text)
    page.keyboard.press("Enter")
    # The address is written when the hits stand there: those of a search before are gone then.
    expect(page).to_have_url(re.compile(re.escape(urlencode({"query": text}))))
    expect(page.locator("#after li").first).to_be_visible()


def ids(page: Page, column: str) -> list[str]:
    """Of the hits in `before` or `after`."""
    found: list[str] = page.locator(f"#{column} li").evaluate_all("items => items.map((item) => item.dataset.id)")
    return found


def judge(page: Page, hit: str, text: str, column: str = "after") -> None:
    """Presses `relevant` or `not relevant` of a hit."""
    page.locator(f"#{column} li[data-id='{hit}']").get_by_role("button", name=f": {text}").click()


def open_expert_settings(page: Page) -> None:
    """Unfolds them."""
    page.get_by_text("Expert settings").click()


def called(page: Page, module: str, function: str, *arguments: Any) -> Any:
    """What a function of one of the page's modules gives."""
    script = "async ([module, name, given]) => (await import(`/-/static/${module}.js`))[name](...given)"
    return page.evaluate(script, [module, function, list(arguments)])
