"""The benchmarks measure what they say: the work is as stated, and every side solves the same problem."""

import json

import numpy as np
import pytest

from benchmarks import nearest, peers, rerank
from benchmarks.timing import in_turn
from benchmarks.workload import clustered_embeddings, synthetic

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def embeddings():
    return clustered_embeddings(2000, np.random.default_rng(0))


@pytest.fixture(scope="module")
def work(embeddings):
    return synthetic(12, embeddings, seed=1, n_candidates=20)


def test_the_work_is_of_the_stated_size(embeddings):
    work = synthetic(30, embeddings, seed=3, n_candidates=400)
    lengths = np.diff(work.candidates.offsets)
    assert (len(work.query), len(work.candidates)) == (30, 400)
    assert 30 <= lengths.min() < 40
    assert 250 < lengths.max() <= 300
    assert np.median(lengths) == pytest.approx((30 * 300) ** 0.5, rel=0.1)  # log-uniform
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-6)
    for k in range(20):
        assert len(np.unique(work.candidates[k].term_ids)) == lengths[k]
        assert work.candidates[k].weights.sum() == pytest.approx(1)


def test_a_seed_gives_the_same_work_again(work, embeddings):
    again, other = (synthetic(12, embeddings, seed, n_candidates=20) for seed in (1, 2))
    np.testing.assert_array_equal(again.candidates.term_ids, work.candidates.term_ids)
    assert not np.array_equal(other.query.term_ids, work.query.term_ids)


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


def test_sides_run_in_turn():
    calls = []
    times = in_turn({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b"] * 3
    assert times["a"].summary["rounds"] == 3


def test_the_nearest_are_compared_with_solving_all(work):
    (exact,) = nearest.compare_exact([work], 1, rounds=1)
    assert exact["same_top"]
    assert 0.5 <= exact["share_solved"] <= 1  # ten of the twenty at least
    assert exact["speed_up"] == pytest.approx(
        exact["times"]["all"]["median_ms"] / exact["times"]["pruned"]["median_ms"], abs=0.01
    )


def test_another_top_is_seen():
    every = np.array([0.3, 0.1, 0.2])
    assert nearest._equally_near(every, np.array([1, 2]), 0)
    assert not nearest._equally_near(every, np.array([1, 0]), 0.05)


def test_a_run_prints_a_table_and_writes_its_results(tmp_path, capsys):
    work = "--rounds 1 --threads 1 --query-words 10 --vocabulary 1000 --candidates 5 --sides NumPy --only-sides"
    rerank.main([*work.split(), "--out", str(tmp_path)])
    assert "NumPy float32 loop" in capsys.readouterr().out
    results = json.loads((tmp_path / "results.json").read_text())
    (result,) = results["workloads"]
    assert set(result["sides"]) == {peers.OURS, "NumPy float32 loop", "NumPy float32 loop, shared costs"}
    assert {"cpu", "cores", "load_1_min", "packages"} <= set(results["machine"])
    assert results["options"]["seed"] == 0
