"""Queries whose document is known."""

from __future__ import annotations

import pytest

from reranker.text.documents import Document
from reranker.text.known_items import KnownItem, known_items


@pytest.mark.parametrize(
    ("title", "text", "language", "query"),
    [
        ("Print  a\npage", "Open the menu.", "en", "Print a page"),
        ("Printing", "Open the menu. Then print.", "en", "Open the menu."),  # a title of one word says too little
        ("PRINT A PAGE", "Open the menu! Then print.", "en", "Open the menu!"),
        ("", "one two three four five six seven eight nine ten 11 12 13 14 15 16", "en", None),
        (" ".join("abcdefghijklmnop"), "Print it now", "en", "Print it now"),  # 16 words
        ("Printing", "Menu. Then print.", "en", ""),
        ("", "", "en", ""),
        ("... !!", "-- ??", "en", ""),
        ("打印一页", "打开菜单。然后打印。", "zh", "打印一页"),
        ("打印", "打开菜单。然后打印。", "zh", "打开菜单。"),
    ],
)
def test_a_title_of_2_to_15_words_is_the_query_and_otherwise_the_first_sentence(
    title: str, text: str, language: str, query: str | None
) -> None:
    if query is None:  # cut
        query = "one two three four five six seven eight nine ten 11 12 13 14 15"
    expected = [KnownItem(query, language, "1")] if query else []
    assert known_items([Document("1", text, language, title)], 10) == expected


def test_what_two_documents_have_in_common_is_no_query_and_no_more_come_than_asked_for() -> None:
    titles = ["A cat", "a  cat!", "A dog", "A car", "Some bread"]
    documents = [Document(str(place), "", "en", title) for place, title in enumerate(titles)]
    assert [each.doc_id for each in known_items(documents, 2)] == ["2", "3"]
