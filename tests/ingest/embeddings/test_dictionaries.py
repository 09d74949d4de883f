"""Dictionaries into pairs of words and into units to train on."""

import gzip

import pytest

from ingest.embeddings.dictionaries import Dictionary, Pair, dictionary_units, read_entries_of, read_pairs
from ingest.embeddings.training import train
from ingest.embeddings.units import Unit
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from tests.ingest.fetching.test_freedict import write_dictionary


def tsv(path, text, pair=("en", "fr")):
    path.write_text(text, encoding="utf-8")
    return Dictionary(path, *pair)


@pytest.mark.parametrize("name", ["", "freedict-fin-eng.index"])
def test_a_dictd_dictionary_is_read_by_its_folder_or_its_index(tmp_path, name):
    folder = write_dictionary(tmp_path / "fi-en")
    pairs = list(read_pairs(Dictionary(folder / name, "fi", "en")))
    assert Pair(("fi", "kissa"), ("en", "cat")) in pairs
    assert Pair(("fi", "talo"), ("en", "house")) in pairs
    assert Pair(("fi", "talo"), ("en", "firm")) in pairs


def test_a_tsv_dictionary_is_read_with_tabs_or_with_blanks_plain_or_gzipped(tmp_path):
    expected = [Pair(("en", "cat"), ("fr", "chat")), Pair(("en", "dog"), ("fr", "chien"))]
    assert list(read_pairs(tsv(tmp_path / "a.tsv", "Cat\tchat\tnoun\n\ndog\tchien\n"))) == expected
    assert list(read_pairs(tsv(tmp_path / "b.txt", "cat chat\ndog chien\n"))) == expected
    (tmp_path / "c.tsv.gz").write_bytes(gzip.compress(b"cat\tchat\ndog\tchien\n"))
    assert list(read_pairs(Dictionary(tmp_path / "c.tsv.gz", "en", "fr"))) == expected


def test_phrases_and_stop_words_are_no_pairs(tmp_path):
    dictionary = tsv(
        tmp_path / "a.tsv", "hot dog\tchien chaud\nthe\tle\nto print\timprimer\nλόγος\tmot\n", ("en", "fr")
    )
    assert list(read_pairs(dictionary)) == [
        Pair(("en", "print"), ("fr", "imprimer")),  # "to" is a stop word
        Pair(("en", "λόγοσ"), ("fr", "mot")),
    ]


def test_suffixes_are_no_words(tmp_path):
    dictionary = tsv(tmp_path / "a.tsv", "in\t-ssa\n-like\tmainen\ncat\tkissa\nchief-\tpää\n", ("en", "fi"))
    expected = [Pair(("en", "cat"), ("fi", "kissa")), Pair(("en", "chief"), ("fi", "pää"))]
    assert list(read_pairs(dictionary)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [("cat\tchat\ndog\n", r"a.tsv, line 2: 'dog' is not a word"), ("\tchat\n", r"line 1"), ("cat\t \n", r"line 1")],
)
def test_a_line_without_a_translation_is_named(tmp_path, text, message):
    with pytest.raises(BadInput, match=message):
        list(read_entries_of(tsv(tmp_path / "a.tsv", text)))


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_dictionary_without_an_entry_is_refused(tmp_path, text):
    with pytest.raises(BadInput, match=r"a\.tsv has no entries; give a dictd dictionary, or TSV"):
        list(read_pairs(tsv(tmp_path / "a.tsv", text)))


def test_what_is_no_dictionary_is_refused_with_the_cure(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "alone.index").touch()
    (tmp_path / "latin.tsv").write_bytes("été\tsummer\n".encode("latin-1"))
    for name, message in (("empty", "0 files"), ("alone.index", "dict.dz"), ("latin.tsv", "UTF-8")):
        with pytest.raises(BadInput, match=message):
            list(read_pairs(Dictionary(tmp_path / name, "en", "fr")))
    with pytest.raises(BadInput, match=r"missing\.tsv cannot be read"):
        list(read_pairs(Dictionary(tmp_path / "missing.tsv", "en", "fr")))


def test_each_sense_is_a_group_that_is_part_of_no_document(tmp_path):
    folder = write_dictionary(tmp_path / "fi-en")
    units = list(dictionary_units(Dictionary(folder, "fi", "en")))
    talo = [unit.text for unit in units if unit.language == "en"]
    assert "house; home" in talo
    assert "firm" in talo
    assert {unit.document for unit in units} == {None}
    assert len({unit.group for unit in units}) == len(units) / 2


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


def test_a_dictionary_alone_trains_and_counts_no_documents(tmp_path):
    lines = "".join(f"{english}\t{french}\n" for english, french in WORDS.items())
    train(dictionary_units(tsv(tmp_path / "a.tsv", lines)), tmp_path / "store", dim=6)
    store = Embeddings.open(tmp_path / "store")
    assert {store.nearest(word, "en", "fr", 1)[0][1] for word in WORDS} == set(WORDS.values())
    assert (store.meta["n_documents"], store.idf.languages) == (None, {})


def test_documents_and_a_dictionary_train_together_and_only_documents_are_counted(tmp_path):
    dictionary = tsv(tmp_path / "a.tsv", "cat\tchat\nmoon\tlune\nmoon\tlune\nsun\tsoleil\n")
    train([*texts(), *dictionary_units(dictionary)], tmp_path / "store", dim=8)
    store = Embeddings.open(tmp_path / "store")
    assert store.nearest("moon", "en", "fr", 1)[0][1] == "lune"
    assert store.nearest("dog", "en", "fr", 1)[0][1] == "chien"
    english = store.idf.languages["en"]
    counts = dict(zip(english.term_ids.tolist(), english.counts.tolist(), strict=True))
    # Each word stands in 5 of the 15 documents; the moon in none.
    assert english.n_documents == 15
    assert counts[store.term_id("en", "cat")] == 5
    assert store.term_id("en", "moon") not in counts


@pytest.mark.parametrize(
    ("pair", "line", "expected"),
    [
        # FreeDict writes where a word is stressed, and which vowels are long; й and ё are letters of their own.
        (("de", "ru"), "Alpenveilchen\tцикламе́н", "цикламен"),
        (("ru", "de"), "йо́га\tJoga", "joga"),
        (("el", "la"), "κοντράτο\tcongruentĭā", "congruentia"),
        (("en", "fr"), "marked\tmarqué", "marqué"),
    ],
)
def test_marks_that_only_dictionaries_write_are_left_out(tmp_path, pair, line, expected):
    dictionary = tsv(tmp_path / "a.tsv", f"{line}\n", pair)
    assert [found.target[1] for found in read_pairs(dictionary)] == [expected]
    assert [unit.text for unit in dictionary_units(dictionary)][1].lower() == expected
