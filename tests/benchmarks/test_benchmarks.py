"""The benchmarks measure what they say: the work is as stated, and every side solves the same problem."""

import json

import numpy as np
import pytest

from benchmarks import peers, rerank
from benchmarks.workload import clustered_embeddings, synthetic

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def embeddings():
    return clustered_embeddings(2000, np.random.default_rng(0))


@pytest.fixture(scope="module")
def work(embeddings):
    return synthetic(12, embeddings, seed=1, n_candidates=20)


@pytest.mark.parametrize("side", [side for side in peers.SIDES if side.work == peers.FIFTY], ids=lambda side: side.name)
def test_every_side_of_fifty_iterations_gives_what_pot_gives(work, side):
    if not side.installed:
        pytest.skip(f"{side.package} is not installed")
    expected = peers.oracle(work)
    for n_threads in (1, 2):
        np.testing.assert_allclose(side.solve(work, n_threads), expected, atol=1e-4)


def test_in_double_it_is_pot_to_a_millionth(work):
    side = next(side for side in peers.SIDES if side.name.endswith("in double"))
    np.testing.assert_allclose(side.solve(work, 1), peers.oracle(work), atol=1e-6)


@pytest.mark.parametrize("n_words", [128, 300])
def test_by_default_long_queries_are_nearer_to_the_limit_than_the_numpy_loop(embeddings, n_words):
    work = synthetic(n_words, embeddings, seed=1, n_candidates=20)
    limit = peers.oracle(work, 20_000, 1e-9)
    side = next(side for side in peers.SIDES if side.name == peers.BY_DEFAULT)
    ours, loop = (np.abs(found - limit) for found in (side.solve(work, 1), peers.numpy_loop(work, 1)))
    assert ours.mean() < loop.mean()
    assert ours.max() < loop.max()


def test_exact_transport_of_all_is_that_of_pot(work):
    ours, pot = (next(side for side in peers.SIDES if side.name == name) for name in ("sinkrank emd, all", "POT emd2"))
    np.testing.assert_allclose(ours.solve(work, 2), pot.solve(work, 1), atol=1e-4)


def test_a_run_prints_a_table_and_writes_its_results(tmp_path, capsys):
    work = "--rounds 1 --threads 1 --query-words 10 --vocabulary 1000 --candidates 5 --sides NumPy --only-sides"
    rerank.main([*work.split(), "--out", str(tmp_path)])
    assert "NumPy float32 loop" in capsys.readouterr().out
    results = json.loads((tmp_path / "results.json").read_text())
    (result,) = results["workloads"]
    assert set(result["sides"]) == {peers.OURS, "NumPy float32 loop", "NumPy float32 loop, shared costs"}
    assert {"cpu", "cores", "load_1_min", "packages"} <= set(results["machine"])
    assert results["options"]["seed"] == 0
