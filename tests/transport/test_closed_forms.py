"""nbow, rwmd and emd, by hand on the circle and against POT."""

import numpy as np
import ot
import pytest

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import METHODS
from tests.transport.conftest import bag, distances, exact_cost

CHORD_30 = 2 * np.sin(np.radians(15))


def test_nbow_is_one_less_the_cosine_of_the_weighted_means(circle, implementation):
    """Query: half 0°, half 90°, mean at 45°; documents: 90°, 180°, and 0° against 180°, whose mean is 0."""
    documents = WeightedBags.join([bag([2], [1.0]), bag([3], [1.0]), bag([0, 3], [0.5, 0.5])])
    found = distances(bag([0, 2], [0.5, 0.5]), documents, circle, "nbow", implementation=implementation)
    np.testing.assert_allclose(found.values[:2], [1 - np.cos(np.radians(45)), 1 - np.cos(np.radians(135))], atol=1e-6)
    assert 0 <= found.values[2] <= 2


def test_rwmd_is_the_larger_of_both_sides(circle, implementation):
    """Query 0° and 90°; document 60° (0.25) and 180° (0.75).

    From the query: 0° to 60° is 1, 90° to 60° is a chord of 30°. To the document: 60° from 90°, 180° from 90° (sqrt 2).
    """
    from_query = 0.5 * 1 + 0.5 * CHORD_30
    to_document = 0.25 * CHORD_30 + 0.75 * 2**0.5
    documents = WeightedBags.join([bag([1, 3], [0.25, 0.75]), bag([1], [1.0])])
    found = distances(bag([0, 2], [0.5, 0.5]), documents, circle, "rwmd", implementation=implementation)
    np.testing.assert_allclose(found.values, [max(from_query, to_document), from_query], rtol=1e-6)
    assert to_document > from_query  # so that each of the two sides decides once


def test_emd_by_hand(circle, implementation):
    """0° and 90° to 0° and 60°: the half on 0° stays, the half on 90° goes a chord of 30°."""
    documents = WeightedBags.join([bag([0, 1], [0.5, 0.5])])
    found = distances(bag([0, 2], [0.5, 0.5]), documents, circle, "emd", implementation=implementation)
    np.testing.assert_allclose(found.values, [0.5 * CHORD_30], rtol=1e-6)


def test_emd_is_that_of_pot(table, random_bag, implementation):
    query, documents = random_bag(25), [random_bag(k) for k in (1, 2, 30, 150)]
    expected = [ot.emd2(query.weights, d.weights, exact_cost(query, d, table)) for d in documents]
    found = distances(query, WeightedBags.join(documents), table, "emd", n_threads=2, implementation=implementation)
    np.testing.assert_allclose(found.values, expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd"])
def test_a_document_equal_to_the_query_is_at_distance_zero(table, random_bag, method, implementation):
    query = random_bag(40)
    found = distances(query, WeightedBags.join([query]), table, method, implementation=implementation)
    np.testing.assert_allclose(found.values, [0], atol=3e-7)


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd"])
def test_closed_forms_are_converged_without_error(table, random_bag, method, implementation):
    found = distances(random_bag(5), WeightedBags.join([random_bag(9)]), table, method, implementation=implementation)
    assert found.converged.all()
    assert (found.marginal_error == 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_words_and_of_documents_is_of_no_account(table, random_bag, method, implementation):
    random = np.random.default_rng(2)
    query, documents = random_bag(23), [random_bag(k) for k in (1, 6, 41, 80)]

    def shuffled(one: WeightedBag) -> WeightedBag:
        order = random.permutation(len(one))
        return WeightedBag(one.term_ids[order], one.weights[order])

    straight = distances(query, WeightedBags.join(documents), table, method, implementation=implementation)
    mixed = WeightedBags.join([shuffled(one) for one in documents[::-1]])
    other = distances(shuffled(query), mixed, table, method, implementation=implementation)
    np.testing.assert_allclose(other.values[::-1], straight.values, atol=1e-6)
