"""Starts a Chromium: one of the machine, or else that of an npm package, unpacked once, outside the checkout."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.support.engines.assemble import cache_folder, only_one_builder

# A container's root may not make the sandbox's namespaces; the pages are our own.
_OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage"]
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Built for machines that have nothing but a C library: it carries what else it needs.
_PACKAGE = "@sparticuz/chromium@147.0.0"
_SHA256 = "18fe5404ce845594cd7d592fc07f37a19514079ba4d9c27192ad8b908743f16b"
_FETCH_LIMIT_S = 300
_START_LIMIT_MS = 300_000
# Brotli is in Node, and not in Python's standard library.
_UNPACK = """
const fs = require("fs");
const zlib = require("zlib");
for (const name of ["chromium", "al2023.tar"]) {
  fs.writeFileSync(name, zlib.brotliDecompressSync(fs.readFileSync(`package/bin/${name}.br`)));
}
"""


@dataclass(frozen=True)
class _Chromium:
    """A browser to start; `environment` is added to that of the tests."""

    path: str
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """A browser without a screen; skips the test, with the reason, where there can be none."""
    chromium = _find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.path,
            args=_OPTIONS,
            env={**os.environ, **chromium.environment},
            timeout=_START_LIMIT_MS,
        )
        yield browser
        browser.close()


def _find_chromium() -> _Chromium:
    """One of the machine, or the fetched one; skips the test, with the reason, where neither can be had."""
    for name in _NAMES:
        if found := shutil.which(name):
            return _Chromium(found)
    if missing := [name for name in ("node", "npm") if shutil.which(name) is None]:
        pytest.skip(f"no Chromium, and no {' and '.join(missing)} to fetch one with: install chromium to test the page")
    folder = cache_folder().parent / "chromium"
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / _SHA256[:12]
    with only_one_builder(folder):
        if not home.exists():
            _fetch(home)
    return _Chromium(str(home / "chromium"), {"LD_LIBRARY_PATH": str(home / "lib")})


def _fetch(home: Path) -> None:
    """`home` appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=home.parent) as name:
        work = Path(name)
        _run("npm", "pack", _PACKAGE, "--silent", work=work)
        (packed,) = work.glob("*.tgz")
        digest = hashlib.sha256(packed.read_bytes()).hexdigest()
        if digest != _SHA256:
            pytest.fail(f"{_PACKAGE} has the sha256 {digest}, expected {_SHA256}", pytrace=False)
        with tarfile.open(packed) as archive:
            archive.extractall(work, filter="data")
        _run("node", "-e", _UNPACK, work=work)
        (work / "chromium").chmod(0o755)
        with tarfile.open(work / "al2023.tar") as archive:
            archive.extractall(work, filter="data")
        for spent in (packed, work / "al2023.tar"):
            spent.unlink()
        shutil.rmtree(work / "package")
        shutil.copytree(work, home)


def _run(*command: str, work: Path) -> None:
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=_FETCH_LIMIT_S, check=False)
    if done.returncode:
        pytest.fail(f"{command[0]} could not fetch {_PACKAGE}:\n{done.stderr}", pytrace=False)
