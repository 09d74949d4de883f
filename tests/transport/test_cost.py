import numpy as np
import pytest

from reranker.base.errors import BadEmbeddings
from reranker.text.bags import WeightedBags
from reranker.transport import Parameters
from reranker.transport.cost import ground_cost
from reranker.transport.cost_table import cost_table
from tests.transport.conftest import bag, distances, exact_cost


def test_the_cost_is_the_chord_between_two_vectors(circle):
    cost = ground_cost(np.array([0, 2]), np.array([0, 1, 2, 3]), circle)
    np.testing.assert_allclose(cost, [[0, 1, 2**0.5, 2], [2**0.5, 2 * np.sin(np.radians(15)), 0, 2**0.5]], atol=1e-6)


def test_the_cosine_cost_is_one_less_the_cosine(circle, implementation):
    expected = [[0, 0.5, 1, 2], [1, 1 - np.cos(np.radians(30)), 0, 1]]
    cost = ground_cost(np.array([0, 2]), np.array([0, 1, 2, 3]), circle, "cosine")
    np.testing.assert_allclose(cost, expected, atol=1e-6)
    found = distances(
        bag([0], [1.0]),
        WeightedBags.join([bag([k], [1.0]) for k in range(4)]),
        circle,
        "emd",
        Parameters(cost="cosine"),
        implementation=implementation,
    )
    np.testing.assert_allclose(found.values, expected[0], atol=1e-6)


@pytest.mark.parametrize("n", [1, 16, 17, 37, 64, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ground_cost", ["euclidean", "cosine"])
def test_the_table_of_costs_is_the_cost_by_definition(table, random_bag, dtype, ground_cost, n):
    """Query words fill one register, several, or a part of one."""
    query, document = random_bag(n), random_bag(300)
    cost = cost_table(query.term_ids, document.term_ids, table, np.dtype(dtype), 2, ground_cost)[:, : len(query)].T
    chord = exact_cost(query, document, table)
    tolerance = 2e-6 if dtype == np.float32 else 1e-14
    np.testing.assert_allclose(cost, chord if ground_cost == "euclidean" else chord**2 / 2, atol=tolerance)
    assert (cost[query.term_ids[:, None] == document.term_ids] == 0).all()


@pytest.mark.parametrize("ground_cost", ["euclidean", "cosine"])
@pytest.mark.parametrize("method", ["rwmd", "sinkhorn"])
def test_near_vectors_have_a_cost_as_exact_as_far_ones(implementation, ground_cost, method):
    """sqrt(2 - 2g) in float32 gives 0 or 3e-4 or 5e-4 here, whichever way g was rounded; 1 - g a multiple of 6e-8."""
    random = np.random.default_rng(3)
    x = random.standard_normal(300)
    rows = np.array([x, x + 3e-4 * random.standard_normal(300) * np.linalg.norm(x) / 300**0.5])
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    chord = np.linalg.norm(rows[0].astype(np.float64) - rows[1].astype(np.float64))
    assert 2e-4 < chord < 4e-4
    one, other, parameters = bag([0], [1.0]), WeightedBags.join([bag([1], [1.0])]), Parameters(cost=ground_cost)
    found = distances(one, other, rows, method, parameters, implementation=implementation)
    np.testing.assert_allclose(found.values, [chord if ground_cost == "euclidean" else chord**2 / 2], rtol=1e-5)


def test_the_same_term_on_both_sides_costs_exactly_nothing(table, implementation):
    """Any row times itself in float32 is 1 ± 1e-7, which would be a cost of 3e-4."""
    bags = [bag([term], [1.0]) for term in range(100)]
    for one in bags:
        found = distances(one, WeightedBags.join([one]), table, "sinkhorn", implementation=implementation)
        assert found.values[0] == 0.0


def test_equal_vectors_under_two_ids_cost_nothing(circle, implementation):
    found = distances(
        bag([5], [1.0]), WeightedBags.join([bag([6], [1.0])]), circle, "rwmd", implementation=implementation
    )
    assert found.values[0] == 0.0


def test_an_embedding_that_is_not_finite_is_found_wherever_it_is(table, random_bag):
    for place in (0, 5, 299):
        document = bag(list(range(100, 400)), [1 / 300] * 300)
        broken = table.copy()
        broken[100 + place, 7] = np.inf
        with pytest.raises(BadEmbeddings, match=f"term {100 + place} "):
            cost_table(np.array([0, 1], np.int32), document.term_ids, broken, np.dtype(np.float32), 2)
