"""What `import sinkrank` offers, and what it does not load."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import sinkrank
from reranker.base import errors

HEAVY = {
    "scipy", "ot", "sklearn", "ir_measures", "lxml", "trafilatura", "pydantic", "flask",
    "opensearchpy", "asyncio",
}  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    script = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    return set(done.stdout.split())


def test_the_import_alone_loads_no_package_of_others() -> None:
    assert loaded_by("import sinkrank") & {*HEAVY, "numpy", "reranker", "ingest"} == set()


def test_the_reranker_loads_nothing_heavy_before_its_first_transport() -> None:
    loaded = loaded_by("import sinkrank; sinkrank.Reranker")

    assert "numpy" in loaded
    assert loaded & HEAVY == set()


def test_each_public_name_is_there_and_in_dir() -> None:
    for name in sinkrank.__all__:
        assert getattr(sinkrank, name) is not None
    assert set(sinkrank.__all__) <= set(dir(sinkrank))
    assert sinkrank.__version__ == metadata.version("sinkrank")


def test_every_error_is_public() -> None:
    classes = {name for name, each in inspect.getmembers(errors, inspect.isclass) if each.__module__ == errors.__name__}

    assert "NoEmbeddings" in classes
    assert classes <= set(sinkrank.__all__)


def test_type_checkers_see_each_public_name() -> None:
    module = ast.parse(Path(sinkrank.__file__).read_text(encoding="utf-8"))
    (typed,) = (node for node in module.body if isinstance(node, ast.If))
    imported = {alias.name for node in typed.body if isinstance(node, ast.ImportFrom) for alias in node.names}

    assert imported | {"__version__"} == set(sinkrank.__all__)
    assert (Path(sinkrank.__file__).parent / "py.typed").is_file()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Rerankers'"):
        _ = sinkrank.Rerankers
