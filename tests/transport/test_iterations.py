"""How many iterations a distance took is told, candidate by candidate."""

import pytest

from reranker.text.bags import WeightedBags
from reranker.transport import Parameters, distances
from tests.transport.conftest import NOTHING

SOLVED = [("sinkhorn", 0.1), ("relaxed", 0.1), ("sinkhorn", 0.02), ("relaxed", 0.01)]


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([*(random_bag(2 + 5 * k) for k in range(9)), NOTHING])


@pytest.mark.parametrize(("method", "epsilon"), SOLVED)
def test_as_many_are_told_as_were_asked_for_where_nothing_stops_before(table, random_bag, documents, method, epsilon):
    found = distances(random_bag(12), documents, table, method, Parameters(epsilon, 7, stop_at=0.0))
    assert found.n_iterations.tolist() == [7] * 9 + [0]


@pytest.mark.parametrize(("method", "epsilon"), SOLVED)
def test_so_many_iterations_without_stopping_give_the_same_distance(table, random_bag, documents, method, epsilon):
    query = random_bag(12)
    found = distances(query, documents, table, method, Parameters(epsilon, 500, stop_at=1e-3))
    assert found.n_iterations[:9].max() < 500
    for place, count in enumerate(found.n_iterations[:9].tolist()):
        again = distances(query, documents, table, method, Parameters(epsilon, count, stop_at=0.0))
        assert again.values[place] == pytest.approx(found.values[place], rel=1e-6)
        assert again.marginal_error[place] <= 1e-3
        if count > 2:
            before = distances(query, documents, table, method, Parameters(epsilon, count - 2, stop_at=0.0))
            assert before.marginal_error[place] > 1e-3 * 0.999


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd"])
def test_methods_without_iterations_tell_none(table, random_bag, documents, method):
    assert not distances(random_bag(12), documents, table, method).n_iterations.any()


def test_auto_tells_those_of_its_sinkhorn(table, random_bag, documents):
    query = random_bag(12)
    alone = distances(query, documents, table, "sinkhorn", Parameters(cost="cosine"))
    assert (distances(query, documents, table, "auto").n_iterations == alone.n_iterations).all()
