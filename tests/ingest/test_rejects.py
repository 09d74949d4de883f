"""The reject file of a run that goes on holds each reject once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest.files import Row, Source
from ingest.rejects import RejectFile, default_reject_path
from reranker.base.errors import BadInput


def names(path: Path) -> list[str]:
    return [json.loads(line)["raw"] for line in path.read_text().splitlines()]


def test_what_was_written_after_the_checkpoint_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with RejectFile(path, []) as first:
        first.add(Row("in", 1, b"one"), None, "bad")
        n_bytes = first.n_bytes
        first.add(Row("in", 2, b"two" * 1_000), None, "bad")
    with path.open("ab") as file:
        file.write(b'{"half a li')
    with RejectFile(path, [], n_bytes) as second:
        second.add(Row("in", 2, b"two"), None, "bad")
        second.add(Row("in", 3, b"three"), None, "bad")
        assert second.n_bytes == path.stat().st_size
    assert names(path) == ["one", "two", "three"]


def test_a_new_run_takes_the_place_of_an_older_file_at_its_first_reject(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("old\n")
    with RejectFile(path, []):
        pass
    assert path.read_text() == "old\n"
    with RejectFile(path, []) as rejects:
        rejects.add(Row("in", 1, b"new"), None, "bad")
    assert names(path) == ["new"]


def test_a_reject_file_that_has_lost_rows_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("short\n")
    with pytest.raises(BadInput, match="lacks rows"):
        RejectFile(path, [], 100)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b.csv", "a/b.csv.rejects.jsonl"),
        ("-", "stdin.rejects.jsonl"),
        ("site/", "site.rejects.jsonl"),
        ("http://host:9200/pages", "pages.rejects.jsonl"),
    ],
)
def test_the_default_file_is_named_after_the_input(name: str, expected: str) -> None:
    assert default_reject_path([Source(Path("x"), name, "jsonl")]) == Path(expected)
