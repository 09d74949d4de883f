"""The demo's example in one language, over a few pages."""

from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path

from rich.console import Console

from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.text.documents import Document
from sinkrank.actions.demo_english import show_english
from tests.support.service import fill
from tests.support.tiny import tiny_embeddings


def test_both_orders_stand_side_by_side_with_a_mark_at_the_page_that_answers(tmp_path: Path) -> None:
    pages = {
        "text/shared/01/05010000": ("Clear Direct Formatting", "formatting cat dog bread water"),
        "text/swriter/other": ("Other", "remove remove all formatting"),
    }
    documents = [
        Document(f"en/{page}", text, "en", title=title, metadata={"page": page})
        for page, (title, text) in pages.items()
    ]
    embeddings = tiny_embeddings(tmp_path / "embeddings")
    shown = io.StringIO()
    with closing(open_store(str(tmp_path / "store"))) as store:
        fill(store, embeddings, "pages", documents)
        show_english(Searcher(store, embeddings), "pages", Console(file=shown, width=120))
    lines = shown.getvalue().splitlines()
    (first,) = [line.split() for line in lines if line.strip().startswith("1 ")]
    assert first == ["1", "Other", "Other"]
    (second,) = [line.split() for line in lines if line.strip().startswith("2 ")]
    assert second == ["2", *["\u2713", "Clear", "Direct", "Formatting"] * 2]
    assert "Of 50 everyday queries" in shown.getvalue()
    assert "it is the first hit for 0, by BM25 for 0." in shown.getvalue()
