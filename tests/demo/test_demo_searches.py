"""What the demo prints of its searches, over a few pages."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from reranker.answers.page import Example
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.text.documents import Document
from sinkrank.actions.demo_searches import demo_measures, show_across_languages, show_both_orders
from tests.support.service import fill
from tests.support.tiny import tiny_embeddings

LONG = "Numbering, Bullets and all other things that stand in front of paragraphs and lists of a long document"
PAGES = {
    "en/text/shared/01/05010000": ("Clear Direct Formatting", "formatting cat dog bread water"),
    "en/text/swriter/other": (LONG, "remove remove all formatting"),
    "en/text/cat": ("Cats", "cat dog dog"),
    "en/text/water": ("Waters", "water water bread cat cat"),
    "fr/text/cat": ("Le chat\x1b[31m", "chat chien"),
}


@pytest.fixture
def searcher(tmp_path: Path) -> Iterator[Searcher]:
    embeddings = tiny_embeddings(tmp_path / "embeddings")
    documents = [
        Document(doc_id, text, doc_id[:2], title=title, metadata={"page": doc_id[3:]})
        for doc_id, (title, text) in PAGES.items()
    ]
    with closing(open_store(str(tmp_path / "store"))) as store:
        fill(store, embeddings, "pages", documents)
        yield Searcher(store, embeddings)


def printed(width: int = 120, **options: bool) -> tuple[Console, io.StringIO]:
    shown = io.StringIO()
    return Console(file=shown, width=width, **options), shown  # type: ignore[arg-type]


def test_both_orders_stand_side_by_side_with_a_mark_at_the_page_that_answers(searcher: Searcher) -> None:
    console, shown = printed()
    show_both_orders(searcher, "pages", Example("remove all formatting", "en", "en"), console)
    lines = shown.getvalue().splitlines()
    assert "“remove all formatting”: English query, English pages (✓ answers it)" in lines
    (second,) = [line.split() for line in lines if line.strip().startswith("2 ")]
    assert second == ["2", *["✓", "Clear", "Direct", "Formatting"] * 2, "2"]


def test_pages_in_another_language_have_an_english_title_and_the_words_that_brought_the_first_near(
    searcher: Searcher,
) -> None:
    console, shown = printed()
    show_across_languages(searcher, "pages", Example("dog", "en", "fr"), {"text/cat": "Cats"}, console)
    (first,) = [line.split() for line in shown.getvalue().splitlines() if line.strip().startswith("1 ")]
    assert first == ["1", "Le", "chat", "[31m", "Cats"]
    assert "“dog”: English query, French pages" in shown.getvalue()
    assert "dog → chien" in shown.getvalue()


@pytest.mark.parametrize("width", [80, 160])
def test_no_line_is_wider_than_the_terminal_and_no_title_has_its_own_control_sequences(
    searcher: Searcher, width: int
) -> None:
    console, shown = printed(width)
    show_both_orders(searcher, "pages", Example("remove all formatting", "en", "en"), console)
    show_across_languages(searcher, "pages", Example("dog", "en", "fr"), {}, console)
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert "\x1b" not in shown.getvalue()
    rows = [line for line in lines if line.strip().startswith(("1 ", "2 "))]
    assert len(rows) == 3  # a long title is cut, not broken into lines


def test_one_line_compares_the_orders_by_the_everyday_queries(searcher: Searcher) -> None:
    # "remove all formatting" finds its page in the second place in both orders; no other query finds one.
    assert demo_measures(searcher, "pages") == (
        "50 everyday queries: the first hit answers 0 (by BM25 0); 0 go up, 0 down; MRR 0.010 (by BM25 0.010)"
    )
