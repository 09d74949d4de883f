"""A home with the tiny embeddings and an index of four documents, and the command line to run in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sinkrank.commands.app import app
from tests.tiny import tiny_embeddings

Run = Callable[..., Result]

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
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with nothing in it, and no setting from the outside."""
    for name in list(os.environ):
        if name.startswith("SINKRANK_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def home(empty_home: Path) -> Path:
    """A working folder with embeddings under `.sinkrank`."""
    tiny_embeddings(empty_home / ".sinkrank" / "embeddings")
    return empty_home


@pytest.fixture
def run() -> Run:
    """Runs the command line in this process."""

    def call(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=stdin, prog_name="sinkrank")

    return call


@pytest.fixture
def indexed(home: Path, run: Run) -> Path:
    """A home whose store holds `DOCUMENTS`."""
    result = run("ingest", str(write_rows(home / "documents.jsonl", DOCUMENTS)))
    assert result.exit_code == 0, result.stderr
    return home
