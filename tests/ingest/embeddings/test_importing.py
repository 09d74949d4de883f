"""Published embeddings files into a store: every format, every wrapping, and what goes wrong with them."""

import bz2
import gzip
import re
import struct

import numpy as np
import pytest

from ingest.embeddings.importing import import_embeddings
from ingest.embeddings.selection import (
    DUPLICATE,
    NOT_ONE_WORD,
    NOT_UTF8,
    OTHER_LANGUAGE,
    OVER_MAX,
    STOP_WORD,
    UNKNOWN_LANGUAGE,
    VectorSource,
)
from reranker.base.errors import BadEmbeddings, BadInput, UnknownLanguage
from reranker.embeddings import Embeddings

WORD2VEC = b"2 2\ncat 3 4\ndog 0 -2.5e-1\n"
FASTTEXT = b"2 2\ncat 3 4 \ndog 0 -0.25 \n"  # each line ends in a space
GLOVE = b"cat 3 4\ndog 0 -0.25\n"
NUMBERBATCH = b"2 2\n/c/en/cat 3 4\n/c/en/dog 0 -0.25\n"
BINARY = b"2 2\ncat " + struct.pack("<2f", 3, 4) + b"dog " + struct.pack("<2f", 0, -0.25)
BINARY_WITH_NEWLINES = b"2 2\ncat " + struct.pack("<2f", 3, 4) + b"\ndog " + struct.pack("<2f", 0, -0.25) + b"\n"
FILES = {
    "word2vec": WORD2VEC,
    "word2vec with CRLF": WORD2VEC.replace(b"\n", b"\r\n"),
    "word2vec without a last newline": WORD2VEC.rstrip(),
    "word2vec with a byte order mark": b"\xef\xbb\xbf" + WORD2VEC,
    "fasttext": FASTTEXT,
    "muse": WORD2VEC,
    "glove": GLOVE,
    "glove with tabs": GLOVE.replace(b" ", b"\t"),
    "numberbatch": NUMBERBATCH,
    "word2vec-binary": BINARY,
    "word2vec-binary with newlines": BINARY_WITH_NEWLINES,
}


def plain(path, content):
    path.write_bytes(content)


def gzipped(path, content):
    path.write_bytes(gzip.compress(content))


def packed(path, content):
    path.write_bytes(bz2.compress(content))


@pytest.fixture
def importing(tmp_path):
    """Writes contents to a file and imports it; gives the store and the summary."""

    def run(content, language="en", wrap=plain, **options):
        wrap(tmp_path / "file", content)
        summary = import_embeddings([VectorSource(tmp_path / "file", language)], tmp_path / "store", **options)
        return Embeddings.open(tmp_path / "store"), summary

    return run


def held(store):
    return [store.term(row) for row in range(store.n_terms)]


@pytest.mark.parametrize("wrap", [plain, gzipped, packed])
@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_every_format_is_read_as_it_is_wrapped(importing, content, wrap):
    store, summary = importing(content, wrap=wrap)
    assert held(store) == [("en", "cat"), ("en", "dog")]
    assert store.vectors.tolist() == [pytest.approx([0.6, 0.8]), pytest.approx([0, -1])]
    assert (summary.languages, summary.skipped, summary.warnings) == ({"en": 2}, {}, ())
    assert (summary.dim, summary.version) == (2, store.version)


def test_terms_are_those_of_the_tokenizer_and_the_others_are_counted(importing):
    words = ["Cat", "cat", "dog", "42", "new_york", "l'été", "the", "λόγος", "café", "e\u0301te\u0301", ".", "covid-19"]
    content = "".join(f"{word} 1 {row}\n" for row, word in enumerate(words)).encode() + b"\xff\xfe 1 1\n. . . 1 2\n"
    store, summary = importing(content)
    assert [term for _, term in held(store)] == ["cat", "dog", "λόγοσ", "café", "été"]
    assert store.vectors[0] == pytest.approx([1, 0])  # Cat came before cat
    assert summary.skipped == {DUPLICATE: 1, NOT_ONE_WORD: 6, STOP_WORD: 1, NOT_UTF8: 1}


