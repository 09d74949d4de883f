"""The page's own modules, function by function, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from reranker.embeddings import Embeddings
from reranker.service.examples import difference
from reranker.text.documents import Document
from tests.support.browser.pages import called, opened_pages
from tests.support.service import serving_page


@pytest.fixture(scope="module")
def page(browser: Browser, embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    indices = {"pages": [Document("d1", "cat", "en")]}
    with (
        serving_page(embeddings, tmp_path_factory.mktemp("modules"), indices) as url,
        opened_pages(browser, url) as opened,
    ):
        yield opened()


@pytest.mark.parametrize("ranks", [[], [1, 2, 3], [2, 1, 3], [1, 2, 14], [4, 5, 6]])
def test_the_difference_of_two_pages_is_that_of_the_service(page: Page, ranks: list[int]) -> None:
    assert called(page, "examples", "difference", ranks) == pytest.approx(difference(ranks))


PARTS = {"first_stage": 0.3, "feedback": 0.2, "neighbours": 0.1, "encoder": 0.11, "hubness": -0.05, "window": 0.02}
SOURCES = {
    "encoder": {
        "cosine": 0.4,
        "words": [{"word": "printer", "language": "en", "part": 0.15}, {"word": "ink", "language": "en", "part": 0.04}],
        "other_words": 0.02,
        "window_offset": -0.1,
        "exact_match": 0.0,
    },
    "feedback": {
        "words": [{"word": "toner", "language": "en", "weight": 0.031}],
        "documents": [{"id": "42", "share": 0.3}],
    },
    "neighbours": {"documents": [{"id": "42", "share": 0.55}, {"id": "17", "share": 0.2}]},
}


def parts_table(page: Page, sources: Any) -> list[str]:
    """The lines of the table of parts; the hit 42 has a title."""
    script = """async ([parts, sources]) => {
      const { partsTable } = await import("/-/static/score_parts.js");
      const table = partsTable(parts, { sources, titleOf: (id) => (id === "42" ? "Cartridges" : id) });
      return [...table.querySelectorAll("tbody tr")].map((row) => {
        const words = [...row.querySelectorAll("li")].map((each) => each.textContent);
        return words.length > 0 ? words.join(" | ") : `${row.cells[0].textContent}: ${row.cells[1].textContent}`;
      });
    }"""
    lines: list[str] = page.evaluate(script, [PARTS, sources])
    return lines


def test_each_part_of_a_score_names_the_words_and_hits_that_it_comes_from(page: Page) -> None:
    assert parts_table(page, SOURCES) == [
        "The engine’s own score: 0.3000",
        "Words typical of the best hits: 0.2000",
        "toner 3.1 % | “Cartridges” 30.0 %",
        "Similar hits that score well: 0.1000",
        "“Cartridges” 55.0 % | “17” 20.0 %",
        "Meaning of the query as a whole (sentence encoder): 0.1100",
        # 0.15 + 0.04 + 0.02 - 0.1 = 0.11
        "printer +0.1500 | ink +0.0400 | its other words +0.0200 | counted from the hit least like the query −0.1000",
        "Taken off: it is similar to almost every query: −0.0500",
        "Base value, the same for every hit: 0.0200",
    ]
