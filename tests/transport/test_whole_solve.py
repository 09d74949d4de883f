"""A short solve is one compiled call, and gives what its steps give one by one."""

import numpy as np
import pytest

from reranker.base.errors import BadEmbeddings
from reranker.native import transport as loops
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, distances, solve
from tests.transport.conftest import NOTHING


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(1 + 7 * (k % 5)) for k in range(20)] + [NOTHING, random_bag(90)])


@pytest.fixture
def n_whole(monkeypatch):
    """How many solves were one call, one number for each."""
    calls = []
    true = loops.solve_whole

    def counted(*arguments):
        calls.append(1)
        return true(*arguments)

    monkeypatch.setattr(loops, "solve_whole", counted)
    return calls


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_words", [1, 5, 16, 17, 65])
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("auto", Parameters()),
        ("auto", Parameters(cost="euclidean", over_relaxed=True)),
        ("auto", Parameters(epsilon=0.05, n_iterations=3)),
        ("sinkhorn", Parameters(stop_at=0.001)),
        ("relaxed", Parameters(tau=0.3)),
    ],
)
def test_one_call_gives_the_bits_of_its_steps(
    table, random_bag, documents, method, parameters, n_words, n_threads, n_whole, monkeypatch
):
    query = random_bag(n_words)
    whole = distances(query, documents, table, method, parameters, n_threads)
    assert len(n_whole) == 1
    monkeypatch.setattr(solve, "is_short", lambda *_: False)
    steps = distances(query, documents, table, method, parameters, n_threads)
    assert len(n_whole) == 1
    for name in ("values", "converged", "marginal_error", "n_iterations"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(steps, name))
    assert whole.precision == steps.precision


def test_float64_and_an_unsound_row_are_told(table, random_bag, documents, n_whole):
    query = WeightedBag(np.array([0, 1], np.int32), np.array([0.5, 0.5]))
    distances(query, documents, table, "auto", Parameters(epsilon=0.02))  # in float64
    distances(query, documents, table, "nbow")
    assert n_whole == []
    broken = table.copy()
    broken[documents.term_ids[-1]] = np.nan
    if documents.term_ids[-1] in query.term_ids:
        pytest.fail("the query must not hold the broken term")
    with pytest.raises(BadEmbeddings, match=rf"embedding of term {documents.term_ids[-1]} is not finite"):
        distances(query, documents, broken, "sinkhorn")
    assert n_whole == [1]