def test_numberbatch_keys_name_their_languages_and_are_sorted_into_them(importing):
    content = b"5 2\n/c/en/cat 1 0\n/c/fr/chat 0 1\n/c/en/dog 1 1\n/c/xx/foo 1 1\n/c/en/big_cat 1 1\n"
    store, summary = importing(content, language=None)
    assert sorted(held(store)) == [("en", "cat"), ("en", "dog"), ("fr", "chat")]
    assert store.vectors[store.term_id("fr", "chat")].tolist() == [0, 1]
    assert summary.skipped == {UNKNOWN_LANGUAGE: 1, NOT_ONE_WORD: 1}


def test_a_language_given_to_numberbatch_takes_that_one_alone(importing):
    store, summary = importing(b"2 2\n/c/en/cat 1 0\n/c/fr/chat 0 1\n", language="fr")
    assert (held(store), summary.skipped) == ([("fr", "chat")], {OTHER_LANGUAGE: 1})


def test_words_without_a_language_need_one_and_the_error_says_how(importing):
    with pytest.raises(BadInput, match=r"line 2: the word 'cat' does not name its language.*--lang.*en=file"):
        importing(WORD2VEC, language=None)
    with pytest.raises(UnknownLanguage):
        importing(WORD2VEC, language="xx")


def test_the_first_usable_words_of_each_language_are_kept(importing):
    store, summary = importing(b"4 2\nthe 1 0\ncat 1 0\ndog 1 1\ncow 0 1\n", max_terms_per_language=2)
    assert held(store) == [("en", "cat"), ("en", "dog")]
    assert summary.skipped == {STOP_WORD: 1, OVER_MAX: 1}


