"""Compiled code is kept on disk, and never outlives the sources that it was made from."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import regex
from numba.core.registry import cpu_target

import reranker
from reranker.transport.kernels import compiling, simd

pytestmark = pytest.mark.slow

RUN = """
import numpy as np
from reranker.transport.kernels import scaling
tile = np.zeros(16 * 16, np.float32)
scaling._fill(tile, np.ones((1, 16), np.float32), -1.0, np.zeros(1, np.int32), 0, 1)
print(tile[0], sum(scaling._fill.stats.cache_hits.values()))
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, which keeps its code beside its sources, and what a process that runs it prints."""
    source = Path(reranker.__file__).parent
    (tmp_path / "reranker").mkdir()
    shutil.copy(source / "__init__.py", tmp_path / "reranker" / "__init__.py")
    for name in ("base", "text", "transport"):
        shutil.copytree(source / name, tmp_path / "reranker" / name, ignore=shutil.ignore_patterns("__pycache__"))
    kernels = tmp_path / "reranker" / "transport" / "kernels"
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}

    def run() -> tuple[float, int]:
        arguments = [sys.executable, "-c", RUN]
        done = subprocess.run(
            arguments, cwd=tmp_path, env=environment | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
        )
        assert not done.returncode, done.stderr
        value, n_hits = done.stdout.split()
        return float(value), int(n_hits)

    return kernels, run


def kept(kernels: Path) -> set[str]:
    """The digests that the names of the kept code tell."""
    found = {regex.search(r"_([0-9a-f]{16})-", path.name) for path in (kernels / "__pycache__").glob("*.nb[ic]")}
    return {match[1] if match else "none" for match in found}


def test_an_edit_of_another_module_is_not_answered_by_code_of_before(copy):
    kernels, run = copy
    assert run() == (pytest.approx(np.exp(-1)), 0)
    (before,) = kept(kernels)
    for name in ("kernels.fill-9.py311.nbi", "gone.f_0123456789abcdef-7.py311.1.nbc"):  # of earlier versions
        (kernels / "__pycache__" / name).write_bytes(b"")
    assert run() == (pytest.approx(np.exp(-1)), 1)  # from disk
    assert kept(kernels) == {before}
    simd = kernels / "simd.py"
    written, edited = "return builder.bitcast(builder.add(", "return builder.bitcast(builder.sub("
    assert written in simd.read_text()
    simd.write_text(simd.read_text().replace(written, edited))
    value, n_hits = run()
    assert n_hits == 0
    assert len(kept(kernels)) == 1  # that of the edited sources alone
    assert before not in kept(kernels)
    assert value != pytest.approx(np.exp(-1), abs=0.01)


def test_processes_that_remove_the_same_code_at_once_leave_what_is_not_stale(tmp_path):
    stale = [f"old.f_0123456789abcdef-{number}.py311.{kind}" for number in range(500) for kind in ("nbi", "1.nbc")]
    others = ["kernels.cpython-311.pyc", f"kernels.f_{compiling._SOURCES}-7.py311.nbi", "notes.nbt"]
    for name in stale + others:
        (tmp_path / name).write_bytes(b"")
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(compiling._remove_stale_code.__wrapped__, [tmp_path] * 4))
    assert {path.name for path in tmp_path.iterdir()} == set(others)


def test_a_folder_that_is_not_there_holds_nothing_stale(tmp_path):
    compiling._remove_stale_code.__wrapped__(tmp_path / "gone")


def test_a_numba_that_keeps_code_under_another_name_keeps_none(monkeypatch):
    monkeypatch.setattr(compiling, "_SOURCES", "")  # nor where the sources are not files
    function = compiling.compiled(lambda x: x + 1)
    assert function(2) == 3
    assert function.stats.cache_path is None


@pytest.mark.parametrize("lacking", ["_cache", "_cache._impl", "_cache._impl.filename_base"])
def test_a_numba_without_the_private_names_of_its_cache_keeps_nothing_and_computes_the_same(monkeypatch, lacking):
    """A function that is compiled without them is compiled anew in each process."""
    *path, last = lacking.split(".")

    def njit(function, cache=False, **options):
        dispatcher = numba.njit(function, cache=cache, **options)
        if not cache:
            return dispatcher
        known = SimpleNamespace(_cache=SimpleNamespace(_impl=SimpleNamespace(filename_base=compiling._SOURCES)))
        place = known
        for name in path:
            place = getattr(place, name)
        delattr(place, last)
        return known

    monkeypatch.setattr(compiling, "numba", SimpleNamespace(njit=njit))
    function = compiling.compiled(lambda x: x + 1)
    assert function(2) == 3
    assert function.stats.cache_path is None


@pytest.mark.parametrize(
    ("told", "with_avx", "expected"),
    [("+avx2,+avxvnni", True, True), ("+avx2", True, False), ("", True, False), (None, False, False)],
)
def test_what_numba_is_told_of_the_processor_decides(monkeypatch, told, with_avx, expected):
    monkeypatch.setattr(simd.config, "CPU_FEATURES", told)
    monkeypatch.setattr(simd.config, "ENABLE_AVX", with_avx)
    assert simd.has("avxvnni", "avx2") is expected


def test_the_features_of_this_processor_are_those_numba_compiles_for():
    """By a private name of Numba, which the code does without."""
    codegen = cpu_target.target_context.codegen()
    if not hasattr(codegen, "magic_tuple"):
        pytest.skip("this Numba does not tell what it compiles for")
    compiled_for = codegen.magic_tuple()[2].split(",")
    for feature in ("avx2", "avx512f", "avx512vnni", "avx512bw", "avxvnni"):
        assert simd.has(feature) is (f"+{feature}" in compiled_for)
