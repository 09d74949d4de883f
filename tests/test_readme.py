"""The lines of Python in the README run as they stand."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import regex

ROOT = Path(__file__).parent.parent


def python_blocks() -> list[str]:
    """The indented blocks of the README that begin with an import."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = regex.findall(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+", text)
    lines = [regex.sub(r"(?m)^    ", "", block) for block in blocks]
    return [block for block in lines if block.startswith(("from ", "import "))]


@pytest.mark.parametrize("block", python_blocks())
def test_the_lines_for_a_newcomer_find_the_train(tmp_path: Path, block: str) -> None:
    assert len([line for line in block.splitlines() if line]) <= 10
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    best, *others = ast.literal_eval(done.stdout)
    assert best == "The train leaves the station late."
    assert len(others) == 2


def test_there_are_such_lines() -> None:
    assert len(python_blocks()) == 1
