"""What is solved before the compiled loops are ready, beside what they solve."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from reranker.ranking.neighbours import neighbour_scores
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import METHODS, Parameters, compilation, distances, mean_embeddings, methods, plain

PARAMETERS = [
    Parameters(),
    Parameters(cost="cosine", tau=0.3),
    Parameters(0.02, n_iterations=400),
    Parameters(0.05, over_relaxed=True, n_iterations=300),
    Parameters(0.5, stop_at=0.01),
    Parameters(0.001, n_iterations=20),
]


@pytest.fixture
def candidates(random_bag) -> WeightedBags:
    nothing = WeightedBag(np.empty(0, np.int32), np.empty(0))
    return WeightedBags.join([random_bag(3), nothing, *(random_bag(k) for k in (1, 40, 120)), nothing])


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_numpy_alone_gives_what_the_reference_gives(table, random_bag, candidates, method, parameters):
    query = random_bag(9)
    found = distances(query, candidates, table, method, parameters, implementation="plain")
    expected = distances(query, candidates, table, method, parameters, implementation="reference")
    assert found.values == pytest.approx(expected.values, rel=1e-6, abs=1e-7)
    assert found.marginal_error == pytest.approx(expected.marginal_error, abs=1e-9)
    assert found.converged.tolist() == expected.converged.tolist()


def test_numpy_alone_stops_after_as_many_iterations_as_the_compiled_loops(table, random_bag, candidates):
    query, parameters = random_bag(9), Parameters(0.02, n_iterations=400)  # both in float64
    found = distances(query, candidates, table, "sinkhorn", parameters, implementation="plain")
    compiled = distances(query, candidates, table, "sinkhorn", parameters, implementation="compiled")
    assert found.n_iterations.tolist() == pytest.approx(compiled.n_iterations.tolist(), abs=1)
    assert max(found.n_iterations) > 10


def test_means_and_neighbours_are_the_same_before_the_loops_are_ready(table, candidates):
    scores = np.array([0.4, 0.1, 0.9, 0.3, 0.5, 0.2])
    means, neighbours = mean_embeddings(candidates, table), neighbour_scores(candidates, scores)
    with compilation.deferred():
        assert mean_embeddings(candidates, table) == pytest.approx(means, abs=1e-6)
        assert neighbour_scores(candidates, scores) == pytest.approx(neighbours)


def test_a_segment_without_numbers_sums_to_nothing():
    values = np.array([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]])
    assert plain.segment_sums(values, np.array([0, 0, 2, 2, 3])).tolist() == [[0, 3, 0, 4], [0, 2, 0, 1]]
    assert plain.segment_sums(np.zeros(0), np.array([0, 0])).tolist() == [0]


def test_the_loops_are_ready_again_after_an_error_inside():
    def fail() -> None:
        assert not compilation.is_ready()
        raise KeyError

    with pytest.raises(KeyError), compilation.deferred():
        fail()
    assert compilation.is_ready()


def test_a_large_problem_takes_the_compiled_loops_at_once(table, random_bag, monkeypatch):
    query, documents = random_bag(4), WeightedBags.join([random_bag(6)])
    with compilation.deferred():
        assert distances(query, documents, table).precision == "float64"
        monkeypatch.setattr(compilation, "SMALL_PAIRS", 23)  # 4 · 6 pairs are more
        assert distances(query, documents, table).precision == "float32"


def test_a_small_problem_is_solved_without_loading_numba():
    code = """
import sys, numpy as np
from reranker.ranking.neighbours import neighbour_scores
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import METHODS, compilation, mean_embeddings, nearest_documents
bag = WeightedBag(np.arange(2, dtype=np.int32), np.array([.25, .75]))
bags, table = WeightedBags.join([bag] * 3), np.eye(2, dtype=np.float32)
with compilation.deferred():
    for method in set(METHODS) - {"emd"}:
        print(nearest_documents(bag, bags, table, 3, method).distances.values.round(6).max())
    mean_embeddings(bags, table), neighbour_scores(bags, np.arange(3.0))
print("numba" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.split()[-1] == "False"


def test_an_unknown_implementation_is_refused_with_the_names():
    with pytest.raises(methods.BadInput, match="'compiled', 'plain' or 'reference'"):
        distances(WeightedBag(np.zeros(1, np.int32), np.ones(1)), WeightedBags.join([]), np.eye(1), implementation="c")


def test_a_later_process_knows_that_every_loop_is_kept(tmp_path):
    """The loops are declared and not compiled here: that takes a minute, and only the note is asked for."""
    code = """
from reranker.transport.warming import loads_quickly
from reranker.transport.kernels.compiling import note_all_kept
print(loads_quickly())
note_all_kept()
print(loads_quickly())
"""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [["False", "True"], ["True", "True"]]
