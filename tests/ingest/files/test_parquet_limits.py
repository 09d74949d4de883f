"""Parquet files that unpack to far more than their size."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from ingest.files import Row, Source, read_header, read_rows
from reranker.base.errors import BadInput


def written(tmp_path: Path, columns: dict[str, Any], **options: Any) -> Source:
    path = tmp_path / "in.parquet"
    table = pyarrow.table(columns)
    parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=10**8, **options)
    return Source(path, "in.parquet", "parquet")


def shared(n_rows: int, n_bytes: int) -> Any:
    """A column of rows that share one string."""
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * n_rows, pyarrow.int32()), ["x" * n_bytes])


def as_dicts(rows: list[Row]) -> list[Any]:
    import orjson

    return [orjson.loads(row.raw) for row in rows]


def test_one_long_string_that_all_rows_share_is_refused_before_it_is_repeated(tmp_path: Path) -> None:
    source = written(tmp_path, {"text": shared(1_000, 3_000_000)}, store_schema=False)
    assert source.path.stat().st_size < 2_000
    before = pyarrow.total_allocated_bytes()
    tracemalloc.start()
    with pytest.raises(BadInput, match=r"in.parquet .* more than 100 times its size; .* convert it to JSONL"):
        list(read_rows(source))
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()
    assert pyarrow.total_allocated_bytes() - before < 100_000_000


@pytest.mark.parametrize("name", ["list", "struct"])
def test_so_is_one_in_a_list_or_an_object(tmp_path: Path, name: str) -> None:
    text = "x" * 1_000_000
    values = {"list": [text] * 20, "struct": {"part": text}}[name]
    source = written(tmp_path, {"text": [values] * 20})
    with pytest.raises(BadInput, match="unpacks to more than 100 times its size"):
        list(read_rows(source))


def test_a_list_of_millions_of_zeros_is_refused_before_the_run(tmp_path: Path) -> None:
    source = written(tmp_path, {"text": ["a"], "values": [[0] * 3_000_000]})
    with pytest.raises(BadInput, match="unpacks to more than 100 times its size"):
        read_header(source)


def test_rows_of_a_large_batch_are_read_one_by_one_and_those_too_long_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.files.parquet._MAX_BATCH_BYTES", 100)
    monkeypatch.setattr("ingest.files.parquet.MAX_ROW_BYTES", 1_000)
    source = written(tmp_path, {"id": ["1", "2", "3"], "text": ["a", "b" * 1_001, "c" * 900]})

    first, second, third = read_rows(source)

    assert [first.line, second.line, third.line] == [1, 2, 3]
    assert as_dicts([first, third]) == [{"id": "1", "text": "a"}, {"id": "3", "text": "c" * 900}]
    assert second.error == "the row is longer than 1,000 bytes; split it"


@pytest.mark.parametrize("max_batch_bytes", [0, 10**6])
def test_all_types_are_read_as_they_were_written(
    tmp_path: Path, max_batch_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.files.parquet._MAX_BATCH_BYTES", max_batch_bytes)
    rows: list[dict[str, Any]] = [
        {"id": "1", "tags": ["a", None], "more": {"x": "q", "y": 1}, "map": None, "number": 1.5},
        {"id": None, "tags": None, "more": None, "map": [("k", "v")], "number": None},
        {"id": "3", "tags": [], "more": {"x": None, "y": None}, "map": [], "number": 2.0},
    ]
    types = {"map": pyarrow.map_(pyarrow.string(), pyarrow.string())}
    columns: dict[str, Any] = {name: pyarrow.array([row[name] for row in rows], types.get(name)) for name in rows[0]}
    columns["kind"] = pyarrow.array(["a", "b", "a"]).dictionary_encode()
    source = written(tmp_path, columns)
    found = as_dicts(list(read_rows(source)))
    rows[1]["map"] = [["k", "v"]]  # JSON has no tuples
    assert found == [{**row, "kind": kind} for row, kind in zip(rows, "aba", strict=True)]


def test_ordinary_files_of_many_rows_are_read_whole(tmp_path: Path) -> None:
    source = written(tmp_path, {"id": [str(n) for n in range(5_000)], "lang": ["en"] * 5_000}, row_group_size=700)
    assert [row["id"] for row in as_dicts(list(read_rows(source)))] == [str(n) for n in range(5_000)]
