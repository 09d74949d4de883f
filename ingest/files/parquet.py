"""Turns Parquet into rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from ingest.files.lines import MAX_ROW_BYTES
from ingest.files.parquet_limits import UnpackedLimit, check_metadata, decoded_bytes
from ingest.files.row import Row
from ingest.files.sources import Source
from reranker.base.errors import BadInput

_BATCH_ROWS = 1_000
# Larger batches become Python objects row by row.
_MAX_BATCH_BYTES = 64 * 2**20


def read_parquet(source: Source) -> Iterator[Row]:
    """The rows, batch by batch.

    Raises:
        BadInput: not a Parquet file, one that unpacks to too much, or pyarrow is not installed.
    """
    pyarrow = _pyarrow(source)
    number = 0
    try:
        limit = UnpackedLimit(source.path.stat().st_size)
        with pyarrow.parquet.ParquetFile(source.path) as file:
            check_metadata(file, limit)
            schema = file.schema_arrow
            strings = [column.path for column in file.schema if column.physical_type == "BYTE_ARRAY"]
        # A string that many rows share stays one string until its length is checked.
        with pyarrow.parquet.ParquetFile(source.path, read_dictionary=strings) as file:
            for batch in file.iter_batches(_BATCH_ROWS):
                n_bytes = decoded_bytes(batch)
                limit.add(n_bytes)
                for part in [batch] if n_bytes <= _MAX_BATCH_BYTES else _single_rows(batch):
                    for row in _rows(source.name, number, part, schema):
                        number += 1
                        yield row
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        if number == 0:
            raise BadInput(f"{source.name} cannot be read as Parquet ({error}); check its format") from error
        yield Row(source.name, number + 1, b"", None, f"the file cannot be read from here on ({error}); fetch it again")


def columns_of(source: Source) -> list[str]:
    """The names of the columns.

    Raises:
        BadInput: as `read_parquet`.
    """
    pyarrow = _pyarrow(source)
    try:
        with pyarrow.parquet.ParquetFile(source.path) as file:
            check_metadata(file, UnpackedLimit(source.path.stat().st_size))
            return list(file.schema_arrow.names)
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise BadInput(f"{source.name} cannot be read as Parquet ({error}); check its format") from error


def _pyarrow(source: Source) -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise BadInput(f"{source.name} is Parquet, which needs pyarrow; install sinkrank[parquet]") from error
    return pyarrow


def _single_rows(batch: Any) -> Iterator[Any]:
    return (batch.slice(place, 1) for place in range(batch.num_rows))


def _rows(name: str, number: int, batch: Any, schema: Any) -> Iterator[Row]:
    """
    Args:
        number: number of rows before the batch.
    """
    if batch.num_rows == 1 and decoded_bytes(batch) > MAX_ROW_BYTES:
        yield Row(name, number + 1, b"", None, f"the row is longer than {MAX_ROW_BYTES:,} bytes; split it")
        return
    try:
        rows = batch.cast(schema).to_pylist()
    except (ValueError, OverflowError) as error:  # text that is not UTF-8, a year after 9999
        if batch.num_rows == 1:
            reason = f"a column cannot be read ({error}); correct it in the file"
            yield Row(name, number + 1, b"", None, reason)
            return
        for place, row in enumerate(_single_rows(batch)):
            yield from _rows(name, number + place, row, schema)
        return
    for place, values in enumerate(rows, start=1):
        yield _row(name, number + place, values)


def _row(name: str, number: int, values: dict[str, object]) -> Row:
    try:
        # Dates become ISO 8601. Values that JSON does not support cannot be indexed either.
        raw = orjson.dumps(values)
    except TypeError as error:
        return Row(
            name,
            number,
            b"",
            None,
            f"JSON does not support the values of a column ({error}); leave it out or convert it",
        )
    return Row(name, number, raw)
