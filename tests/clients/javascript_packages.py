"""Installs the npm packages of `javascript/` once, outside the checkout, and runs its scripts with them.

The packages are those of `package-lock.json`, checked by npm against the digests there; a folder is named by the digest
of the lock file, so that another lock file is another folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support.engines.assemble import cache_folder, only_one_builder

SCRIPTS = Path(__file__).resolve().parent / "javascript"
_MIN_NODE = 18
_INSTALL_LIMIT_S = 300
_RUN_LIMIT_S = 300


class ScriptFailed(Exception):
    """A script that ended with another code than 0."""


def run_node(packages: Path, script: str, *arguments: str) -> str:
    """What `javascript/{script}` printed, with `packages` at hand.

    Raises:
        ScriptFailed: with what it said.
    """
    done = subprocess.run(
        ["node", str(SCRIPTS / script), *arguments],
        env={**os.environ, "NODE_PATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=_RUN_LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise ScriptFailed(f"{script} ended with code {done.returncode}:\n{done.stderr}")
    return done.stdout


def installed_packages() -> Path:
    """The folder `node_modules`, made on first use; skips the test, with the reason, where there is no Node or npm."""
    _check_node()
    lock = SCRIPTS / "package-lock.json"
    folder = cache_folder() / "javascript"
    home = folder / hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    with only_one_builder(folder):
        if not home.exists():
            _install(home)
    return home / "node_modules"


def _check_node() -> None:
    if missing := [name for name in ("node", "npm") if shutil.which(name) is None]:
        pytest.skip(f"{' and '.join(missing)} not found: install Node {_MIN_NODE} or later to test JavaScript clients")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < _MIN_NODE:
        pytest.skip(f"node is {version}: install Node {_MIN_NODE} or later to test JavaScript clients")


def _install(home: Path) -> None:
    """`home` appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=home.parent) as work:
        made = Path(work) / "made"
        made.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SCRIPTS / name, made)
        # No script of a package runs: esbuild's binary comes as a package of its own.
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=_INSTALL_LIMIT_S, check=False)
        if done.returncode:
            pytest.fail(f"npm ci could not install {SCRIPTS / 'package-lock.json'}:\n{done.stderr}", pytrace=False)
        made.rename(home)
