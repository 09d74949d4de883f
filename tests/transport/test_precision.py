"""Small epsilon, where float32 and then float64 run out of range, against double precision in the log domain."""

import numpy as np
import ot
import pytest
from scipy.special import logsumexp

from reranker.text.bags import WeightedBags
from reranker.transport import Parameters
from reranker.transport.parameters import scaling_precision
from tests.transport.conftest import IMPLEMENTATIONS, bag, distances, exact_cost


@pytest.mark.parametrize(
    ("epsilon", "precision"),
    [(1.0, "float32"), (0.03, "float32"), (0.0299, "float64"), (0.003, "float64"), (0.0029, "log"), (0.0001, "log")],
)
def test_the_precision_follows_epsilon_and_is_told(table, random_bag, epsilon, precision):
    assert scaling_precision(epsilon) == precision
    documents = WeightedBags.join([random_bag(6)])
    for method in ("sinkhorn", "relaxed"):
        assert distances(random_bag(4), documents, table, method, Parameters(epsilon, 2)).precision == precision


@pytest.mark.parametrize("epsilon", [0.02, 0.001, 0.0001])
def test_small_epsilon_gives_what_it_gives_in_the_log_domain_of_pot(table, random_bag, epsilon):
    query, documents = random_bag(8), [random_bag(k) for k in (1, 7, 20)]
    expected = []
    for document in documents:
        cost = exact_cost(query, document, table)
        plan = ot.sinkhorn(
            query.weights, document.weights, cost, epsilon, "sinkhorn_log", numItermax=5000, stopThr=1e-10, warn=False
        )
        if np.abs(plan.sum(axis=1) - query.weights).sum() + np.abs(plan.sum(axis=0) - document.weights).sum() < 1e-6:
            expected.append((plan * cost).sum())
        else:
            expected.append(np.nan)
    known = np.isfinite(expected)
    assert known.any()
    joined, parameters = WeightedBags.join(documents), Parameters(epsilon, 5000)
    for implementation in IMPLEMENTATIONS:
        found = distances(query, joined, table, "sinkhorn", parameters, implementation=implementation)
        np.testing.assert_allclose(found.values[known], np.array(expected)[known], rtol=1e-4, err_msg=implementation)


@pytest.mark.parametrize("tau", [0.0, 0.001, 0.02, None])
@pytest.mark.parametrize("epsilon", [0.02, 0.001])
def test_relaxed_at_small_epsilon_is_the_log_domain_fixed_point(table, random_bag, epsilon, tau, implementation):
    """The scalings of the design, written with u and v in logarithms, independently of `reference`."""
    query, document = random_bag(9), random_bag(25)
    price = epsilon if tau is None else tau
    cost, log_a, log_b = exact_cost(query, document, table), np.log(query.weights), np.log(document.weights)
    log_u = np.zeros(len(query))
    for _ in range(200):
        log_v = -price / (price + epsilon) * logsumexp(-cost / epsilon + (log_a + log_u)[:, None], axis=0)
        log_u = -logsumexp(-cost / epsilon + (log_b + log_v)[None, :], axis=1)
    plan = np.exp((log_a + log_u)[:, None] - cost / epsilon + (log_b + log_v)[None, :])
    parameters = Parameters(epsilon, 200, tau)
    found = distances(query, WeightedBags.join([document]), table, "relaxed", parameters, implementation=implementation)
    np.testing.assert_allclose(found.values, [(plan * cost).sum()], rtol=1e-6)


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 0.003])
def test_tiny_weights_between_opposite_words_are_within_range(circle, epsilon, implementation):
    """All mass but 1e-30 goes from 0° to 180°: the kernel is at its smallest, and that weight is next to nothing."""
    query, document = bag([0, 1], [1 - 1e-30, 1e-30]), bag([3, 5], [1 - 1e-30, 1e-30])
    documents = WeightedBags.join([document, query])
    found = distances(query, documents, circle, "sinkhorn", Parameters(epsilon), implementation=implementation)
    np.testing.assert_allclose(found.values, [2.0, 0.0], atol=1e-5)
