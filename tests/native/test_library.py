"""The compiled library: how it is built and opened."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reranker.native import library
from reranker.native.compiling import FOLDER, NoCompiler, compile_library, machine_compiler

_CPUINFO = Path("/proc/cpuinfo")


@pytest.mark.skipif(not _CPUINFO.exists(), reason="Linux alone lists what a processor has there")
def test_the_level_is_what_the_system_says_of_the_processor():
    flags = set(re.search(r"^flags\s*:(.*)$", _CPUINFO.read_text(), re.MULTILINE)[1].split())
    expected = "base"
    if {"avx2", "fma"} <= flags:
        expected = "avx2"
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni"} <= flags:
        expected = "avx512"
    assert expected == library.LEVEL


def test_without_a_compiler_the_error_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert machine_compiler() is None
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(NoCompiler, match=r"apt-get install gcc .* pip install ziglang"):
        compile_library(tmp_path / "library.so")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_build_that_fails_leaves_the_library_as_it_was(tmp_path):
    path = tmp_path / "library.so"
    path.write_text("before")
    with pytest.raises(Exception, match="returned non-zero exit status"):
        compile_library(path, ("-include", "no-such-header.h"), machine_compiler())
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_library_in_a_checkout_is_newer_than_its_sources():
    newest = max(FOLDER.rglob("*.[ch]"), key=lambda path: path.stat().st_mtime)
    assert library.LIBRARY.stat().st_mtime >= newest.stat().st_mtime, "run: python -m reranker.native.compiling"
