"""Stores that are joined, words that a sentence encoder encodes, and translations that are moved together."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import ortho_group

from ingest.embeddings.dictionaries import Pair
from ingest.embeddings.encoded_words import encode_words
from ingest.embeddings.joining import join
from ingest.embeddings.retrofitting import links, retrofit
from ingest.embeddings.word_encoder import Encoder, WordVectors
from ingest.embeddings.word_frequencies import WordFrequencies
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings, EmbeddingsWriter
from tests.ingest.embeddings.test_dictionaries import WORDS

DIM = 5


def store(path, rows):
    """A store of rows by (language, term)."""
    with EmbeddingsWriter(path, dim=len(next(iter(rows.values()))), source=path.name) as writer:
        for (language, term), row in rows.items():
            writer.append(language, [term], np.array([row], dtype=float))
        writer.commit()
    return Embeddings.open(path)


def random_rows(language, n, seed):
    rows = np.random.default_rng(seed).standard_normal((n, DIM))
    return {(language, f"w{chr(97 + place)}"): row for place, row in enumerate(rows)}


def cosines(embeddings, *terms):
    rows = np.array([embeddings.vectors[embeddings.term_id(*term)] for term in terms])
    return rows @ rows.T


def joined(stores, output):
    """All terms of the stores, joined without a collection's words."""
    return join(stores, output, collection=WordFrequencies({}, {}), max_others=100)


def test_a_joined_cosine_is_the_mean_of_both(tmp_path):
    # In two of five dimensions each, so that five hold both stores whole.
    flat = [np.random.default_rng(seed).standard_normal((8, DIM)) * [1, 1, 0, 0, 0] for seed in (4, 5)]
    terms = [("en", f"w{chr(97 + place)}") for place in range(8)]
    first, second = (store(tmp_path / str(n), dict(zip(terms, rows, strict=True))) for n, rows in enumerate(flat))
    joined([first, second], tmp_path / "out")
    found = Embeddings.open(tmp_path / "out")
    expected = (cosines(first, *terms) + cosines(second, *terms)) / 2
    assert cosines(found, *terms) == pytest.approx(expected, abs=1e-5)


def test_joining_keeps_what_counts_in_fewer_dimensions(tmp_path):
    rows = random_rows("en", 12, seed=6)
    rotation = ortho_group.rvs(DIM, random_state=7)
    first = store(tmp_path / "a", rows)
    second = store(tmp_path / "b", {term: row @ rotation for term, row in rows.items()})
    joined([first, second], tmp_path / "out")  # both say the same, so that 5 dimensions hold all of it
    found = Embeddings.open(tmp_path / "out")
    assert found.dim == DIM
    assert cosines(found, *rows) == pytest.approx(cosines(first, *rows), abs=1e-5)


def test_a_term_of_one_store_lies_in_the_other_where_the_common_terms_let_expect(tmp_path):
    rows = random_rows("en", 20, seed=8)
    rotation = ortho_group.rvs(DIM, random_state=9)
    first = store(tmp_path / "a", rows)
    lacking = dict(list(rows.items())[:18])
    second = store(
        tmp_path / "b", {term: row @ rotation for term, row in lacking.items()} | {("fr", "x"): np.eye(DIM)[0]}
    )
    summary = joined([first, second], tmp_path / "out")
    found = Embeddings.open(tmp_path / "out")
    assert summary.languages == {"en": 20, "fr": 1}
    # The two that the second lacks lie to each other as in the first, which alone knows them.
    last = list(rows)[18:]
    assert cosines(found, *last) == pytest.approx(cosines(first, *last), abs=0.02)
    # And to the others about so; without a guess the cosine would be 1 / √2 of it.
    whole = cosines(first, *rows)[18, :18]
    assert np.abs(cosines(found, *rows)[18, :18] - whole).max() < 0.2


