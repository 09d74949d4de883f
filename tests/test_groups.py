"""Several processes share the tests out by group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("n", range(4))
def test_of_a_file(n):
    with pathlib.Path(__file__).with_suffix(".ran").open("a") as file:
        print(os.getpid(), file=file)
"""


@pytest.mark.slow
def test_all_tests_of_a_file_run_in_one_process_and_another_process_runs_those_of_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(TESTS)
    options = ["-p", "xdist", "-p", "tests.support.groups", "-n", "2", "--dist", "loadscope", "--no-loadscope-reorder"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", tmp_path, *options, tmp_path],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    processes = [(tmp_path / f"test_{name}.ran").read_text().split() for name in ("one", "two")]
    assert [len(each) for each in processes] == [4, 4]
    assert [len(set(each)) for each in processes] == [1, 1]
    assert processes[0][0] != processes[1][0]
