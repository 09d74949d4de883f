"""Runs the integration tests of opensearch-haystack, from its published sources, against an address.

Pip fetches the sources once; they are checked by their digest and kept outside the checkout. The tests ask an
engine with TLS and a password at localhost: in a copy the given address stands there.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.clients.frameworks_environment import environment_python
from tests.support.engines.assemble import cache_folder, only_one_builder
from tests.support.engines.errors import EngineUnavailable

LOCK = Path(__file__).resolve().parent / "haystack" / "requirements.lock"
_NAME, _VERSION = "opensearch-haystack", "9.0.0"
_SHA256 = "a6ff8567c5fc7eefb93961c9e60af102532addc908675adb3f66c78d4d612c82"
_FETCH_LIMIT_S = 300
_RUN_LIMIT_S = 3600
_ADDRESS = '"https://localhost:9200"'
_PASSWORD = '("admin", "SecureHaystack!2026")'
# The first needs the plugin SQL, which assembled nodes do not have; the second needs boto3 and no engine.
_LEFT_OUT = ("--ignore=tests/test_sql_retriever.py", "--ignore=tests/test_auth.py")
_OPTIONS = ("-q", "-m", "integration", "-p", "no:cacheprovider", "-W", "ignore", *_LEFT_OUT)


def haystack_sources() -> Path:
    """The unpacked sources."""
    folder = cache_folder() / "haystack"
    home = folder / _SHA256[:12]
    folder.mkdir(parents=True, exist_ok=True)
    with only_one_builder(folder):
        if not home.exists():
            _fetch(home)
    return home


def run_integration_tests(address: str, folder: Path, only: Sequence[str] = ()) -> dict[str, str]:
    """How each test ended: passed, failed or skipped.

    Args:
        address: of the engine, or of the proxy.
        folder: an empty one for the copy.
        only: names of tests as given before; all without.
    """
    shutil.copytree(haystack_sources(), folder, dirs_exist_ok=True)
    for copy in folder.rglob("*.py"):
        text = copy.read_text(encoding="utf-8").replace(_ADDRESS, repr(address)).replace(_PASSWORD, "None")
        copy.write_text(text, encoding="utf-8")
    report = folder / "report.xml"
    command = [str(environment_python(LOCK)), "-m", "pytest", *_OPTIONS, f"--junitxml={report}", *(only or ["tests"])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_RUN_LIMIT_S, check=False)
    if done.returncode not in (0, 1):  # 1: some tests failed
        raise EngineUnavailable(f"the tests of {_NAME} did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return {_node_id(case): _outcome(case) for case in cases}


def _node_id(case: ElementTree.Element) -> str:
    """`tests.test_filters.TestFilters` and `test_it` are `tests/test_filters.py::TestFilters::test_it`."""
    parts = case.attrib["classname"].split(".")
    inside = ["::" + part for part in parts[2:]]
    return f"{parts[0]}/{parts[1]}.py{''.join(inside)}::{case.attrib['name']}"


def _outcome(case: ElementTree.Element) -> str:
    found = {child.tag for child in case}
    return "failed" if found & {"failure", "error"} else "skipped" if "skipped" in found else "passed"


def _fetch(home: Path) -> None:
    """`home` appears whole or not at all."""
    with TemporaryDirectory(dir=home.parent) as name:
        work = Path(name)
        options = ["--quiet", "--no-deps", "--no-binary", _NAME, "--dest", str(work)]
        command = [sys.executable, "-m", "pip", "download", *options, f"{_NAME}=={_VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_LIMIT_S, check=False)
        if done.returncode:
            raise EngineUnavailable(f"pip could not fetch the sources of {_NAME} {_VERSION}:\n{done.stderr}")
        (packed,) = work.glob("*.tar.gz")
        digest = hashlib.sha256(packed.read_bytes()).hexdigest()
        if digest != _SHA256:
            raise EngineUnavailable(f"the sources of {_NAME} have the sha256 {digest}, expected {_SHA256}")
        with tarfile.open(packed) as archive:
            archive.extractall(work / "unpacked", filter="data")
        (unpacked,) = (work / "unpacked").iterdir()
        unpacked.rename(home)
