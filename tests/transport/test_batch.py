"""Many candidates, many threads, many callers, little memory: always the same values."""

import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from reranker.text.bags import WeightedBags
from reranker.transport import METHODS, Parameters, candidate_costs, solve
from reranker.transport.threads import run
from tests.transport.conftest import NOTHING, distances

EVERY_KERNEL = [
    ("nbow", 0.1),
    ("rwmd", 0.1),
    ("emd", 0.1),
    ("sinkhorn", 0.1),
    ("sinkhorn", 0.02),
    ("relaxed", 0.1),
    ("auto", 0.1),
]


@pytest.fixture
def documents(random_bag):
    return WeightedBags.join([random_bag(1 + 7 * (k % 13)) for k in range(40)] + [NOTHING] + [random_bag(200)])


@pytest.mark.parametrize("n_threads", [2, 3, 8])
@pytest.mark.parametrize(("method", "epsilon"), EVERY_KERNEL)
def test_several_threads_give_the_same_values_bit_for_bit(
    table, random_bag, documents, method, epsilon, n_threads, monkeypatch
):
    query, parameters = random_bag(19), Parameters(epsilon, 20)
    one = distances(query, documents, table, method, parameters, n_threads=1)
    monkeypatch.setattr(solve, "is_short", lambda *_: False)  # step by step, where one call does all of a short solve
    several = distances(query, documents, table, method, parameters, n_threads=n_threads)
    np.testing.assert_array_equal(several.values, one.values)
    np.testing.assert_array_equal(several.marginal_error, one.marginal_error)


@pytest.mark.parametrize("table_bytes", [1, 10_000, 30_000])
@pytest.mark.parametrize(("method", "epsilon"), EVERY_KERNEL)
def test_little_memory_gives_the_same_values_bit_for_bit(
    table, random_bag, documents, method, epsilon, table_bytes, monkeypatch
):
    query, parameters = random_bag(19), Parameters(epsilon, 20)
    whole = distances(query, documents, table, method, parameters)
    monkeypatch.setattr(candidate_costs, "TABLE_BYTES", table_bytes)
    halves = distances(query, documents, table, method, parameters, n_threads=2)
    for name in ("values", "converged", "marginal_error", "n_iterations"):
        np.testing.assert_array_equal(getattr(halves, name), getattr(whole, name))
    assert halves.precision == whole.precision


def test_no_more_threads_work_than_allowed():
    seen, together, most, lock = set(), 0, 0, threading.Lock()
    release = threading.Barrier(2, timeout=30)

    def work(start, end):
        nonlocal together, most
        with lock:
            seen.add(threading.get_ident())
            together += 1
            most = max(most, together)
        release.wait()  # passes only if two work at the same time
        with lock:
            together -= 1

    run(work, [(k, k + 1) for k in range(10)], 2)
    assert len(seen) <= 2
    assert most == 2


def test_an_error_in_a_thread_reaches_the_caller():
    def work(start, end):
        raise ZeroDivisionError(start)

    with pytest.raises(ZeroDivisionError):
        run(work, [(0, 1), (1, 2)], 2)


def test_eight_callers_at_once_get_what_one_gets(table, random_bag, documents):
    queries = [random_bag(5 + 3 * k) for k in range(8)]
    alone = [distances(query, documents, table, "sinkhorn", n_threads=2).values for query in queries]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            together = list(
                pool.map(lambda query: distances(query, documents, table, "sinkhorn", n_threads=2), queries)
            )
            for found, expected in zip(together, alone, strict=True):
                np.testing.assert_array_equal(found.values, expected)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="its locks stay held where a thread was ending")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_gets_what_its_parent_gets(table, random_bag, documents):
    """The child does not have the parent's threads."""
    query = random_bag(9)
    expected = distances(query, documents, table, "sinkhorn", n_threads=2).values
    reader, writer = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            writer.send(distances(query, documents, table, "sinkhorn", n_threads=2).values)
        finally:
            os._exit(0)
    try:
        assert reader.poll(60)
        found = reader.recv()
    finally:
        os.kill(child, signal.SIGKILL)  # one that hangs would keep the test run's output open
        os.waitpid(child, 0)
    np.testing.assert_array_equal(found, expected)


def test_embeddings_may_be_a_read_only_memory_map_and_bags_read_only(table, random_bag, documents, tmp_path):
    np.save(tmp_path / "table.npy", table)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    frozen = WeightedBags(documents.term_ids.copy(), documents.weights.copy(), documents.offsets.copy())
    for array in (frozen.term_ids, frozen.weights, frozen.offsets):
        array.flags.writeable = False
    query = random_bag(9)
    for method in METHODS:
        expected = distances(query, documents, table, method).values
        np.testing.assert_array_equal(distances(query, frozen, mapped, method).values, expected)
