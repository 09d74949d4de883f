"""FreeDict's dictionaries into pairs of words."""

import gzip
import itertools

import pytest

from ingest.embeddings.dictionaries import Dictionary, Pair, read_pairs
from ingest.embeddings.units import Unit
from reranker.base.errors import BadInput

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def written(folder, entries, pair=("en", "fr")):
    """A dictionary with a line of translations for each headword."""
    texts = [f"{headword}\n{translations}\n".encode() for headword, translations in entries]
    starts = itertools.accumulate(map(len, texts), initial=0)
    lines = (
        f"{headword}\t{number(start)}\t{number(len(text))}\n"
        for (headword, _), text, start in zip(entries, texts, starts, strict=False)
    )
    folder.mkdir()
    (folder / "d.index").write_text("".join(lines), encoding="utf-8")
    (folder / "d.dict.dz").write_bytes(gzip.compress(b"".join(texts)))
    return Dictionary(folder, *pair)


def number(value):
    return DIGITS[value // 64] + DIGITS[value % 64]


def test_phrases_and_stop_words_are_no_pairs(tmp_path):
    entries = [("hot dog", "chien chaud"), ("the", "le"), ("to print", "imprimer"), ("λόγος", "mot, parole")]
    assert list(read_pairs(written(tmp_path / "d", entries))) == [
        Pair(("en", "print"), ("fr", "imprimer")),  # "to" is a stop word
        Pair(("en", "λόγοσ"), ("fr", "mot")),
        Pair(("en", "λόγοσ"), ("fr", "parole")),
    ]


def test_suffixes_are_no_words(tmp_path):
    entries = [("in", "-ssa"), ("-like", "mainen"), ("cat", "kissa"), ("chief-", "pää")]
    expected = [Pair(("en", "cat"), ("fi", "kissa")), Pair(("en", "chief"), ("fi", "pää"))]
    assert list(read_pairs(written(tmp_path / "d", entries, ("en", "fi")))) == expected


def test_a_folder_without_a_dictionary_is_refused_with_the_cure(tmp_path):
    with pytest.raises(BadInput, match=r"0 files .*fetch it again"):
        list(read_pairs(Dictionary(tmp_path, "en", "fr")))


WORDS = {"cat": "chat", "dog": "chien", "water": "eau", "bread": "pain", "car": "voiture", "house": "maison"}


def texts(languages=("en", "fr")):
    """Two words of the dictionary a document."""
    for first in WORDS:
        for second in WORDS:
            if first < second:
                both = {"en": f"{first} {second}", "fr": f"{WORDS[first]} {WORDS[second]}"}
                for language in languages:
                    group = f"{first}-{second}"
                    yield Unit(group, language, both[language], group)


@pytest.mark.parametrize(
    ("pair", "headword", "translation", "expected"),
    [
        # FreeDict writes where a word is stressed, and which vowels are long; й and ё are letters of their own.
        (("de", "ru"), "Alpenveilchen", "цикламе́н", "цикламен"),
        (("ru", "de"), "йо́га", "Joga", "joga"),
        (("el", "la"), "κοντράτο", "congruentĭā", "congruentia"),
        (("en", "fr"), "marked", "marqué", "marqué"),
    ],
)
def test_marks_that_only_dictionaries_write_are_left_out(tmp_path, pair, headword, translation, expected):
    dictionary = written(tmp_path / "d", [(headword, translation)], pair)
    assert [found.target[1] for found in read_pairs(dictionary)] == [expected]
