"""What the embedded store's BM25 counts."""

from __future__ import annotations

import pytest

from reranker.stores.embedded.terms import bm25_terms


@pytest.mark.parametrize(
    ("text", "language", "terms"),
    [
        ("The runs are running", "en", ["run"] * 2),
        ("Ο ΛΌΓΟΣ, λόγος", "el", ["λογ", "λογ"]),
        ("Error 0x80, 404!", "en", ["error", "0x80", "x", "0", "80", "404"]),
        ("the running of utf8 1.2.3", "en", ["run", "utf8", "utf", "1.2.3", "8", "1", "2", "3"]),
        ("绿茶共和国", "zh", ["绿茶", "共和", "和国"]),
        ("绿", "zh", ["绿"]),
        ("habari", "sw", ["habari"]),
        ("", "en", []),
        ("... \0 🙂", "en", []),
    ],
)
def test_a_text_becomes_stems_pairs_and_numbers(text: str, language: str, terms: list[str]) -> None:
    assert bm25_terms(text, language) == terms


def test_as_many_terms_as_asked_for_are_taken() -> None:
    assert bm25_terms("walrus teapot violin 3", "en", 2) == ["walrus", "teapot"]


def test_no_term_can_be_read_as_a_query() -> None:
    text = "\"a\" 'b' AND-OR *c* (d) e:f ^g {h} i\\j ａＢ١²½ naïve"
    assert all(term.replace(".", "").replace(",", "").isalnum() for term in bm25_terms(f"{text} 1.2,3", "sw"))
