"""Document frequencies and the weights that follow."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.text.bags import BagOfWords, WeightedBags
from reranker.text.idf import DocumentFrequencies, FrequencyCounter, IdfTable

IDS = st.integers(0, 2**31 - 1)


def bag(**counts):
    ids = {"a": 0, "b": 1, "c": 5000}
    known = sorted((ids[word], count) for word, count in counts.items())
    return BagOfWords(np.array([i for i, _ in known], np.int32), np.array([n for _, n in known], np.int32))


def frequencies():
    return DocumentFrequencies.count([bag(a=3), bag(a=1, b=2), bag(a=1), bag()])


def test_documents_are_counted_once_a_term_however_often_it_stands_there():
    counted = frequencies()
    assert counted.n_documents == 4
    assert dict(zip(counted.term_ids.tolist(), counted.counts.tolist(), strict=True)) == {0: 3, 1: 1}


def test_idf_is_smoothed_as_in_the_paper():
    found = frequencies().idf(np.array([0, 1, 5000], np.int32))
    assert found == pytest.approx([log(5 / 4), log(5 / 2), log(5 / 1)])


@given(st.dictionaries(st.sampled_from(["en", "fr", "el"]), st.dictionaries(IDS, st.integers(0, 2**31 - 1))))
def test_a_packed_table_comes_back_with_all_its_numbers(languages):
    table = IdfTable({name: of_counts(n, counts) for n, (name, counts) in enumerate(languages.items())})
    found = IdfTable.unpacked(table.packed())
    assert found.version == table.version
    assert list(found.languages) == list(table.languages)
    for one in found.languages.values():
        assert one.term_ids.dtype == one.counts.dtype == np.int32


def of_counts(n_documents, counts):
    term_ids = np.array(sorted(counts), np.int32)
    return DocumentFrequencies(n_documents, term_ids, np.array([counts[one] for one in term_ids.tolist()], np.int32))


def test_weights_are_tf_times_idf_and_sum_to_one():
    weighted = IdfTable({"en": frequencies()}).weigh(bag(a=2, b=1), "en")
    a, b = 2 * log(5 / 4), log(5 / 2)
    assert weighted.weights == pytest.approx([a / (a + b), b / (a + b)])
    assert weighted.weights.sum() == pytest.approx(1.0)


def test_a_term_of_every_document_weighs_nothing_and_is_left_out():
    table = IdfTable({"en": DocumentFrequencies.count([bag(a=1), bag(a=1, b=1)])})
    assert table.weigh(bag(a=5, b=1), "en").term_ids.tolist() == [1]


def test_where_every_idf_is_zero_the_weights_are_tf():
    table = IdfTable({"en": DocumentFrequencies.count([bag(a=1, b=3)])})
    assert table.weigh(bag(a=1, b=3), "en").weights == pytest.approx([0.25, 0.75])


def test_a_language_without_figures_is_weighed_by_tf():
    assert IdfTable({"en": frequencies()}).weigh(bag(a=1, b=1), "fr").weights == pytest.approx([0.5, 0.5])


def test_an_empty_bag_stays_empty():
    assert len(IdfTable().weigh(bag(), "en")) == 0


def test_a_large_term_id_is_counted():
    counted = DocumentFrequencies.count([bag(c=1), bag(a=1)])
    assert counted.term_ids.tolist() == [0, 5000]


def test_the_version_changes_with_the_figures_and_with_them_alone():
    one = IdfTable({"en": frequencies()})
    assert one.version == IdfTable({"en": frequencies()}).version
    assert one.version != IdfTable({"fr": frequencies()}).version
    assert one.version != IdfTable({**one.languages, "fr": frequencies()}).version


def test_bags_weighed_together_have_the_weights_by_hand() -> None:
    table = IdfTable({"en": frequencies(), "fr": DocumentFrequencies.count([bag(a=1), bag(a=2)])})
    # en: a in 3 of 4 documents, b in 1. fr: a in both, so that it has no weight but where it is alone. el: no figures.
    bags = [(bag(a=2, b=1), "en"), (bag(), "en"), (bag(a=1, c=3), "fr"), (bag(a=4), "fr"), (bag(a=1, b=3), "el")]
    found = table.weigh_all(bags)
    a, b = 2 * log(5 / 4), log(5 / 2)
    assert found.offsets.tolist() == [0, 2, 2, 3, 4, 6]
    assert found.term_ids.tolist() == [0, 1, 5000, 0, 0, 1]
    assert found.weights == pytest.approx([a / (a + b), b / (a + b), 1.0, 1.0, 0.25, 0.75])


def test_no_bags_weighed_together_are_none() -> None:
    assert len(IdfTable().weigh_all([])) == 0


@given(data=st.data(), languages=st.sampled_from(["en", "en fr", "en fr el"]))
def test_bags_weighed_together_have_the_bits_of_those_weighed_alone(data: st.DataObject, languages: str) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))

    def some_bag() -> BagOfWords:
        n_terms = data.draw(st.sampled_from([0, 1, 7, 8, 9, 30, 127, 128, 129, 300]))  # sums go in steps of 8 and 128
        term_ids = np.sort(rng.choice(400, n_terms, replace=False)).astype(np.int32)
        return BagOfWords(term_ids, rng.integers(1, 9, n_terms).astype(np.int32))

    bags = [(some_bag(), data.draw(st.sampled_from(languages.split()))) for _ in range(data.draw(st.integers(1, 6)))]
    counted = np.array([0, 3, 5, 20, *range(50, 350)], np.int32)
    df = rng.integers(1, 20, len(counted)).astype(np.int32)
    df[::7] = 20  # terms of every document
    table = IdfTable(
        {"en": DocumentFrequencies(20, counted, df), "fr": DocumentFrequencies(20, counted, df[::-1].copy())}
    )
    alone = WeightedBags.join([table.weigh(bag, language) for bag, language in bags])
    together = table.weigh_all(bags)
    for name in ("term_ids", "weights", "offsets"):
        assert getattr(together, name).tobytes() == getattr(alone, name).tobytes()
        assert getattr(together, name).dtype == getattr(alone, name).dtype


def test_counting_takes_documents_one_after_another() -> None:
    counter = FrequencyCounter()
    for ids in ([1], [], [0, 5_000], [1, 2]):
        counter.add(BagOfWords(np.array(ids, np.int32), np.ones(len(ids), np.int32)))
    found = counter.result()
    assert (found.n_documents, found.term_ids.tolist(), found.counts.tolist()) == (4, [0, 1, 2, 5_000], [1, 2, 1, 1])