def test_a_file_is_not_read_further_than_it_is_needed(importing):
    rows = b"".join(
        b"%s 1 2\n" % bytes([97 + row // 26 // 26, 97 + row // 26 % 26, 97 + row % 26]) for row in range(4096)
    )
    assert importing(rows + b"broken\n", language="eo", max_terms_per_language=9)[0].n_terms == 9


def test_several_files_become_one_store(tmp_path):
    (tmp_path / "en").write_bytes(GLOVE)
    (tmp_path / "fr").write_bytes(b"1 2\nchat 3 4\n")
    seen = []
    summary = import_embeddings(
        [VectorSource(tmp_path / "en", "en"), VectorSource(tmp_path / "fr", "fr")],
        tmp_path / "store",
        progress=lambda done, total, description: seen.append((done, total, description)),
    )
    assert held(Embeddings.open(tmp_path / "store")) == [("en", "cat"), ("en", "dog"), ("fr", "chat")]
    assert summary.languages == {"en": 2, "fr": 1}
    assert seen == [(2, None, "importing en"), (1, 1, "importing fr"), (1, 1, "imported")]


def test_many_blocks_keep_words_and_vectors_together(importing):
    words = [a + b + c for a in "abcdefghijklmnop" for b in "abcdefghijklmnop" for c in "bcdfghjklmnpqrst"]
    content = "".join(f"{word}x {row + 1} 1\n" for row, word in enumerate(words)).encode()
    store, _ = importing(content, language="eo")
    for row in (0, 2047, 2048, 4095):
        kept = store.vectors[store.term_id("eo", words[row] + "x")]
        assert kept == pytest.approx(np.array([row + 1, 1]) / np.hypot(row + 1, 1), abs=1e-6)


BROKEN = {
    "a word for a number": (b"2 2\ncat 3 4\ndog 0 x\n", r"file, line 3: 'x' is not a number"),
    "a number too few": (b"2 2\ncat 3 4\ndog 0\n", r"file, line 3: 'dog 0' has 1 numbers, not 2"),
    "a number too many": (b"2 2\ncat 3 4\ndog 0 1 2\n", r"file, line 3: 'dog 0 1 2' has 3 numbers, not 2"),
    "a number too few without a header": (b"cat 3 4\ndog 0\n", r"file, line 2: 'dog 0' has 1 numbers, not 2"),
    "NaN": (b"2 2\ncat 3 4\ndog nan 1\n", r"file, line 3: .*NaN"),
    "infinity": (b"2 2\ncat 3 4\ndog 1 -inf\n", r"file, line 3: .*infinity"),
    "a number beyond float32": (b"2 2\ncat 3 4\ndog 1e99 1\n", r"file, line 3: .*infinity"),
    "a zero vector": (b"2 2\ncat 0 0\ndog 1 1\n", r"file, line 2: .*zeros"),
    "an empty line": (b"2 2\ncat 3 4\n\ndog 1 1\n", r"file, line 3: the line is empty"),
    "fewer rows than promised": (b"3 2\ncat 3 4\ndog 1 1\n", r"file, after row 2: .*says 3 rows, but there are 2"),
    "more rows than promised": (b"1 2\ncat 3 4\ndog 1 1\n", r"file, line 3: .*says 1 rows, but there are more"),
    "a row where none is promised": (b"0 2\ncat 3 4\n", r"file, line 2: .*says 0 rows"),
    "binary: fewer rows": (BINARY.replace(b"2 2", b"3 2"), r"file, word 3: .*says 3 rows, but there are 2"),
    "binary: cut in a vector": (BINARY[:-1], r"file, word 2: .*says 2 rows, but there are 1"),
    "binary: cut in a word": (BINARY[:18], r"file, word 2: .*says 2 rows, but there are 1"),
    "binary: more rows": (BINARY.replace(b"2 2", b"1 2"), r"file, after word 1: .*there are more"),
    "binary: NaN": (b"1 2\ncat " + struct.pack("<2f", 1, np.nan), r"file, word 1 \('cat'\): .*NaN"),
    "binary: a zero vector": (b"1 2\ncat " + struct.pack("<2f", 0, 0), r"file, word 1 \('cat'\): .*zeros"),
    "binary: no spaces": (b"9 2\ncat " + bytes(9000), r"file, word 2: no word of at most 4096 bytes"),
    "an empty file": (b"", r"file is empty"),
    "a header alone": (b"0 300\n", r"file has no usable word \(it has no rows\)"),
    "dimension 0": (b"2 0\ncat\ndog\n", r"file, line 1: .*0 numbers"),
    "prose": (b"Dear diary,\ntoday\n", r"file, line 1: not an embedding"),
    "a fastText model": (struct.pack("<i", 793_712_314) + bytes(50), r"a fastText model; give the .vec"),
    "no usable word": (b"42 1 2\n. 3 4\n", r"file has no usable word \(2 entries that are not a word"),
}


@pytest.mark.parametrize("wrap", [plain, gzipped])
@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_with_its_line_and_leaves_nothing(importing, tmp_path, content, message, wrap):
    with pytest.raises(BadEmbeddings, match=message) as caught:
        importing(content, wrap=wrap)
    assert str(tmp_path / "file") in str(caught.value)
    assert re.search(r"fetch|remove|correct|give|check", str(caught.value))  # the cure
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("share", [0.5, 0.99])
@pytest.mark.parametrize("wrap", [gzipped, packed])
def test_a_truncated_archive_is_refused_and_leaves_nothing(importing, tmp_path, wrap, share):
    def cut(path, content):
        wrap(path, content)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])

    rows = np.random.default_rng(5).standard_normal((3000, 2))
    content = "".join(f"{'ab'[row % 2]}{chr(97 + row % 26)}{row} {x} {y}\n" for row, (x, y) in enumerate(rows)).encode()
    with pytest.raises(BadEmbeddings, match=r"file.*fetch"):
        importing(b"cat 1 2\n" + content, wrap=cut)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_files_of_different_dimensions_are_refused_by_both_names(tmp_path):
    (tmp_path / "en").write_bytes(GLOVE)
    (tmp_path / "fr").write_bytes(b"1 3\nchat 3 4 5\n")
    with pytest.raises(BadEmbeddings, match=r"/en has 2 dimensions and .*/fr has 3"):
        import_embeddings(
            [VectorSource(tmp_path / "en", "en"), VectorSource(tmp_path / "fr", "fr")], tmp_path / "store"
        )
    assert not (tmp_path / "store").exists()


def test_a_broken_word_that_is_not_wanted_harms_nobody(importing):
    assert importing(b"3 2\n42 0 0\nthe nan 1\ncat 1 1\n")[0].n_terms == 1


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_file_that_cannot_be_opened_is_refused(tmp_path, name):
    with pytest.raises(BadInput):
        import_embeddings([VectorSource(tmp_path / name, "en")], tmp_path / "store")


def test_ctrl_c_leaves_nothing(importing, tmp_path):
    def interrupt(done, total, description):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        importing(GLOVE, progress=interrupt)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_number_too_small_for_float32_is_0(importing):
    store, _ = importing(b"cat 1 0\ndog 1e-99 0.5\ncow 3 4\n")
    assert store.vectors.tolist() == [[1, 0], [0, 1], pytest.approx([0.6, 0.8])]
