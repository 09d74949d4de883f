"""What must hold for any bags: POT and a log-domain loop agree, bounds hold, however odd the weights."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters
from reranker.transport.bounds import dual_bounds
from reranker.transport.candidate_costs import CandidateCosts
from reranker.transport.problem import checked_problem
from reranker.transport.pruning import nearest_by_emd
from tests.transport.conftest import bag, distances, exact_cost
from tests.transport.test_sinkhorn import pot_distance


def _table() -> np.ndarray:
    """60 terms in 8 dimensions: strangers, near relatives (0.01 apart), equal vectors and opposite ones."""
    random = np.random.default_rng(17)
    rows = random.standard_normal((60, 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[20:30] = rows[:10] + 0.004 * random.standard_normal((10, 8))
    rows[30:40] = rows[:10]
    rows[40:50] = -rows[:10]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


TABLE = _table()
# Heavy and light words, down to a millionth of the heaviest.
_weights = st.one_of(st.integers(1, 20).map(float), st.floats(-6, 0).map(lambda x: 10.0**x))


@st.composite
def _bags(draw: st.DrawFn) -> WeightedBag:
    parts = draw(st.dictionaries(st.integers(0, len(TABLE) - 1), _weights, min_size=1, max_size=40))
    weights = np.array(list(parts.values()))
    return WeightedBag(np.array(list(parts), np.int32), weights / weights.sum())


def log_domain(query, document, epsilon, n_iterations):
    """Cuturi 2013, algorithm 1, in logarithms and nothing else; the mass is looked at."""
    cost, log_a, log_b = exact_cost(query, document, TABLE), np.log(query.weights), np.log(document.weights)
    log_w = np.full(len(query), -np.log(len(query)))
    for _ in range(n_iterations):
        log_z = log_b - logsumexp(log_w[:, None] - cost / epsilon, axis=0)
        log_w = log_a - logsumexp(log_z[None, :] - cost / epsilon, axis=1)
    plan = np.exp(log_w[:, None] + log_z - cost / epsilon)
    assert plan.sum() == pytest.approx(1, abs=1e-9)
    return (plan * cost).sum()


@settings(max_examples=60, deadline=None)
@given(_bags(), st.lists(_bags(), min_size=1, max_size=3), st.sampled_from([0.0002, 0.001, 0.0029, 0.003, 0.02, 0.1]))
def test_every_arithmetic_is_the_log_domain(query, documents, epsilon):
    expected = [log_domain(query, document, epsilon, 30) for document in documents]
    parameters = Parameters(epsilon, 30, stop_at=0)
    found = distances(query, WeightedBags.join(documents), TABLE, "sinkhorn", parameters)
    np.testing.assert_allclose(found.values, expected, atol=1e-4 if found.precision == "float32" else 1e-6)


@settings(max_examples=50, deadline=None)
@given(_bags(), st.lists(_bags(), min_size=1, max_size=4))
def test_rwmd_is_below_emd_and_emd_below_converged_sinkhorn(query, documents):
    joined, thorough = WeightedBags.join(documents), Parameters(0.1, 10_000)
    rwmd, emd, sinkhorn = (
        distances(query, joined, TABLE, method, thorough).values for method in ("rwmd", "emd", "sinkhorn")
    )
    error = distances(query, joined, TABLE, "sinkhorn", thorough).marginal_error
    assert (rwmd <= emd + 2e-6).all()  # float32 costs against double ones
    # Mending a margin that is off by x moves x / 2 of the mass, at most by 2.
    assert (emd <= sinkhorn + error + 4e-6).all()


@settings(max_examples=80, deadline=None)
@given(
    _bags(),
    st.lists(_bags(), min_size=1, max_size=8),
    st.integers(1, 5),
    st.sampled_from(["euclidean", "cosine"]),
)
def test_the_nearest_by_emd_are_those_of_solving_all(query, documents, k, cost):
    joined, parameters = WeightedBags.join(documents), Parameters(cost=cost)
    values = distances(query, joined, TABLE, "emd", parameters).values
    order = np.argsort(values, kind="stable")[:k]
    found, _ = nearest_by_emd(checked_problem(query, joined, TABLE), parameters, min(k, len(documents)))
    np.testing.assert_array_equal(np.argsort(found.values, kind="stable")[:k], order)
    np.testing.assert_array_equal(found.values[order], values[order])


@settings(max_examples=60, deadline=None)
@given(_bags(), st.lists(_bags(), min_size=1, max_size=6))
def test_the_dual_bound_is_below_emd(query, documents):
    joined = WeightedBags.join(documents)
    costs = CandidateCosts(checked_problem(query, joined, TABLE), "float64")
    bounds = dual_bounds(costs, np.arange(len(documents)))
    for document, bound in zip(documents, bounds, strict=True):
        cost = exact_cost(query, document, TABLE)
        emd = ot.emd2(query.weights, document.weights, cost)
        assert bound <= emd + 1e-12


@settings(max_examples=50, deadline=None)
@given(_bags(), st.lists(_bags(), min_size=1, max_size=4), st.booleans(), st.sampled_from([0.001, 0.02, 0.1]))
def test_nothing_is_ever_negative_or_not_a_number(query, documents, over_relaxed, epsilon):
    for method in ("nbow", "rwmd", "emd", "sinkhorn", "relaxed"):
        parameters = Parameters(epsilon, 20, stop_at=1e-3, over_relaxed=over_relaxed)
        found = distances(query, WeightedBags.join(documents), TABLE, method, parameters)
        assert np.isfinite(found.values).all()
        assert (found.values >= 0).all()
        assert (found.values <= 2 + 1e-5).all()
        assert np.isfinite(found.marginal_error).all()


@pytest.mark.parametrize("epsilon", [0.003, 0.001, 0.0001])
def test_a_document_equal_to_the_query_is_at_distance_zero_where_epsilon_is_small(
    table, random_bag, epsilon, implementation
):
    """All costs between different words here are 0.3 at least: exp(-0.3 / 0.003) of the mass leaves its word."""
    query = random_bag(40)
    found = distances(
        query, WeightedBags.join([query]), table, "sinkhorn", Parameters(epsilon), implementation=implementation
    )
    np.testing.assert_allclose(found.values, [0], atol=1e-12)


def test_a_query_and_a_document_as_long_as_books():
    random = np.random.default_rng(3)
    rows = random.standard_normal((3000, 12)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query, document = bag(list(range(1000)), [1 / 1000] * 1000), bag(list(range(1000, 3000)), [1 / 2000] * 2000)
    expected = pot_distance(query, document, rows)
    found = distances(query, WeightedBags.join([document]), rows, "sinkhorn", Parameters(stop_at=0), n_threads=2)
    np.testing.assert_allclose(found.values, [expected], rtol=1e-4)
