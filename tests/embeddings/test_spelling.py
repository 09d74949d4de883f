"""Words without an embedding: the nearest spelling of their language, and the same spelling in another."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from reranker.base.errors import BadEmbeddings
from reranker.embeddings import Embeddings
from reranker.embeddings.spelling import SPELLINGS, Spellings, spelling_entries
from reranker.embeddings.vocabulary import LANGUAGES as PLACES
from reranker.embeddings.vocabulary import SLOTS, TERM_BYTES, TERM_OFFSETS, Vocabulary, VocabularyBuilder
from tests.support.tiny import write_words

MIN_LETTERS = 4  # docs/methods.md
WORDS = {
    "en": ["printer", "painter", "pointed", "house", "mouse", "horse", "cat", "at", "transition", "table"],
    "fr": ["imprimante", "maison", "transition", "chat", "garçon", "table"],
    "el": ["λόγοσ", "λόγοι", "δρόμοσ", "εκτυπωτήσ"],
}
# Dictionaries by size: en 10, fr 6, el 4. Term ids run on from language to language.
IDS = {(code, word): term_id for term_id, (code, word) in enumerate((c, w) for c, ws in WORDS.items() for w in ws)}


def index(words):
    """The index of a vocabulary that lies in memory."""
    builder = VocabularyBuilder()
    for code, terms in words.items():
        for term in terms:
            builder.add(code, term)
    arrays = builder.arrays()
    vocabulary = Vocabulary(list(builder.counts), *(arrays[name] for name in (TERM_BYTES, TERM_OFFSETS, PLACES, SLOTS)))
    return Spellings(vocabulary, spelling_entries(vocabulary))


@pytest.fixture(scope="module")
def spellings():
    return index(WORDS)


@pytest.fixture
def store(tmp_path):
    return write_words(tmp_path / "store", WORDS)


short = st.text("abcλς\U0001d4b6", min_size=1, max_size=6)


@given(st.lists(short, min_size=1, max_size=40, unique=True), st.lists(short, max_size=10, unique=True), short)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_term_found_is_the_first_of_those_that_comparing_with_all_terms_finds(ours, theirs, word):
    words = {"fr": theirs, "en": ours} if theirs else {"en": ours}
    neighbours = [row for row, term in enumerate(ours) if Levenshtein.distance(term, word) == 1]
    expected = len(theirs) + neighbours[0] if neighbours and len(word) >= MIN_LETTERS else None
    assert index(words).nearest("en", word) == expected


def edits(word, alphabet):
    """All words that are one letter away, by making them (Norvig 2007)."""
    parts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    less = {first + rest[1:] for first, rest in parts if rest}
    other = {first + letter + rest[1:] for first, rest in parts if rest for letter in alphabet}
    more = {first + letter + rest for first, rest in parts for letter in alphabet}
    return less | other | more


def test_among_thousands_of_terms_the_one_found_is_the_first_of_those_that_making_all_edits_finds():
    rng = Random(3)
    terms = rng.sample(["".join(letters) for letters in product("abcd", repeat=7)], 5_000)
    ids = {term: term_id for term_id, term in enumerate(terms)}
    spellings = index({"en": terms})
    words = ["".join(rng.choices("abcde", k=rng.randint(6, 8))) for _ in range(500)]
    unknown = [word for word in words if word not in ids]
    expected = [min((ids[near] for near in edits(word, "abcd") if near in ids), default=None) for word in unknown]
    assert 100 < sum(one is not None for one in expected) < len(unknown)
    assert [spellings.nearest("en", word) for word in unknown] == expected


def test_a_cut_index_is_refused_by_name(store):
    np.save(store.path / SPELLINGS, np.load(store.path / SPELLINGS)[:-1])
    with pytest.raises(BadEmbeddings, match=SPELLINGS):
        Embeddings.open(store.path).stand_ins("en", "priner")


def test_an_index_of_nonsense_finds_no_wrong_term(store):
    nonsense = np.load(store.path / SPELLINGS) | np.uint64(0xFFFFFFF0)
    assert Spellings(store.vocabulary, nonsense).nearest("en", "priner") is None


def test_a_word_takes_the_same_spelling_of_another_language_or_the_nearest_of_its_own(store):
    assert store.stand_ins("en", "maison") == (IDS["fr", "maison"],)
    assert store.stand_ins("en", "priner") == (IDS["en", "printer"],)
    assert store.stand_ins("fr", "tablee") == (IDS["fr", "table"],)
    assert store.stand_ins("en", "zebra") == ()


def test_a_known_word_takes_its_own_embedding_and_one_of_a_language_that_is_not_held_none(store):
    assert store.stand_ins("fr", "transition") == (IDS["fr", "transition"],)
    assert store.stand_ins("de", "maison") == ()


def test_the_same_spelling_comes_before_the_nearest(tmp_path):
    store = write_words(tmp_path / "s", {"en": ["maisons", "b"], "fr": ["maison"]})
    assert store.stand_ins("en", "maison") == (2,)


def test_of_the_same_spelling_in_two_languages_the_larger_dictionary_counts(tmp_path):
    store = write_words(
        tmp_path / "s", {"en": ["a"], "fr": ["maison"], "el": ["β", "maison"], "de": ["maison", "haus"]}
    )
    # el and de have two terms each: the first of the store is taken.
    assert store.stand_ins("en", "maison") == (3,)


def test_a_bag_adds_up_the_tokens_that_take_one_term(store):
    tokens = ["printer", "priner", "printers", "printers", "zebra", "maison"]
    bag = store.bag_of_tokens(tokens, "en")
    assert (bag.term_ids.tolist(), bag.counts.tolist(), bag.n_unknown) == ([0, IDS["fr", "maison"]], [4, 1], 1)
