"""A home with the tiny embeddings and an index of four documents, and the command line to run in it."""

from __future__ import annotations

import itertools
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import urllib3
from typer.testing import CliRunner, Result

from sinkrank.commands.app import app
from tests.support.calls import make_index
from tests.support.engines.sources import Engine
from tests.support.tiny import tiny_embeddings

Run = Callable[..., Result]
MakeForeign = Callable[..., str]
_numbers = itertools.count(1)

# Of the French documents chat stands in 2, chien in 1, pain in 1, so that the idf is log(4/3), log(2), log(2).
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "fr/chat", "language": "fr", "title": "Chat", "text": "", "metadata": {"kind": "pet", "year": 2001}},
    {"id": "fr/animaux", "language": "fr", "text": "chat chien", "metadata": {"kind": "pet", "year": 1999}},
    {"id": "fr/pain", "language": "fr", "text": "pain", "metadata": {"kind": "food", "year": 2010}},
    {"id": "en/car", "language": "en", "text": "car", "metadata": {"kind": "thing"}},
]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any] | str]) -> Path:
    """JSONL of the rows; a string stands in it as it is."""
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="surrogateescape")
    return path


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with nothing in it, and no setting from the outside."""
    enter(tmp_path, monkeypatch)
    return tmp_path


def enter(folder: Path, patch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("SINKRANK_"):
            patch.delenv(name)
    # A busy machine is slow.
    patch.setenv("SINKRANK_STORE_TIMEOUT_S", "300")
    patch.setenv("SINKRANK_PROXY_BUDGET_MS", "60000")
    patch.chdir(folder)


@pytest.fixture(scope="session")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `home` copies."""
    folder = tmp_path_factory.mktemp("home")
    tiny_embeddings(folder / ".sinkrank" / "embeddings")
    return folder


@pytest.fixture
def home(empty_home: Path, _home: Path) -> Path:
    """A working folder with embeddings under `.sinkrank`."""
    shutil.copytree(_home, empty_home, dirs_exist_ok=True)
    return empty_home


@pytest.fixture
def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands print to a terminal of 40 columns, without colours."""
    for name, value in {"FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "40", "LINES": "25"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def run() -> Run:
    return call


def call(*arguments: str, stdin: str | bytes | None = None, exits: int | None = 0) -> Result:
    """Runs the command line in this process, and checks its exit code unless that is None."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="sinkrank")
    finally:  # `serve` sets up the log, on a standard error that is closed now
        root.handlers[:] = handlers
        root.setLevel(level)
    assert exits in (None, result.exit_code), f"{result.output}\n{result.exception}"
    return result


def assert_one_line(result: Result, message: str) -> None:
    """A failure is one line on standard error."""
    assert result.stdout == ""
    assert result.stderr.startswith("sinkrank: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.fixture(scope="session")
def _indexed(_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `indexed` copies."""
    folder = tmp_path_factory.mktemp("indexed")
    shutil.copytree(_home, folder, dirs_exist_ok=True)
    documents = write_rows(folder / "documents.jsonl", DOCUMENTS)
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        call("ingest", str(documents))
    return folder


@pytest.fixture
def indexed(empty_home: Path, _indexed: Path) -> Path:
    """A home whose store holds `DOCUMENTS`."""
    shutil.copytree(_indexed, empty_home, dirs_exist_ok=True)
    return empty_home


@pytest.fixture
def make_foreign(engine: Engine) -> Iterator[MakeForeign]:
    """Makes indices that are not ours, from properties and documents, and returns their names."""
    made: list[str] = []
    with urllib3.PoolManager(timeout=60) as http:

        def make(*properties_and_documents: Any, **mappings: Any) -> str:
            made.append(f"foreign-{os.getpid()}-{next(_numbers)}")
            make_index(http, engine.url, made[-1], *properties_and_documents, **mappings)
            return made[-1]

        yield make
        for name in made:
            http.request("DELETE", f"{engine.url}/{name}")
