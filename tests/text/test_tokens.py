"""Tokens of a text."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from reranker.text.token_places import token_places
from reranker.text.tokens import has_digit, letter_tokens, tokenize


@pytest.mark.parametrize(
    ("text", "language", "tokens"),
    [
        ("The Printer, printed 12 pages (A4)!", "en", ["printer", "printed", "12", "pages", "a4"]),
        ("l'imprimante d’hiver", "fr", ["imprimante", "hiver"]),  # an apostrophe parts an article from its noun
        ("l'hivern d’estiu", "ca", ["hivern", "estiu"]),
        ("ΛΟΓΟΣ λογος λογοσ", "el", ["λογοσ"] * 3),  # final sigma and sigma are one letter
        ("cafe\u0301 caf\u00e9", "en", ["caf\u00e9", "caf\u00e9"]),
        ("हिन्दी", "und", ["हिन्दी"]),  # marks stay within their word
        ("αυτός και αυτοί", "el", []),  # the Greek list is written without accents
        ("ou, çà", "fr", ["çà"]),  # in French an accent parts a word from a stop word
        ("computer page system number date", "en", ["computer", "page", "system", "number", "date"]),
        ("the cat", "und", ["the", "cat"]),  # a language without a list
        *((text, "en", []) for text in ("", "   ", "% -- ! _._ ½ ②", "\x00")),
    ],
)
def test_tokens_are_words_and_numbers_without_the_stop_words_of_the_language(text, language, tokens):
    assert tokenize(text, language) == tokens


@pytest.mark.parametrize("language", ["zh", "ko"])
def test_a_digit_is_no_stop_word(language):
    assert tokenize("iPhone 8", language) == ["iphone", "8"]


def test_embeddings_are_made_for_letters_alone():
    assert letter_tokens("The UTF8encoding of 12 pages", "en") == ["utf", "encoding", "pages"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("chapter 8: ISO 8601, RFC 2822", ["chapter", "8", "iso", "8601", "rfc", "2822"]),
        ("H264 utf8 0x80070005 00001", ["h264", "utf8", "0x80070005", "00001"]),
        ("v1.2.3, 3.14; 10,000.", ["v1.2.3", "3.14", "10,000"]),
        ("SKU-00001 SKU_00001 12:30 1/2", ["sku", "00001", "sku", "00001", "12", "30", "1", "2"]),
        ("2024-01-31", ["2024", "01", "31"]),
        ("end.8 8.end 8., .5 1..2 1.,2", ["end", "8", "8", "end", "8", "5", "1", "2", "1", "2"]),
        # Digits of all scripts are one; letters beside them stay in theirs.
        ("８６０１ ٢٠٢٤ २०२४ ٣.١٤ ю8", ["8601", "2024", "2024", "3.14", "ю8"]),
        # A keyboard's key is its digit; a superscript is no digit.
        ("1\ufe0f\u20e3 m² h₂o h2o", ["1", "m", "h", "o", "h2o"]),
        # No space parts a number from the words of these scripts.
        ("第8章 libreoffice7の使い方", ["第", "8", "章", "libreoffice7", "の", "使い方"]),
        ("8장에서 บทที่8", ["8", "장에서", "บท", "ที่", "8"]),
        ("使用RTX4090显卡 新型iPhone13", ["使用", "rtx4090", "显", "卡", "新型", "iphone13"]),
        ("삼성RTX4090에서 LG그램A4", ["삼성", "rtx4090", "에서", "lg그램", "a4"]),
        ("รุ่นRTX4090ดี 版本v1.2.3", ["รุ่น", "rtx4090", "ดี", "版本", "v1.2.3"]),
        ("พ.ศ. ๒๕๖๗ ៨៦.០", ["พ", "ศ", "2567", "86.0"]),
        ("हिन्दी2", ["हिन्दी2"]),
    ],
)  # fmt: skip
def test_what_has_a_digit_is_one_token_as_it_is_written(text, tokens):
    assert tokenize(text, "und") == tokens
    assert [token for token, _, _ in token_places(text, "und")] == tokens


@given(st.text(st.sampled_from("aZéΣжの字ु\u0301\ufe0f 0٣８.,_-’²İ\n"), max_size=20))
def test_words_are_those_of_a_text_whose_digits_part_nothing(text):
    # Where no digit touches a letter, the words are the runs of letters, whatever numbers stand between them.
    parted = regex.sub(r"(?<=\p{Nd})(?=[\p{L}\p{M}])|(?<=[\p{L}\p{M}])(?=\p{Nd})", " ", text)
    assert [token for token in tokenize(parted, "und") if not has_digit(token)] == letter_tokens(parted, "und")


def test_only_the_first_2000_tokens_are_kept():
    words = [f"{chr(97 + i // 676)}{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}zzq" for i in range(2_400)]
    tokens = tokenize(" ".join(words), "en")
    assert tokens == words[:2_000]


def test_the_limit_counts_tokens_that_are_kept_not_stop_words():
    assert tokenize("the the the printer page", "en", max_tokens=2) == ["printer", "page"]


@pytest.mark.parametrize("between", [" ", " - " * 6000])
def test_numbers_do_not_shorten_the_text_that_is_read(between):
    text = between.join(["1", "cat", "2", "3", "dog", "4", "bird", "5"])
    assert tokenize(text, "en", max_tokens=2) == ["1", "cat", "2", "dog"]
    assert tokenize(text, "en", max_tokens=3) == ["1", "cat", "2", "3", "dog", "bird"]
    assert tokenize(text, "en", max_tokens=None) == text.replace("-", "").split()


def test_of_numbers_alone_as_many_are_kept_as_of_words():
    assert tokenize(" ".join(map(str, range(5_000))), "en") == [str(number) for number in range(2_000)]
