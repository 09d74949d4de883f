"""Mean embeddings of many bags in one pass are those of each bag by its formula."""

import numpy as np
import pytest

from reranker.text.bags import WeightedBags
from reranker.transport import transport
from reranker.transport.nbow import mean_embeddings
from tests.transport.conftest import bag, distances

LENGTHS = [*range(1, 12), 40, 399, 0, 7]


def by_formula(documents, table):
    rows = []
    for place in range(len(documents)):
        mean = documents[place].weights @ table[documents[place].term_ids].astype(np.float64)
        rows.append(mean / np.linalg.norm(mean) if len(documents[place]) else mean)
    return np.array(rows)


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(k) if k else bag([], []) for k in LENGTHS])


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dim", [20, 16, 3])
def test_each_row_is_the_weighted_mean_of_length_1(table, documents, n_threads, dim):
    rows = np.ascontiguousarray(table[:, :dim])
    found = mean_embeddings(documents, rows, n_threads)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_formula(documents, rows), atol=2e-7)
    assert not found[LENGTHS.index(0)].any()


@pytest.mark.parametrize("term_ids", [[0, 0, 1], [0, 1, 0], [1, 0, 0]])
def test_what_rounding_leaves_of_a_mean_that_cancels_out_has_no_direction(term_ids, implementation):
    """0.1 + 0.2 - 0.3 is 3e-17, 0 or -6e-17 by the order of the words."""
    rows = np.array([[1.0], [-1.0]], dtype=np.float32)
    weights = {(0, 0, 1): [0.1, 0.2, 0.3], (0, 1, 0): [0.1, 0.3, 0.2], (1, 0, 0): [0.3, 0.1, 0.2]}[tuple(term_ids)]
    document = WeightedBags.join([bag(term_ids, (np.array(weights) / 0.6).tolist())])
    found = distances(bag([0], [1.0]), document, rows, "nbow", implementation=implementation)
    assert found.values == [1.0]
    assert transport(bag([0], [1.0]), document[0], rows, "nbow").distance == pytest.approx(1.0, abs=1e-15)


def test_the_distances_of_a_thousand_long_bags_are_exact_to_1e_7(table, random_bag):
    query, documents = random_bag(30), WeightedBags.join([random_bag(300) for _ in range(1000)])
    mean = query.weights @ table[query.term_ids].astype(np.float64)
    expected = 1 - by_formula(documents, table) @ (mean / np.linalg.norm(mean))
    np.testing.assert_allclose(distances(query, documents, table, "nbow", n_threads=2).values, expected, atol=1e-7)
