"""Texts read in C: as the Python functions read them, on all of Unicode."""

from __future__ import annotations

import secrets
import sys
import unicodedata
from itertools import chain, pairwise
from threading import Thread
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.embeddings import Embeddings, text_reader
from reranker.embeddings.detection import guess_languages
from reranker.embeddings.text_reader import TextReader
from reranker.native.text import NONE, STOP_WORD, set_hash_secret
from reranker.text import unicode_tables
from reranker.text.bags import unknown_hash
from reranker.text.normalization import normalize_term
from reranker.text.token_places import token_places
from reranker.text.tokens import UNACCENTED_STOP_WORDS, is_stop_word, letter_tokens, stop_words, tokenize
from tests.support.tiny import write_words

WORDS = {
    "en": ["cat", "water", "bread", "hotel", "the", "café", "it's"],
    "de": ["katze", "wasser", "brot", "hotel", "strasse", "dampfschiff", "fahrt", "für"],
    "el": ["λογοσ", "νερό", "ψωμί", "hotel"],
    "ru": ["кот", "вода", "еще", "хлеб"],
    "fa": ["کتاب", "علی"],
}
# Stop words, and words as people write them.
OTHERWISE = ["und", "λόγος", "straße", "ещё", "علي"]
# Languages with rules of their own, with stop words that are compared otherwise, and without anything.
LANGUAGES = ["en", "de", "el", "ru", "fa", "ar", "tr", "uk", "ca", "hi", "he", "und"]
# Letters of the scripts that have rules, their marks, and what stands between letters.
ODD = "aIiİıßẞЁёЙΣςσάΐl·L'’ʼéçᾀ字カー\u0e44 Ａ９Ｌｶﾞ.,-8٣०²½ⅷ각\u1100\u11a8🙂ŀĿकक़षﬁﬂﬆ"
ODD += (
    "\u0301\u0307\u0323\u0327\u0345\u093c\u094d\u09c7\u09be\u200c\u200d\ufe0f\u20e3\ufeff\ud800\0\u0378\ua7cb\U0001df00"
)
ODD += "كکيیىأإآٱةهۀـ\u064e\u0651\u0654\u0670א\u05b8\u05bc־"

texts = st.text(st.one_of(st.sampled_from(ODD), st.sampled_from("abelst 09.,'"), st.characters()), max_size=30)


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return write_words(tmp_path_factory.mktemp("words") / "embeddings", WORDS)


def tokens_of(embeddings: Embeddings, given: list[str], languages: list[str]) -> list[list[int]]:
    """The hashes of the tokens of each text in reading order."""
    read = embeddings.reader.read(given, languages)
    hashes = read.words["hash"][read.tokens[: read.offsets[-1]]].tolist()
    return [hashes[start:end] for start, end in pairwise(read.offsets.tolist())]


