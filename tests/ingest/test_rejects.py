"""The reject file of a run takes the place of an older one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingest.files import Row, Source
from ingest.rejects import RejectFile, default_reject_path


def names(path: Path) -> list[str]:
    return [json.loads(line)["raw"] for line in path.read_text().splitlines()]


def test_a_new_run_takes_the_place_of_an_older_file_at_its_first_reject(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("old\n")
    with RejectFile(path, []):
        pass
    assert path.read_text() == "old\n"
    with RejectFile(path, []) as rejects:
        rejects.add(Row("in", 1, b"new"), None, "bad")
    assert names(path) == ["new"]


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
