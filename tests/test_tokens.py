"""Tokens of a text."""

import pytest
import regex

from reranker.tokens import normalize_term, stop_words, tokenize


def test_words_are_lower_case_without_punctuation_numbers_and_stop_words():
    assert tokenize("The Printer, printed 12 pages (A4)!", "en") == ["printer", "printed", "pages"]


def test_digits_part_words():
    assert tokenize("utf8encoding", "en") == ["utf", "encoding"]


def test_an_apostrophe_parts_a_french_article_from_its_noun():
    assert tokenize("l'imprimante d’hiver", "fr") == ["imprimante", "hiver"]


@pytest.mark.parametrize("word", ["computer", "page", "system", "number", "date"])
def test_a_content_word_is_no_stop_word(word):
    assert tokenize(word, "en") == [word]


def test_final_sigma_and_sigma_are_one_letter():
    assert tokenize("ΛΟΓΟΣ λογος λογοσ", "el") == ["λογοσ"] * 3


def test_decomposed_and_composed_accents_are_one_word():
    assert tokenize("cafe\u0301 caf\u00e9", "en") == ["caf\u00e9", "caf\u00e9"]


def test_combining_marks_stay_within_their_word():
    assert tokenize("हिन्दी", "und") == ["हिन्दी"]


def test_only_the_first_500_tokens_are_kept():
    words = [f"{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}zzq" for i in range(600)]
    tokens = tokenize(" ".join(words), "en")
    assert tokens == words[:500]


def test_the_limit_counts_tokens_that_are_kept_not_stop_words():
    assert tokenize("the the the printer page", "en", max_tokens=2) == ["printer", "page"]


def test_a_language_without_a_stop_list_keeps_every_word():
    assert stop_words("und") == frozenset()
    assert tokenize("the cat", "und") == ["the", "cat"]


def test_greek_stop_words_are_found_with_accents_and_final_sigma():
    assert normalize_term("αυτός") == "αυτόσ"
    assert tokenize("αυτός και αυτοί", "el") == []


def test_french_accents_part_words_from_stop_words():
    assert "ou" in stop_words("fr")
    assert tokenize("ou, çà", "fr") == ["çà"]


@pytest.mark.parametrize("text", ["", "   ", "42 % -- !", "\x00"])
def test_a_text_without_letters_has_no_token(text):
    assert tokenize(text, "en") == []


def test_the_quick_way_finds_the_words_of_unicode_letters_and_marks():
    # The two ways part where a text leaves Latin, Greek and Cyrillic: each letter of these stands in a text of its own.
    letter, mark = regex.compile(r"\p{L}"), regex.compile(r"\p{M}")
    for number in [*range(0x530), *range(0x2000, 0x2100)]:
        found = normalize_term(f"zz{chr(number)}zz")
        is_within = all(letter.match(one) or mark.match(one) for one in found)
        parts = [found] if is_within else [part for part in regex.split(r"\P{L}+", found) if part]
        assert tokenize(f"zz{chr(number)}zz", "und") == parts, hex(number)
        assert tokenize(f"zz{chr(number)}zz 字", "und") == [*parts, "字"], hex(number)
