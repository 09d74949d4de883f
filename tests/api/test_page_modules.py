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


@pytest.mark.parametrize(
    ("title", "text", "end"),
    [
        ("Printing", "Printing. To print a page", 10),
        ("Printing", " printing\n\nTo print", 11),
        ("Print", "Printing a page", 0),
        ("Printing", "Printing", 0),
        ("", "Printing", 0),
        ("Kissa 🐈", "Kissa 🐈: eläin", 9),
    ],
)
def test_a_title_at_the_beginning_of_a_text_is_left_out(page: Page, title: str, text: str, end: int) -> None:
    assert called(page, "snippet", "endOfTitle", title, text) == end


def test_a_snippet_begins_where_the_most_query_words_stand(page: Page) -> None:
    def match(start: int, word: str, likeness: float = 1.0) -> dict[str, Any]:
        return {"start": start, "end": start + 4, "query_word": word, "likeness": likeness}

    one, both = [match(10, "cat")], [match(500, "cat"), match(520, "dog", 0.6)]
    assert called(page, "snippet", "bestStart", 1000, 0, [*one, *both]) == 470
    assert called(page, "snippet", "bestStart", 1000, 0, [*one, match(600, "cat")]) == 0  # the earliest of equals
    assert called(page, "snippet", "bestStart", 1000, 50, one) == 50  # within the title that was left out
    assert called(page, "snippet", "bestStart", 1000, 0, []) == 0


def test_words_that_the_engine_highlights_are_matches_wherever_they_stand(page: Page) -> None:
    script = """async ([matches, text, words, isTranslated]) =>
      (await import("/-/static/matches.js")).withHighlights(matches, text, new Set(words), isTranslated)"""
    known = [{"start": 0, "end": 4, "query_word": "cat", "word": "cats", "likeness": 0.8}]
    found = page.evaluate(script, [known, "Cats 🐈 run, cats ran", ["cats", "ran"], False])
    assert [(each["start"], each["end"], each["query_word"], each["likeness"]) for each in found] == [
        (0, 4, "cat", 1),
        (12, 16, "cats", 1),
        (17, 20, "ran", 1),
    ]
    translated = page.evaluate(script, [known, "Cats ran", ["cats", "ran"], True])
    assert [each["likeness"] for each in translated] == [0.8, 0.9]


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["body", "product_name", "title"], "title"),
        (["body", "doc.headline"], "doc.headline"),
        (["body", "product_name"], "product_name"),
        (["body", "untitled"], None),
    ],
)
def test_the_field_of_titles_is_known_by_its_name(page: Page, names: list[str], title: str | None) -> None:
    assert called(page, "fields", "titleField", names) == title


def test_values_are_found_behind_dots_in_lists_and_under_sub_fields(page: Page) -> None:
    source = {"a": {"b": [{"c": "one"}, {"c": "two"}]}, "x.y": "dotted", "title": "T"}
    assert called(page, "engine_search", "valueAt", source, "a.b.c") == ["one", "two"]
    assert called(page, "engine_search", "valueAt", source, "x.y") == "dotted"
    assert called(page, "engine_search", "valueAt", source, "title.english") == "T"
    assert called(page, "engine_search", "valueAt", source, "a.z") is None
    assert called(page, "engine_search", "strings", source) == ["one", "two", "dotted", "T"]


def test_examples_are_titles_of_two_to_eight_words_each_once_or_how_texts_begin(page: Page) -> None:
    titles = ["Print", "Print pages", "print  PAGES", "a b c d e f g h i", "Save a file", "x" * 50 + " " + "y" * 50]
    assert called(page, "examples", "chooseQueries", titles, True) == ["Print pages", "Save a file"]
    assert called(page, "examples", "chooseQueries", ["one two three four five six seven"], False) == [
        "one two three four five"
    ]


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
