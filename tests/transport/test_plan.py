import numpy as np
import ot
import pytest

from reranker.text.bags import WeightedBags
from reranker.transport import METHODS, Parameters, distances, transport
from tests.transport.conftest import NOTHING, bag, exact_cost


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.1, 0.001])
def test_the_plan_pays_the_distance_that_was_reported(table, random_bag, method, epsilon):
    query, document, parameters = random_bag(11), random_bag(17), Parameters(epsilon)
    found = transport(query, document, table, method, parameters)
    expected = distances(query, WeightedBags.join([document]), table, method, parameters)
    assert found.plan.shape == found.cost.shape == (11, 17)
    assert found.distance == (found.plan * found.cost).sum()
    assert found.distance == pytest.approx(expected.values[0], abs=2e-6)


@pytest.mark.parametrize(
    ("n_words", "shares"), [(11, (0.45, 0.35, 0.20)), (18, (0.425, 0.425, 0.15)), (30, (0.40, 0.50, 0.10))]
)
def test_the_parts_of_auto_pay_what_its_plan_pays(table, random_bag, n_words, shares):
    """Pair by pair: the shares of what each part's plan pays by its cost, the balanced plan by POT."""
    query, document = random_bag(n_words), random_bag(17)
    of_nearest, of_balanced, of_nbow = shares
    a, b, cosine = query.weights, document.weights, exact_cost(query, document, table) ** 2 / 2
    kernel = np.exp(-cosine / 0.1)
    nearest = a[:, None] * (kernel * b) / (kernel @ b)[:, None]
    balanced = ot.sinkhorn(a, b, cosine, 0.1, numItermax=50, stopThr=0, warn=False)
    x, y = table[query.term_ids].astype(np.float64), table[document.term_ids].astype(np.float64)
    whole_texts = 1 - (a @ x) @ (b @ y) / np.linalg.norm(a @ x) / np.linalg.norm(b @ y)
    nbow_cost = cosine * whole_texts / (a @ cosine @ b)
    plan = of_nearest * nearest + of_balanced * balanced + of_nbow * np.outer(a, b)
    paid = (of_nearest * nearest + of_balanced * balanced) * cosine + of_nbow * np.outer(a, b) * nbow_cost
    found = transport(query, document, table, "auto")
    np.testing.assert_allclose(found.plan, plan, atol=1e-8)
    np.testing.assert_allclose(found.plan * found.cost, paid, atol=1e-8)
    assert found.distance == pytest.approx(paid.sum(), abs=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(20))
def test_no_cost_is_below_zero_and_no_pair_pays_more_than_the_distance(method, seed):
    """Words around one direction, as those of texts on one subject are: their means are nearer than most pairs."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(loc=[1.0, 0, 0, 0], size=(12, 4))
    table = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    query, document = bag([0, 1, 2], [0.5, 0.3, 0.2]), bag(range(3, 12), [1 / 9] * 9)
    found = transport(query, document, table, method)
    assert found.cost.min() >= 0
    assert (found.plan * found.cost).max() <= found.distance


def test_by_nbow_a_nearer_word_costs_less(circle):
    """Query 0°, document 60° and 90° by halves: 1 - cosine is 0.5 and 1, the means are 75° apart."""
    found = transport(bag([0], [1.0]), bag([1, 2], [0.5, 0.5]), circle, "nbow")
    scale = (1 - np.cos(np.radians(75))) / 0.75
    np.testing.assert_allclose(found.cost, [[0.5 * scale, scale]], atol=1e-6)


@pytest.mark.parametrize("method", [method for method in METHODS if method not in ("nbow", "auto")])
def test_the_cost_is_the_ground_cost(table, random_bag, method):
    query, document = random_bag(11), random_bag(17)
    np.testing.assert_allclose(
        transport(query, document, table, method).cost, exact_cost(query, document, table), atol=1e-7
    )


@pytest.mark.parametrize("method", ["nbow", "emd", "sinkhorn", "relaxed", "auto"])
def test_all_mass_of_each_query_word_goes_somewhere(table, random_bag, method):
    query, document = random_bag(11), random_bag(17)
    found = transport(query, document, table, method)
    np.testing.assert_allclose(found.plan.sum(axis=1), query.weights, rtol=1e-9)
    assert (found.plan >= 0).all()


def test_the_plan_of_sinkhorn_is_that_of_pot(table, random_bag):
    query, document = random_bag(11), random_bag(17)
    expected = ot.sinkhorn(
        query.weights, document.weights, exact_cost(query, document, table), 0.1, numItermax=50, stopThr=0, warn=False
    )
    np.testing.assert_allclose(transport(query, document, table, "sinkhorn").plan, expected, atol=1e-8)


def test_the_plan_of_rwmd_is_the_dearer_side(circle):
    """Document side as worked in test_closed_forms: 60° and 180° both from 90°, the second word of the query."""
    found = transport(bag([0, 2], [0.5, 0.5]), bag([1, 3], [0.25, 0.75]), circle, "rwmd")
    assert found.plan.tolist() == [[0, 0], [0.25, 0.75]]
    found = transport(bag([0, 2], [0.5, 0.5]), bag([1], [1.0]), circle, "rwmd")
    assert found.plan.tolist() == [[0.5], [0.5]]


def test_a_document_without_words_is_at_infinity(table, random_bag):
    found = transport(random_bag(3), NOTHING, table)
    assert found.plan.shape == found.cost.shape == (3, 0)
    assert found.distance == np.inf
