"""The compiled loops for each level of instructions, in processes of their own: right, and inside their memory."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from reranker.native.library import LEVEL, LEVELS
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters
from reranker.transport.problem import checked_problem
from reranker.transport.pruning import nearest_by_emd
from tests.transport.conftest import bag, distances

pytestmark = pytest.mark.slow

# Short queries; from a part of a register to many; 200 are enough for fixed point.
QUERY_LENGTHS = (1, 5, 16, 17, 60, 90, 200)
WAYS = [
    ("sinkhorn", Parameters(stop_at=0)),
    ("sinkhorn", Parameters(0.02, stop_at=0)),
    ("sinkhorn", Parameters(0.001, stop_at=0)),
    ("relaxed", Parameters()),
    ("relaxed", Parameters(tau=0.3)),
    ("auto", Parameters()),
    ("rwmd", Parameters()),
]
TOLERANCES = {"float32": 1e-5, "float64": 1e-10, "log": 1e-10}


@pytest.mark.parametrize("level", LEVELS[: LEVELS.index(LEVEL) + 1])
def test_each_level_computes_what_the_reference_does(level):
    """Behind these embeddings nothing can be read."""
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        env=os.environ | {"NATIVE_LEVEL": level},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"ended with {done.returncode} {done.stderr}"  # -7 and -11: outside its memory
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert (found["level"], found["n_compared"]) == (level, len(QUERY_LENGTHS) * (len(WAYS) + 1))


def _compare() -> dict[str, object]:
    """What differs from the reference at the level that the environment names."""
    wrong, n_compared = [], 0
    rows = _at_the_end_of_a_file(_rows())
    some = [_some_of(range(100, 350), n) for n in (7, 30, 90, 41)]
    documents = WeightedBags.join([bag([len(rows) - 1], [1.0]), *some])
    for n_words in QUERY_LENGTHS:
        query = _some_of(range(250), n_words)
        for method, parameters in WAYS:
            found = distances(query, documents, rows, method, parameters, n_threads=2)
            expected = distances(query, documents, rows, method, parameters, implementation="reference")
            error = np.abs([found.values - expected.values, found.marginal_error - expected.marginal_error]).max()
            n_compared += 1
            if not error < TOLERANCES[found.precision]:  # false for NaN too
                wrong.append(f"{n_words} words, {method}, {parameters}: off by {error}")
        nearest, _ = nearest_by_emd(checked_problem(query, documents, rows), Parameters(), 2)
        order = np.argsort(nearest.values)[:2].tolist()
        exact = distances(query, documents, rows, "emd", implementation="reference").values
        n_compared += 1
        if order != np.argsort(exact)[:2].tolist():
            wrong.append(f"{n_words} words: nearest by emd {order}, distances {exact}")
    return {"wrong": wrong, "n_compared": n_compared, "level": LEVEL}


def _rows() -> np.ndarray:
    """350 terms in 33 dimensions, two registers and a bit; the last 100 are near relatives of the first."""
    rows = np.random.default_rng(23).standard_normal((350, 33))
    rows[250:] = rows[:100] + 0.2 * rows[250:]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _at_the_end_of_a_file(rows: np.ndarray) -> np.ndarray:
    """A copy in a mapped file that ends with it and with a page: the system ends a process that reads on."""
    n_bytes = -(-rows.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    with tempfile.TemporaryFile() as file:
        file.truncate(n_bytes + mmap.PAGESIZE)
        room = mmap.mmap(file.fileno(), 0)
        file.truncate(n_bytes)
    copy = np.frombuffer(room, rows.dtype, rows.size, n_bytes - rows.nbytes).reshape(rows.shape)
    copy[:] = rows
    return copy


def _some_of(terms: range, n: int) -> WeightedBag:
    random = np.random.default_rng(n)
    weights = random.random(n) + 0.05
    return bag(random.choice(terms, n, replace=False).tolist(), (weights / weights.sum()).tolist())


if __name__ == "__main__":
    print(json.dumps(_compare()))
