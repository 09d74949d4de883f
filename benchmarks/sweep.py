"""The iteration alone, on one thread, against the same in C with AVX2 by hand (`sweep.c`)."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.peers import EPSILON
from benchmarks.timing import in_turn
from reranker.transport.cost_table import width
from reranker.transport.kernels import scaling, sinkhorn_iteration

SIZES = [(n, m) for n in (30, 100, 300) for m in (30, 100, 300)]
LANES_IN_C = 8
# Enough for the call from Python, some µs, to be of no account: the library makes none for each candidate.
ITERATIONS = 500


def why_not() -> str | None:
    """Why there can be no comparison here; None where there can."""
    if shutil.which("cc") is None:
        return "no C compiler (cc)"
    return None if platform.machine() in ("x86_64", "AMD64") else f"no AVX2 on {platform.machine()}"


def compare(rounds: int, seed: int = 0) -> list[dict[str, float]]:
    """Times of 500 iterations over one tile of m document words and n query words, in µs, and GFLOP/s."""
    random = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        iterate = _compiled(Path(folder))
        return [_compare_one(n, m, iterate, rounds, random) for n, m in SIZES]


def _compiled(folder: Path) -> Callable[..., None]:
    source, library = Path(__file__).with_suffix(".c"), folder / "sweep.so"
    subprocess.run(["cc", "-O3", "-mavx2", "-mfma", "-shared", "-fPIC", "-o", library, source], check=True)
    iterate = ctypes.CDLL(str(library)).iterate
    iterate.argtypes = [ctypes.c_void_p, *[ctypes.c_long] * 3, *[ctypes.c_void_p] * 5, ctypes.c_long]
    iterate.restype = None
    return iterate


def _compare_one(n: int, m: int, iterate: Callable[..., None], rounds: int, random: Any) -> dict[str, float]:
    a, b = (x / x.sum() for x in (random.random(n) + 0.1, random.random(m) + 0.1))
    kernel = np.exp(random.uniform(-1.45, -0.8, (m, n)) / EPSILON)
    n_rows, n_columns = -(-m // 16) * 16, width(n)
    rows = _filled((n_rows, n_columns), kernel)
    rows[m:] = rows[0]
    registers = rows.reshape(-1, sinkhorn_iteration.GROUP, n_columns // 16, 16)
    tile = _filled(rows.size, registers.transpose(0, 2, 1, 3).ravel())
    ours = [_filled(n_columns, np.empty(0)), _filled(n_rows, b * 0), _filled(n_columns, a * 0)]  # w, z, sums
    weights = _filled(n_columns, a), _filled(n_rows, b), _filled(n_columns, np.empty(0))
    weights[2][n:] = 1
    in_c = [_filled((m, -(-n // LANES_IN_C) * LANES_IN_C), kernel)]
    in_c += [_filled(in_c[0].shape[1], np.empty(0)), _filled(m, b * 0), _filled(in_c[0].shape[1], a * 0)]
    in_c += [_filled(n, a), _filled(m, b)]
    places = [array.ctypes.data for array in in_c]

    def run_ours() -> None:
        ours[0][:n] = 1 / n
        scaling._scale(tile, m, *ours, *weights, 1.0, False, ITERATIONS, 0.0, np.float32(1e-31))  # type: ignore[call-arg]

    def run_c() -> None:
        in_c[1][:n] = 1 / n
        iterate(places[0], m, in_c[0].shape[1], n, *places[1:], ITERATIONS)

    run_ours()
    run_c()
    np.testing.assert_allclose(ours[1][:m], in_c[2], rtol=1e-3)
    times = in_turn({"ours": run_ours, "c": run_c}, rounds)
    ours_us, c_us = (1e3 * median(times[side].wall_ms) for side in ("ours", "c"))
    flops = 4 * n * m * ITERATIONS
    return {
        "n": n,
        "m": m,
        "ours_us": round(ours_us, 1),
        "c_us": round(c_us, 1),
        "ratio_of_medians": round(ours_us / c_us, 2),
        "ratio_of_least": round(min(times["ours"].wall_ms) / min(times["c"].wall_ms), 2),
        "ours_gflops": round(flops / ours_us / 1e3, 1),
        "c_gflops": round(flops / c_us / 1e3, 1),
    }


def _filled(shape: int | tuple[int, int], values: Any) -> Any:
    """A float32 array that begins with the values, zeros elsewhere, and in memory with a cache line."""
    size = int(np.prod(shape))
    room = np.zeros(size + 16, np.float32)
    skipped = -room.ctypes.data % 64 // 4
    array = room[skipped : skipped + size].reshape(shape)
    array[tuple(slice(0, length) for length in np.shape(values))] = values
    return array
