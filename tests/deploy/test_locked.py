"""deploy/locked.py: each environment gets what it needs of the one lock file, and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deploy.locked import locked

PYPROJECT = """
[project]
dependencies = ["Flask>=3"]
[project.optional-dependencies]
encoder = ["tokenizers>=0.19"]
demo = ["sinkrank[encoder]", "lxml_html_clean"]
[dependency-groups]
papers = ["scipy"]
dev = ["pytest[all]>=8", { include-group = "papers" }]
"""
NEEDED_BY = {
    "blinker==1.9.0": "flask",
    "flask==3.1.3": "sinkrank (pyproject.toml)",
    "hf-xet==1.8.0 ; platform_machine == 'x86_64'": "huggingface-hub",
    "huggingface-hub==1.2.0": "tokenizers",
    "lxml-html-clean==0.4.6": "sinkrank (pyproject.toml)",
    "numpy==2.4.6 ; python_full_version < '3.12'": "scipy, tokenizers",
    "numpy==2.5.5 ; python_full_version >= '3.12'": "scipy, tokenizers",
    "pytest==9.0.1": "sinkrank (pyproject.toml:dev)",
    "scipy==1.17.1": "sinkrank (pyproject.toml:dev)",
    "tokenizers==0.22.1": "sinkrank (pyproject.toml)",
}
"""What is locked, and what uv writes below it."""

FLASK = {"blinker==1.9.0", "flask==3.1.3"}
NUMPY = {"numpy==2.4.6 ; python_full_version < '3.12'", "numpy==2.5.5 ; python_full_version >= '3.12'"}
ENCODER = {"tokenizers==0.22.1", *NUMPY}
HUB = {"huggingface-hub==1.2.0", "hf-xet==1.8.0 ; platform_machine == 'x86_64'"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    entries = [f"{pin} \\\n    --hash=sha256:0a1b\n    # via {by}\n" for pin, by in NEEDED_BY.items()]
    (tmp_path / "requirements.lock").write_text("".join(entries))
    return tmp_path


def pins(requirements: str) -> set[str]:
    """What is pinned; each has its hash."""
    lines = requirements.splitlines()
    assert all(line == "    --hash=sha256:0a1b" for line in lines[1::2])
    return {line.removesuffix(" \\") for line in lines[::2]}


@pytest.mark.parametrize(
    ("names", "without", "expected"),
    [
        (["base"], [], FLASK),
        (["encoder"], [], ENCODER | HUB),
        (["base", "encoder"], ["huggingface-hub"], FLASK | ENCODER),
        (["demo"], [], {"lxml-html-clean==0.4.6"} | ENCODER | HUB),
        (["dev"], [], {"pytest==9.0.1", "scipy==1.17.1", *NUMPY}),
        (["pytest"], [], {"pytest==9.0.1"}),
    ],
)
def test_what_some_parts_need_is_printed_with_what_that_needs(
    names: list[str], without: list[str], expected: set[str], root: Path
) -> None:
    assert pins(locked(names, without, root)) == expected


def test_a_name_that_is_not_locked_is_an_error(root: Path) -> None:
    with pytest.raises(KeyError, match="tokenisers"):
        locked(["tokenisers"], (), root)


@pytest.mark.slow
def test_what_the_lock_file_installs_here_lacks_nothing() -> None:
    """`make` installs it without looking for what else a package needs."""
    command = [sys.executable, "-m", "uv", "pip", "check", "--python", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
