"""What the packages import is among their dependencies: an image is installed from these alone."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What others are made of: Flask of Werkzeug, and Pydantic of annotated-types.
COME_ALONG = {"werkzeug", "annotated_types"}
PACKAGES = ("reranker", "ingest", "mappings", "sinkrank")


def imported_at_once(nodes: Sequence[ast.stmt]) -> set[str]:
    """First parts of the names that importing a module imports; not what functions or TYPE_CHECKING ask for, nor what
    stands in a block such as `with extra(…)`."""
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names, *PACKAGES, *COME_ALONG}


def normalised(requirement: str) -> str:
    return re.split(r"[<>=\[]", requirement)[0].lower().replace("_", "-")


def undeclared(packages: Sequence[str], declared: set[str], in_blocks: bool = False) -> set[str]:
    """The imports of the packages that are not among the declared distributions."""
    homes = packages_distributions()
    missing = set()
    for path in (path for package in packages for path in (ROOT / package).rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        nodes = [inner for node in body if isinstance(node, ast.With) for inner in node.body] if in_blocks else body
        for name in imported_at_once(nodes):
            if name in homes and not {normalised(home) for home in homes[name]} & declared:
                missing.add(f"{path.relative_to(ROOT)}: {name}")
    return missing


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEPENDENCIES = {normalised(line) for line in PROJECT["dependencies"]}
EXTRAS = {normalised(line) for lines in PROJECT["optional-dependencies"].values() for line in lines}


def test_what_is_imported_at_once_is_installed_without_any_extra() -> None:
    assert not undeclared(PACKAGES, DEPENDENCIES)


def test_what_is_imported_for_an_extra_is_in_one() -> None:
    assert not undeclared(PACKAGES, EXTRAS, in_blocks=True)


def test_each_extra_that_is_named_can_be_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    sources += [path for folder in (*PACKAGES, "tests") for path in (ROOT / folder).rglob("*.py")]
    forms = r"(?:sinkrank|'\.)\[([\w,]+)\]|extra\(\"(\w+)|\(extra `(\w+)`\)"
    named = {
        extra
        for path in sources
        for names in re.findall(forms, path.read_text(encoding="utf-8"))
        for extra in ",".join(names).split(",")
        if extra
    }
    assert {"prepare", "html", "words"} <= named
    assert named <= set(project["optional-dependencies"])