def differences(embeddings: Embeddings, given: list[str], language: str) -> list[str]:
    """The texts that are read otherwise than by the definition."""
    found = tokens_of(embeddings, given, [language] * len(given))
    return [
        text
        for text, hashes in zip(given, found, strict=True)
        if hashes != list(map(unknown_hash, tokenize(text, language)))
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@given(given=st.lists(texts, max_size=4))
def test_tokens_are_those_of_the_definition(embeddings, language, given):
    assert differences(embeddings, given, language) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_character_of_unicode_is_read_as_by_the_definition(embeddings, language):
    # Of most of the others the tables say nothing: some of them stand for all.
    planes = (range(0x10000, 0x20000, 31), range(0x20000, sys.maxunicode + 1, 509))
    others = chain(range(0x3000, 0x3400), range(0x3400, 0xF900, 31), range(0xF900, 0x10000), *planes)
    every = map(chr, chain(range(0x3000), others if language == "und" else ()))
    given = [f"{one} a{one}b{one}1{one}2{one} l{one}l i{one}\u0301 {one}\u0307" for one in every]
    given = [text if language == "und" else text[: text.index("2")] for text in given]
    assert differences(embeddings, given, language) == []


@pytest.mark.parametrize("mark", ["\u0301", "\u0327", "\u0332", "\u0345", "\u064e", "\u093c", "\u09be"])
def test_a_mark_after_each_character_is_read_as_by_the_definition(embeddings, mark):
    given = [f"a{chr(code)}{other}{mark}b" for code in range(0x3000) for other in ("", "\u0332")]
    assert differences(embeddings, given, "und") == []


MARKED = "اأآשIiİéçбक\u064e\u0651\u064b\u0653\u0655\u0670\u0640\u05b8\u05bc"
MARKED += "\u0301\u0323\u0327\u0332\u0307\u0345\u093c\u200d'·lﬁﬂﬃ"


@given(given=st.lists(st.text(st.sampled_from(MARKED), min_size=2, max_size=10), min_size=20, max_size=40))
def test_marks_in_any_order_are_read_as_by_the_definition(embeddings, given):
    for language in ("und", "ar", "tr", "uk", "ca"):
        assert differences(embeddings, given, language) == []


def in_characters(text: str, places: list[list[int]]) -> list[str]:
    encoded = text.encode("utf-8", "surrogatepass")
    return [encoded[start:end].decode("utf-8", "surrogatepass") for start, end in places]


# Taken off in every language: whether a place ends before or behind them is open.
REMOVED_LETTERS = "\u0640\u200c\u200d"


@pytest.mark.parametrize("language", LANGUAGES)
@given(given=st.lists(texts, max_size=4))
def test_the_places_of_tokens_are_those_of_the_definition(embeddings, language, given):
    read = embeddings.reader.read(given, [language] * len(given), with_places=True)
    ends = read.offsets.tolist()
    for number, text in enumerate(given):
        found = in_characters(text, read.places[ends[number] : ends[number + 1]].tolist())
        expected = [text[start:end] for _, start, end in token_places(text, language)]
        assert [one.rstrip(REMOVED_LETTERS) for one in found] == [one.rstrip(REMOVED_LETTERS) for one in expected]


BESIDE_NUMBERS = st.text(st.sampled_from("각자字ที่๑aßI1.-\u0301\u0651\u0640\u20e3\ufe0f"), min_size=2, max_size=10)


@given(given=st.lists(BESIDE_NUMBERS, min_size=20, max_size=40))
def test_numbers_beside_letters_without_spaces_are_read_as_by_the_definition(embeddings, given):
    for language in ("und", "de", "tr"):
        assert differences(embeddings, given, language) == []


RUNS = st.builds(lambda mark, n: mark * n, st.sampled_from(MARKED + "\u20dd\u0316\u0f73"), st.integers(1, 32))


@given(given=st.lists(st.lists(RUNS, max_size=6).map("".join), min_size=5, max_size=10))
def test_many_marks_on_a_letter_are_read_as_by_the_definition(embeddings, given):
    for language in ("und", "ar", "tr", "uk"):
        assert differences(embeddings, given, language) == []


def test_a_letter_with_many_marks_keeps_its_place(embeddings):
    text = f"cat a{chr(0x301) * 40}{chr(0x316) * 40}b dog"
    places = [(start, end) for _, start, end in token_places(text, "und")]
    assert [text[start:end] for start, end in places] == text.split()
    read = embeddings.reader.read([text], ["und"], with_places=True)
    assert in_characters(text, read.places[: read.offsets[-1]].tolist()) == text.split()


def test_an_error_of_reading_a_piece_is_raised(embeddings):
    with patch.object(text_reader, "tokenize", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        embeddings.bags(["cat 字", "dog"], ["en", "en"])


@pytest.mark.parametrize("language", ["de", "tr", "und"])
def test_a_normalised_letter_takes_at_most_twice_its_bytes(language):
    # So much room have the tokens of a text.
    for letter in map(chr, range(0x20000)):
        n_bytes = len(letter.encode("utf-8", "surrogatepass"))
        normalized = normalize_term(letter, language)
        assert not normalized.isalpha() or len(normalized.encode()) <= 2 * n_bytes


def test_the_table_of_words_has_a_secret_that_no_result_depends_on(embeddings):
    given = [" ".join(f"cat zzq{n} water{chr(97 + n % 26)}" for n in range(3_000))]
    found, fingerprints = [], []
    try:
        for secret in (1, -2):
            set_hash_secret(secret)
            read = embeddings.reader.read(given, ["en"])
            found.append(
                [read.tokens[: read.offsets[-1]].tolist(), read.words[[*read.words.dtype.names[:-1]]].tolist()]
            )
            fingerprints.append(read.words["fingerprint"].tolist())
    finally:
        set_hash_secret(secrets.randbits(63))
    assert found[0] == found[1]
    assert all(one != other for one, other in zip(*fingerprints, strict=True))


def test_words_and_numbers_are_counted_up_to_their_limits(embeddings):
    words = [f"{chr(97 + i // 676)}{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}zzq" for i in range(2_400)]
    given = [
        " ".join(words),
        " ".join(map(str, range(4_000))),
        " ".join(f"{word} {place}" for place, word in enumerate(words)),
    ]
    given += [f"the {'1 ' * 2_700}{' '.join(words)}"]
    assert differences(embeddings, given, "en") == []
    assert [len(each) for each in tokens_of(embeddings, given, ["en"] * 4)] == [2_000, 2_000, 3_999, 4_000]


def test_the_bag_of_a_long_text_tells_which_64_tokens_have_a_word(embeddings):
    # dampfschifffahrt counts as its parts; zzz and 12 have no embedding; the 32nd part is the last one
    tokens = ["brot"] * 64 + ["wasser", "zzz"] * 32 + ["dampfschifffahrt"] * 2_000 + ["12", "brot"] * 10
    bag = embeddings.bag(" ".join(tokens), "de")
    of_hashes = dict(zip(bag.unknown_hashes.tolist(), bag.parts[len(bag) :].tolist(), strict=True))
    of_terms = dict(zip(bag.term_ids.tolist(), bag.parts.tolist(), strict=False))
    expected = {"brot": 0b1, "wasser": 0b10, "dampfschiff": 0xFFFFFFFC, "fahrt": 0xFFFFFFFC}
    assert of_terms == {embeddings.term_id("de", word): parts for word, parts in expected.items()}
    assert of_hashes == {unknown_hash("zzz"): 0b10}
    assert embeddings.bag("brot " * 384, "de").parts is None


@pytest.mark.parametrize(
    "text",
    ["", "\0", "\ud800", "a\udc00b", "\U0010ffff", "x" * 1_000_000, "1." * 50_000, "é" * 100_000, "б\u0301" * 9],
)
def test_hostile_texts_are_read(embeddings, text):
    for language in ("en", "el", "uk", "und"):
        assert differences(embeddings, [text, "cat", text], language) == []


@given(given=st.lists(st.text(st.sampled_from("abcehilorstwüκοςтаво "), max_size=60), max_size=3))
def test_bags_hold_the_terms_that_stand_for_words(embeddings, given):
    for language in ("en", "de", "el", "ru", "sw"):
        given = [*given, "hotl wasser cafe dampfschifffahrt fuer кит λόγος bread bread zzz 12 12"]
        for text, bag in zip(given, embeddings.bags(given, [language] * len(given)), strict=True):
            expected = embeddings.bag_of_tokens(tokenize(text, language), language)
            assert bag.term_ids.tolist() == expected.term_ids.tolist()
            assert bag.counts.tolist() == expected.counts.tolist()
            assert (bag.n_unknown, bag.unknown_hashes.tolist()) == (
                expected.n_unknown,
                expected.unknown_hashes.tolist(),
            )


def test_words_of_64_letters_have_a_nearest_spelling_and_longer_ones_none(tmp_path):
    words = ["x" * 64, "y" * 65, "z" * 66]
    embeddings = write_words(tmp_path / "embeddings", {"en": words})
    given = ["x" * 63, "y" * 64, "z" * 64, "z" * 65]
    assert [bag.term_ids.tolist() for bag in embeddings.bags(given, ["en"] * 4)] == [[0], [1], [], []]


@given(
    given=st.lists(
        st.one_of(
            texts, st.lists(st.sampled_from([*chain.from_iterable(WORDS.values()), *OTHERWISE, "12"])).map(" ".join)
        ),
        max_size=5,
    )
)
def test_the_first_words_of_each_language_are_those_of_the_definition(embeddings, given):
    read = embeddings.reader.first_words(given, 5)
    for number, text in enumerate(given):
        for place, language in enumerate(embeddings.languages):
            tokens = letter_tokens(text, language, 5, with_stop_words=True)
            expected = [
                STOP_WORD if is_stop_word(token, language) else embeddings.vocabulary.find(language, token)
                for token in tokens
            ]
            assert read.term_ids(number, place).tolist() == expected
            assert read.n_known[number, place] == len(expected) - expected.count(NONE)
            if language in ("en", "el"):  # which replace no letters
                assert read.tokens_of(number, place, 5) == tokens


def test_a_language_knows_a_word_that_is_written_otherwise(embeddings):
    assert guess_languages(OTHERWISE, embeddings) == ["de", "el", "de", "ru", "fa"]


def test_in_one_language_nothing_is_guessed(tmp_path):
    embeddings = write_words(tmp_path / "embeddings", {"fr": ["chat"]})
    assert guess_languages(["the black cat", ""], embeddings) == ["fr", "fr"]


def test_threads_share_a_reader_while_languages_are_added(embeddings):
    reader = TextReader(embeddings.vocabulary, embeddings.unknown)
    wrong = []

    def read(number: int) -> None:
        for language in [*LANGUAGES[number:], *LANGUAGES[:number], "sv", "fi", "fr", "it"]:
            (bag,) = reader.read(["cat zzqqx 12 字"], [language]).bags()
            if bag.n_unknown + bag.counts.sum() != 4:
                wrong.append(language)

    threads = [Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_c_reads_stays_while_another_thread_adds_a_language(embeddings, monkeypatch):
    reader = TextReader(embeddings.vocabulary, embeddings.unknown)
    reader.read(["x"], ["sv"])
    text, room = "cat 字 \u0e44 water the katze", []
    expected = reader.first_words([text], 5).n_known.tolist()

    def read_meanwhile(*given, **options):
        reader.read(["y"], ["fi"])
        room.extend(b"\xff" * (n_bytes - 33) for n_bytes in range(1_000, 5_000))  # takes what was freed
        return letter_tokens(*given, **options)

    monkeypatch.setattr(text_reader, "letter_tokens", read_meanwhile)
    assert reader.first_words([text], 5).n_known.tolist() == expected
    assert room


def test_greek_stop_words_hold_no_accented_letter_but_greek_ones():
    # C takes the accents off these alone.
    assert {"el"} == UNACCENTED_STOP_WORDS
    for word in stop_words("el"):
        others = [letter for letter in word if not "\u0370" <= letter <= "\u03ff"]
        assert all(not letter.isalpha() for letter in others)


def test_a_stop_word_with_any_marks_has_room(embeddings):
    # None of these spellings of και is a token, and each is a word of its own.
    marks = [chr(code) for code in (*range(0x30B, 0x313), *range(0x316, 0x340))]
    spellings = [f"κ{one}α{two}ι{three}" for one in marks for two in marks for three in marks[:4]]
    read = embeddings.reader.read([" ".join([*spellings, "νερό"])], ["el"])
    assert [read.text(word) for word in read.tokens[: read.offsets[-1]]] == ["νερό"]
    assert len(spellings) < len(read.words) <= read.buffers.most


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="another version of Unicode")
def test_the_tables_are_those_that_the_script_makes():
    assert unicode_tables.HEADER.read_text() == unicode_tables.header()
