"""The reject file of a run takes the place of an older one."""

from __future__ import annotations

import json
import os
import sys
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_runs_at_the_same_time_keep_the_rejects_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("old\n")
    with RejectFile(path, []) as first:
        with RejectFile(path, []) as second:
            for rejects, raw in ((first, b"1"), (second, b"a longer one"), (first, b"2"), (second, b"3")):
                rejects.add(Row("in", 1, raw), None, "bad")
        with RejectFile(path, []) as third:
            third.add(Row("in", 1, b"4"), None, "bad")
        first.add(Row("in", 2, b"5"), None, "bad")
    assert names(path) == ["1", "a longer one", "2", "3", "4", "5"]
    with RejectFile(path, []) as later:
        later.add(Row("in", 1, b"6"), None, "bad")
    assert names(path) == ["6"]


def test_rejects_can_go_to_a_device() -> None:
    with RejectFile(Path(os.devnull), []) as rejects:
        rejects.add(Row("in", 1, b"1"), None, "bad")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b.csv", "a/b.csv.rejects"),
        ("-", "stdin.rejects"),
        ("site/", "site.rejects"),
        ("site/.", "site.rejects"),
        ("http://host:9200/pages", "pages.rejects"),
    ],
)
def test_the_default_file_is_named_after_the_input(name: str, expected: str) -> None:
    assert default_reject_path([Source(Path("x"), name, "jsonl")]) == Path(expected)


@pytest.mark.parametrize("name", [".", "./", "b/..", "../site"])
def test_the_default_file_of_the_working_folder_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "site" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "site")
    path = default_reject_path([Source(Path(name), name, "folder")])
    assert path.name == "site.rejects"
