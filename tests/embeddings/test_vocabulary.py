"""The vocabulary: terms to ids and back, from files."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reranker.base.errors import BadEmbeddings
from reranker.embeddings.vocabulary import Vocabulary, VocabularyBuilder

TERMS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=12)
ENTRIES = st.lists(st.tuples(st.sampled_from(["en", "fr", "el"]), TERMS), unique=True, min_size=1, max_size=60)


def write(folder, entries):
    builder = VocabularyBuilder()
    for language, term in entries:
        builder.add(language, term)
    for name, values in builder.arrays().items():
        np.save(folder / name, values)
    return builder


def reopen(folder, builder):
    return Vocabulary.open(folder, list(builder.counts), len(builder), builder.n_term_bytes)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(entries=ENTRIES, absent=TERMS)
def test_every_term_is_found_under_its_language_and_no_other_is(tmp_path, entries, absent):
    vocabulary = reopen(tmp_path, write(tmp_path, entries))
    assert [vocabulary.find(language, term) for language, term in entries] == list(range(len(entries)))
    assert [vocabulary.term(term_id) for term_id in range(len(entries))] == entries
    for language in ("en", "fr", "el", "fi"):
        if (language, absent) not in entries:
            assert vocabulary.find(language, absent) == -1


def test_no_term_is_found_under_another_language_wherever_it_hashes_to(tmp_path):
    for number in range(40):  # two terms have four slots: every fourth of these falls on the other's place
        vocabulary = reopen(tmp_path, write(tmp_path, [("en", f"term{number}"), ("fr", "chat")]))
        assert vocabulary.find("fr", f"term{number}") == -1


def test_an_id_that_is_not_there_is_an_index_error(tmp_path):
    vocabulary = reopen(tmp_path, write(tmp_path, [("en", "cat")]))
    for term_id in (-1, 1):
        with pytest.raises(IndexError, match="not in 0 to 0"):
            vocabulary.term(term_id)


def test_half_a_surrogate_pair_is_an_unknown_term_to_find_and_refused_to_add(tmp_path):
    assert reopen(tmp_path, write(tmp_path, [("en", "cat")])).find("en", "\ud800") == -1
    with pytest.raises(BadEmbeddings, match="not Unicode"):
        VocabularyBuilder().add("en", "\ud800")


def test_an_empty_term_is_refused():
    with pytest.raises(BadEmbeddings, match="is empty"):
        VocabularyBuilder().add("en", "")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("term_offsets.npy", np.array([0, 9, 6], dtype=np.int64)),
        ("slots.npy", np.array([1, 9, 0, 0], dtype=np.uint32)),
        ("slots.npy", np.array([1, 2, 1, 2], dtype=np.uint32)),
        ("languages.npy", np.array([0, 7], dtype=np.uint8)),
    ],
    ids=["offsets that go back", "a slot beyond the terms", "no empty slot", "a language beyond the list"],
)
def test_files_that_disagree_are_refused_on_opening(tmp_path, name, values):
    builder = write(tmp_path, [("en", "cat"), ("en", "dog")])
    np.save(tmp_path / name, values)
    with pytest.raises(BadEmbeddings, match="damaged"):
        reopen(tmp_path, builder)
