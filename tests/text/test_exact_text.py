"""Whether a short text is a query, word for word."""

from __future__ import annotations

import pytest

from reranker.text.exact_text import exact_key, exact_keys


@pytest.mark.parametrize(
    ("text", "other", "is_same"),
    [
        ("Text to Columns", "text  to columns", True),
        ("HTML-Export", "HTML Export!", True),
        ("Caf\u00e9", "cafe\u0301", True),
        ("Stra\u00dfe", "STRASSE", True),
        ("İstanbul Rehberi", "istanbul rehberi", True),
        ("IŞIK", "ışık", True),
        ("Text to Columns", "Text Columns", False),
        ("Certificate Paths", "Certificate Path", False),
        ("a b", "b a", False),
    ],
)
def test_case_blanks_and_punctuation_do_not_count_and_words_do(text: str, other: str, is_same: bool) -> None:
    assert (exact_key(text) == exact_key(other)) is is_same


@pytest.mark.parametrize("text", ["", "  ", "?!", "word " * 50])
def test_a_text_without_words_or_a_long_one_has_no_key(text: str) -> None:
    assert exact_key(text) is None


def test_the_short_ones_of_the_first_twenty_texts_count() -> None:
    texts = ["A cat", "word " * 50, *(f"n {n}" for n in range(30))]
    keys = exact_keys(texts)
    assert exact_key("a cat") in keys
    assert exact_key("n 17") in keys
    assert exact_key("n 18") not in keys


def test_a_key_is_the_same_in_every_process() -> None:
    # By `printf TEXT | b2sum -l 64`; the highest bit is the sign.
    assert exact_key("A cat!") == 0x67F5DFB40B23DDA2  # a cat
    assert exact_key("Chat-Noir") == 0x9058338B633D903A - 2**64  # chat noir
