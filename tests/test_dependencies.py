"""What the packages import is among their dependencies: an image is installed from these alone."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Parts of others: Flask is Werkzeug's, Numba compiles by llvmlite.
COME_ALONG = {"werkzeug", "llvmlite"}
PACKAGES = ("reranker", "ingest", "mappings", "evaluation", "sinkrank")


def imported_at_once(module: ast.Module) -> set[str]:
    """First parts of the names that importing the module imports; not what functions or TYPE_CHECKING ask for."""
    names = [alias.name for node in module.body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in module.body if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, *PACKAGES, *COME_ALONG}


def test_each_import_is_a_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.split(r"[<>=\[]", line)[0].lower().replace("_", "-") for one in lists for line in one}
    homes = packages_distributions()
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in imported_at_once(ast.parse(path.read_text(encoding="utf-8")))
        if name in homes and not {home.lower().replace("_", "-") for home in homes[name]} & declared
    }
    assert not missing


def test_each_extra_that_is_named_can_be_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    sources += [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    named = {
        extra
        for path in sources
        for extra in re.findall(r"(?:sinkrank|'\.)\[(\w+)\]", path.read_text(encoding="utf-8"))
    }
    assert "encoders" in named
    assert named <= set(project["optional-dependencies"])