def test_joining_for_a_collection_keeps_its_words_and_some_others(tmp_path):
    rows = random_rows("en", 8, seed=4)
    first = store(tmp_path / "a", dict(list(rows.items())[:6]) | random_rows("fr", 3, seed=1))
    second = store(tmp_path / "b", dict(list(rows.items())[2:]))
    counts = WordFrequencies({"en": Counter({"wh": 5, "wc": 9, "unseen": 30})}, {"en": 40, "de": 2})
    summary = join([first, second], tmp_path / "out", collection=counts, max_others=2)
    found = Embeddings.open(tmp_path / "out")
    # The collection's, the most frequent first; then the first two others of each language.
    assert [found.term(n)[1] for n in range(4)] == ["wc", "wh", "wa", "wb"]
    assert summary.languages == {"en": 4, "fr": 2}
    assert found.idf.languages["en"].counts.tolist() == [9, 5]
    assert found.meta["n_documents"] == {"en": 40}


def test_retrofitting_by_hand():
    # Two words, each the other's only neighbour: q1 = (v1 + q2) / 2 and q2 = (v2 + q1) / 2, so q1 = (2 v1 + v2) / 3.
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    found = retrofit(vectors, links([(0, 1), (1, 0), (0, 0)], 3), n_iterations=40)
    assert found[0] == pytest.approx(np.array([2, 1]) / np.sqrt(5), abs=1e-5)
    assert found[1] == pytest.approx(np.array([1, 2]) / np.sqrt(5), abs=1e-5)
    assert found[2].tolist() == pytest.approx([0.6, 0.8])  # it has no neighbour


def test_a_word_of_many_translations_is_drawn_to_their_mean():
    vectors = np.array([[1, 0], [0, 1], [0, -1]], dtype=np.float32)
    found = retrofit(vectors, links([(0, 1), (0, 2)], 3), n_iterations=1)
    assert found[0].tolist() == [1, 0]  # half of itself, and the two others cancel out


class FakeEncoder:
    """Gives each word a direction of its own, and counts what it is asked."""

    def __init__(self):
        self.asked = []

    def encode(self, words):
        self.asked += words
        return np.stack([np.random.default_rng(sum(map(ord, word))).standard_normal(32) for word in words]).astype("f4")

    def __call__(self, name="fake 1"):
        return Encoder(name, 32, self.encode)


@pytest.fixture
def fake():
    return FakeEncoder()


def test_of_each_language_the_most_frequent_words_are_encoded(tmp_path, fake):
    counts = WordFrequencies(
        {"en": Counter({"cat": 3, "dog": 2, "car": 1}), "fr": Counter({"chat": 5})}, {"en": 4, "fr": 5}
    )
    with WordVectors(tmp_path / "words", fake()) as words:
        summary = encode_words([], words, tmp_path / "out", collection=counts, max_words=3)
    # One of each language is 2 words, two would be 3: cat, dog and chat.
    assert summary.languages == {"en": 2, "fr": 1}
    assert summary.skipped == {"rarer words than are encoded": 1}
    assert sorted(fake.asked) == ["cat", "chat", "dog"]


def test_translations_of_the_collections_words_come_before_other_words_of_a_language(tmp_path, fake):
    counts = WordFrequencies({"en": Counter({"cat": 3, "dog": 2})}, {"en": 3})
    pairs = [Pair(("fr", "aigle"), ("en", word)) for word in ("eagle", "bird", "kite")] + [
        Pair(("fr", "chat"), ("en", "cat"))
    ]
    with WordVectors(tmp_path / "words", fake()) as words:
        for name, limit, expected in (("all", 9, {"chat", "aigle"}), ("few", 2, {"chat"})):
            encode_words(
                pairs,
                words,
                tmp_path / name,
                collection=counts,
                max_words=limit,
                whole_languages=["fr"],
            )
            built = Embeddings.open(tmp_path / name)
            assert {built.term(term_id)[1] for term_id in built.vocabulary.term_ids("fr").tolist()} == expected


def test_a_word_is_encoded_once_by_one_encoder(tmp_path, fake):
    with WordVectors(tmp_path / "deep" / "words", fake()) as words:
        first = words.encode(["cat", "chat", "cat"])
    with WordVectors(tmp_path / "deep" / "words", fake()) as words:
        again = words.encode(["chat", "dog"])
    assert fake.asked == ["cat", "chat", "dog"]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(first[1], again[0])
    with WordVectors(tmp_path / "deep" / "words", fake("fake 2")) as words:
        words.encode(["cat"])
    assert fake.asked[-1] == "cat"


