"""The relaxed plan against its own objective, worked by hand, by a general optimiser, and at its two limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from reranker.text.bags import WeightedBags
from reranker.transport import Parameters, transport
from tests.transport.conftest import bag, distances, exact_cost


def relaxed(query, document, table, implementation, **parameters):
    found = distances(
        query, WeightedBags.join([document]), table, "relaxed", Parameters(**parameters), implementation=implementation
    )
    return float(found.values[0])


@pytest.mark.parametrize(("epsilon", "tau"), [(0.1, 0.1), (0.3, 0.1), (0.2, 0.5), (0.1, 0.0), (0.05, 2.0), (0.5, None)])
def test_a_query_of_one_word_by_hand(circle, epsilon, tau, implementation):
    """P is one row p of sum 1: <p,C> + (epsilon + tau) KL(p|b) is least at p ~ b exp(-C / (epsilon + tau))."""
    document = bag([0, 1, 3], [0.2, 0.3, 0.5])
    cost = np.array([0.0, 1.0, 2.0])
    p = document.weights * np.exp(-cost / (epsilon + (epsilon if tau is None else tau)))
    expected = (p * cost).sum() / p.sum()
    found = relaxed(bag([0], [1.0]), document, circle, implementation, epsilon=epsilon, tau=tau, n_iterations=2000)
    assert found == pytest.approx(expected, rel=2e-5)


def kl(p, q):
    return (p * np.log(np.maximum(p, 1e-300) / q) - p + q).sum()


@pytest.mark.parametrize(("epsilon", "tau"), [(0.2, 0.2), (0.1, 0.3), (0.3, 0.05)])
def test_the_plan_is_where_a_general_optimiser_finds_the_least_objective(circle, epsilon, tau, implementation):
    """SLSQP over the 3 x 4 entries of P, from the definition: P >= 0, P1 = a."""
    query, document = bag([0, 2, 4], [0.5, 0.3, 0.2]), bag([1, 3, 5, 0], [0.1, 0.2, 0.3, 0.4])
    a, b, cost = query.weights, document.weights, exact_cost(query, document, circle)
    prior = np.outer(a, b)

    def objective(flat):
        plan = flat.reshape(3, 4)
        return (plan * cost).sum() + epsilon * kl(plan, prior) + tau * kl(plan.sum(axis=0), b)

    best = minimize(
        objective,
        prior.ravel(),
        method="SLSQP",
        bounds=[(1e-12, 1)] * 12,
        constraints={"type": "eq", "fun": lambda flat: flat.reshape(3, 4).sum(axis=1) - a},
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    expected = best.x.reshape(3, 4)
    found = transport(query, document, circle, "relaxed", Parameters(epsilon, 5000, tau))
    np.testing.assert_allclose(found.plan, expected, atol=2e-5)
    distance = relaxed(query, document, circle, implementation, epsilon=epsilon, tau=tau, n_iterations=5000)
    assert distance == pytest.approx((expected * cost).sum(), abs=5e-5)


def test_with_tau_zero_it_is_the_one_sided_soft_nearest_word(table, random_bag, implementation):
    query, document = random_bag(14), random_bag(33)
    cost = exact_cost(query, document, table)
    share = document.weights * np.exp(-cost / 0.1)
    expected = (query.weights[:, None] * share / share.sum(axis=1, keepdims=True) * cost).sum()
    assert relaxed(query, document, table, implementation, tau=0.0) == pytest.approx(expected, rel=1e-5)
    assert relaxed(query, document, table, implementation, tau=1e-7) == pytest.approx(expected, rel=1e-4)


def test_as_tau_grows_it_becomes_converged_sinkhorn(table, random_bag, implementation):
    query, document = random_bag(14), random_bag(33)
    thorough = Parameters(epsilon=0.1, n_iterations=10_000)
    documents = WeightedBags.join([document])
    balanced = float(distances(query, documents, table, "sinkhorn", thorough, implementation=implementation).values[0])
    gaps = [
        balanced - relaxed(query, document, table, implementation, tau=tau, n_iterations=10_000)
        for tau in (0.1, 1.0, 10.0, 100.0, 1e6)
    ]
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3] > 0
    assert gaps[2] / gaps[3] == pytest.approx(10, rel=0.1)  # the first order is in 1 / tau
    assert gaps[4] == pytest.approx(0, abs=1e-5)
