"""The compiled code of several kinds of machines, run here in processes of their own: right, and inside its memory."""

from __future__ import annotations

import json
import mmap
import os
import platform
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from llvmlite import binding

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Parameters, distances, nearest_documents
from tests.engines.assemble import cache_folder
from tests.transport.conftest import bag

pytestmark = pytest.mark.slow

_AVX2 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt")
# Processors and features, in LLVM's names. The registers of AVX-512 are tried where this machine has them.
OTHERS = {
    "AVX2": ("haswell", _AVX2),
    "AVX2 and VNNI": ("haswell", (*_AVX2, "avxvnni")),
    "AVX2 of 2020": ("haswell", (*_AVX2, "vpclmulqdq")),
    "neither": ("x86-64", ()),
}
# 5 words are a short query, 60 four registers of float32, 200 enough for fixed point.
QUERY_LENGTHS = (5, 60, 200)
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


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="this processor is of another family")
@pytest.mark.conformance  # all is compiled anew for each
@pytest.mark.parametrize("machine", OTHERS)
def test_the_code_for_another_machine_computes_what_the_reference_does(machine):
    _, features = OTHERS[machine]
    here = binding.get_host_cpu_features()
    lacking = [feature for feature in features if not here.get(feature)]
    if lacking:
        pytest.skip(f"this processor cannot run it: it has no {', '.join(lacking)}")
    found = _compared(_told_to_be(machine))
    assert found["wrong"] == []
    assert found["n_compared"] == len(QUERY_LENGTHS) * (len(WAYS) + 1)
    assert not found["AVX-512"]
    assert found["in fixed point"] == ("avxvnni" in features or "vpclmulqdq" in features)


def test_the_code_for_this_machine_computes_what_the_reference_does():
    """As other tests show of arrays in ordinary memory: behind these embeddings nothing can be read."""
    assert _compared({})["wrong"] == []


def _told_to_be(machine: str) -> dict[str, str]:
    """Settings of Numba. Each machine has a folder for its code: Numba numbers the files of one by its index alone,
    and processes that write at once could take each other's numbers, and then run each other's code."""
    processor, features = OTHERS[machine]
    folder = cache_folder().parent / "kernels-of-other-machines" / machine.replace(" ", "-")
    return {
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in features),
        "NUMBA_CACHE_DIR": str(folder),
    }


def _compared(settings: dict[str, str]) -> dict[str, object]:
    """What `_compare` finds in a process with some settings."""
    done = subprocess.run(
        [sys.executable, "-m", __name__], env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"ended with {done.returncode} {done.stderr}"  # -7 and -11: outside its memory
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _compare() -> dict[str, object]:
    """What differs from the reference on the machine that Numba was told."""
    from reranker.transport.kernels import fixed_point, simd

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
        nearest = nearest_documents(query, documents, rows, 2, "emd")
        exact = distances(query, documents, rows, "emd", implementation="reference").values
        n_compared += 1
        if nearest.order.tolist() != np.argsort(exact)[:2].tolist():
            wrong.append(f"{n_words} words: nearest by emd {nearest.order}, distances {exact}")
    return {
        "wrong": wrong,
        "n_compared": n_compared,
        "in fixed point": fixed_point.AVAILABLE,
        "AVX-512": simd.WIDE,
    }


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