def test_encoding_that_is_broken_off_goes_on_where_it_was(tmp_path, fake):
    words = [f"word{n}" for n in range(3_000)]

    def stop(done, total, description):
        if done >= 1_024:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), WordVectors(tmp_path / "words", fake()) as kept:
        kept.encode(words, stop)
    assert len(fake.asked) == 1_024
    with WordVectors(tmp_path / "words", fake()) as kept:
        kept.encode(words)
    assert sorted(fake.asked) == sorted(words)  # none of them twice


def test_a_file_that_holds_something_else_is_no_cache(tmp_path, fake):
    (tmp_path / "words").write_text("dear diary " * 100)
    with pytest.raises(BadInput, match="delete it"):
        WordVectors(tmp_path / "words", fake())


PAIRS = [Pair(("en", word), ("fr", translation)) for word, translation in WORDS.items()]


def test_translations_are_drawn_together_and_a_collection_says_what_is_wanted(tmp_path, fake):
    counts = {"en": Counter({"cat": 2, "unicorn": 1, "bread": 1}), "de": Counter({"katze": 1})}
    collection = WordFrequencies(counts, {"en": 2, "de": 1}).only(["en", "fr"])
    with WordVectors(tmp_path / "words", fake()) as words:
        encode_words(PAIRS, words, tmp_path / "store", collection=collection)
    found = Embeddings.open(tmp_path / "store")
    # The words of the collection, the frequent first, and of the dictionary what translates them.
    assert [term for _, term in found.vocabulary.terms("en")] == ["cat", "bread", "unicorn"]
    assert sorted(term for _, term in found.vocabulary.terms("fr")) == ["chat", "pain"]
    assert found.nearest("cat", "en", "fr", 1)[0][1] == "chat"
    english = found.idf.languages["en"]
    assert (english.n_documents, english.counts.tolist()) == (2, [2, 1, 1])


@pytest.mark.parametrize(("n_words", "is_taken_off"), [(300, True), (100, False)])
def test_the_direction_that_all_words_of_a_language_share_is_taken_off(tmp_path, n_words, is_taken_off):
    # In 100 dimensions one direction goes, where there are more words than dimensions.
    random = np.random.default_rng(3)
    meanings = random.standard_normal((2 * n_words, 100)).astype(np.float32)
    meanings[:, 0] = 0
    common = np.zeros_like(meanings)
    common[:, 0] = 40 * random.standard_normal(2 * n_words)
    letters = [chr(97 + n // 26) + chr(97 + n % 26) for n in range(n_words)]
    pairs = [Pair(("en", f"x{each}"), ("fr", f"y{letters[(n + 1) % n_words]}")) for n, each in enumerate(letters)]
    words = {
        code: Counter(term for pair in pairs for language, term in pair if language == code) for code in ("en", "fr")
    }
    collection = WordFrequencies(words, {"en": 1, "fr": 1})
    with WordVectors(tmp_path / "words", Encoder("fake", 100, lambda words: meanings + common)) as vectors:
        encode_words(pairs, vectors, tmp_path / "store", collection=collection)
    rows = np.asarray(Embeddings.open(tmp_path / "store").vectors)
    assert (np.abs(rows[:, 0]).max() < 0.1) == is_taken_off


def test_a_greek_word_is_encoded_as_it_is_written(tmp_path, fake):
    with WordVectors(tmp_path / "words", fake()) as words:
        counts = WordFrequencies({"el": Counter({"λόγοσ": 1})}, {"el": 1})
        encode_words([], words, tmp_path / "store", collection=counts)
    assert "λόγος" in fake.asked


def test_documents_without_words_are_refused(tmp_path, fake):
    empty = WordFrequencies({}, {"en": 1})
    with WordVectors(tmp_path / "words", fake()) as words, pytest.raises(BadInput, match="no words to encode"):
        encode_words(PAIRS, words, tmp_path / "store", collection=empty)
