"""The compiled library: how it is built and opened."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reranker.native import library
from reranker.native import transport as loops
from reranker.native.compiling import FOLDER, NoCompiler, compile_library, machine_compiler
from reranker.transport import reference

ROOT = Path(__file__).parents[2]
_CPUINFO = Path("/proc/cpuinfo")


# Of a function: its result, its name (OF_KIND where there is one for each kind), and its arguments.
_PROTOTYPE = re.compile(r"^EXPORT (\w+) (?:OF_KIND\((\w+)\)|(\w+))\(([^)]*)\)", re.MULTILINE)
_LETTERS = {"int": "i", "int64_t": "q", "double": "d", "void": ""}


def _prototypes() -> dict[str, tuple[str, str]]:
    """What the C sources export, as `declare` takes it; a function of a kind by its name alone."""
    found = {}
    for source in FOLDER.rglob("*.[ch]"):
        for result, of_kind, name, arguments in _PROTOTYPE.findall(source.read_text(encoding="utf-8")):
            kinds = [
                "p" if "*" in one else _LETTERS[one.replace("const ", "").split()[0]] for one in arguments.split(",")
            ]
            found[of_kind or name] = "".join(kinds), _LETTERS[result]
    return found


def test_every_declaration_is_that_of_the_c_source():
    for source in [*ROOT.glob("reranker/**/*.py"), *ROOT.glob("ingest/**/*.py")]:
        if re.search(r"^from reranker\.native\.library import .*\bdeclare\b", source.read_text(encoding="utf-8"), re.M):
            name = source.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
            importlib.import_module(name.removesuffix(".__init__"))
    prototypes = _prototypes()
    declared = {re.sub(r"_f(32|64)_\w+$", "", name): shape for name, shape in library.DECLARED.items()}
    assert declared == {name: prototypes[name] for name in declared}
    assert sorted(prototypes) == sorted(declared)


def test_an_array_whose_values_are_not_side_by_side_is_refused():
    rows = np.zeros((16, 4), np.float32)
    with pytest.raises(ctypes.ArgumentError, match="argument 1: ValueError: the array does not lie row after row"):
        loops.lay_out_words(rows[:, ::2])


def test_a_function_that_finds_no_memory_raises_memory_error():
    nothing = np.zeros(1, np.int64)
    with pytest.raises(MemoryError):
        loops.fill_bag_means(*[nothing] * 2, 2**58, *[nothing] * 3, 0, *[nothing] * 2)


def test_numbers_that_python_and_c_share_are_the_same():
    text = "\n".join(source.read_text(encoding="utf-8") for source in FOLDER.rglob("*.[ch]"))
    defined = dict(re.findall(r"^(?:#define|static const double) (\w+) (?:= )?([\d.e-]+);?$", text, re.MULTILINE))
    assert int(defined["TERMS"]) == loops.TERMS_TOGETHER
    assert float(defined["SHRUNK"]) == reference.SHRUNK
    assert float(defined["VANISHING_NORM"]) == reference.VANISHING_NORM


@pytest.mark.slow
def test_a_level_that_the_processor_has_not_is_refused_with_those_it_has():
    for wanted in library.LEVELS[: library.LEVELS.index(library.LEVEL) + 1]:
        assert _level_of_a_process(wanted) == (wanted, "")
    found, message = _level_of_a_process("avx1024")
    assert found == ""
    assert "ImportError: NATIVE_LEVEL is 'avx1024'; this processor has base" in message


def _level_of_a_process(wanted: str) -> tuple[str, str]:
    script = "from reranker.native.library import LEVEL; print(LEVEL)"
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"NATIVE_LEVEL": wanted}, capture_output=True, text=True
    )
    return done.stdout.strip(), done.stderr


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


def test_zig_does_not_compile_for_the_processor_of_the_machine_that_builds(tmp_path, monkeypatch):
    compiler = tmp_path / "python"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n[ "$3" != cc ] || touch library.so\n')
    compiler.chmod(0o755)
    monkeypatch.setattr("reranker.native.compiling.machine_compiler", lambda: None)
    monkeypatch.setattr("sys.executable", str(compiler))
    compile_library(tmp_path / "library.so")
    assert "-m ziglang cc -mcpu=baseline" in (tmp_path / "calls").read_text()


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
