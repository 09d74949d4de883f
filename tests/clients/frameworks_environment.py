"""Makes an environment with the frameworks from their lock file, once, outside the checkout.

The frameworks are some 500 MB and want an older cohere than the other tests do. What their environment lacks (pytest,
and what the project itself needs) is found in the environment that runs now.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.engines.assemble import cache_folder, only_one_builder

ROOT = Path(__file__).resolve().parents[2]
LOCK = Path(__file__).resolve().parent / "frameworks" / "requirements.lock"
_INSTALL_LIMIT_S = 600
_RUN_LIMIT_S = 300
# Appended, so that the environment's own packages come first.
_PYTEST = "import sys; sys.path.append(sys.argv.pop(1)); import pytest; sys.exit(pytest.main(sys.argv[1:]))"


def run_tests(paths: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
    """How many tests passed; the test that asks fails, with what was printed, unless all did and none was left out.

    Args:
        paths: of test files, from the top of the checkout.
        folder: for pytest's own files.
        environ: variables besides those of now.
    """
    report = folder / "report.xml"
    options = ["-q", "-p", "pytest_timeout", "-p", "no:cacheprovider", f"--junitxml={report}", f"--basetemp={folder}/t"]
    # What the session that asks was given is not for this one.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [str(environment_python()), "-c", _PYTEST, sysconfig.get_paths()["purelib"], *options, *paths],
        cwd=ROOT,
        env={**inherited, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environ},
        capture_output=True,
        text=True,
        timeout=_RUN_LIMIT_S,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{' '.join(paths)} ended with code {done.returncode}:\n{done.stdout}{done.stderr}", pytrace=False)
    counts = ElementTree.parse(report).getroot().find("testsuite")
    if counts is None or counts.get("skipped") != "0":
        pytest.fail(f"of {' '.join(paths)} not all tests ran:\n{done.stdout}", pytrace=False)
    return int(counts.attrib["tests"])


def environment_python() -> Path:
    """The Python of the environment, made on first use."""
    key = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache_folder() / LOCK.parent.name
    home = folder / key
    folder.mkdir(parents=True, exist_ok=True)
    with only_one_builder(folder):
        if not (home / "ready").exists():
            shutil.rmtree(home, ignore_errors=True)
            _make(home)
            (home / "ready").touch()
    return home / "bin" / "python"


def _make(home: Path) -> None:
    uv = [sys.executable, "-m", "uv"]
    # Compiled here, since where Python is told to write no bytecode each run would compile it anew.
    install = ["pip", "install", "--quiet", "--compile-bytecode", "--require-hashes"]
    commands = [
        [*uv, "venv", "--quiet", "--python", sys.executable, str(home)],
        [*uv, *install, "--python", str(home), "-r", str(LOCK)],
    ]
    # Not within the checkout, whose settings of uv are about the project.
    with tempfile.TemporaryDirectory() as elsewhere:
        for command in commands:
            done = subprocess.run(
                command, cwd=elsewhere, capture_output=True, text=True, timeout=_INSTALL_LIMIT_S, check=False
            )
            if done.returncode:
                pytest.fail(f"{' '.join(command)} ended with code {done.returncode}:\n{done.stderr}", pytrace=False)
