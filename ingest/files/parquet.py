"""Turns Parquet into rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from ingest.files.lines import MAX_ROW_BYTES, open_packed
from ingest.files.row import Row, check_columns
from ingest.files.sources import Source
from reranker.base.errors import BadInput
from reranker.base.extras import extra

_BATCH_ROWS = 250
# Of each column. A page that is larger is read whole.
_BUFFER_BYTES = 2**16


def read_parquet(source: Source) -> Iterator[Row]:
    """The rows, batch by batch.

    Raises:
        BadInput: not a Parquet file, or not a file, or two columns have one name.
        MissingPackage: pyarrow is not installed.
    """
    pyarrow = _pyarrow()
    number = 0
    try:
        with (
            open_packed(source.path) as raw,
            # By default a whole row group, of which a file may have only one, is held in memory.
            pyarrow.parquet.ParquetFile(raw, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file,
        ):
            check_columns(source.name, file.schema_arrow.names)
            fields = [field.with_type(_in_microseconds(pyarrow, field.type)) for field in file.schema_arrow]
            schema = pyarrow.schema(fields)
            for batch in file.iter_batches(_BATCH_ROWS):
                for row in _rows(source.name, number, batch.cast(schema, safe=False)):
                    number += 1
                    yield row
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        if number == 0:
            raise BadInput(f"{source.name} cannot be read as Parquet ({error}); check its format") from error
        yield Row(source.name, number + 1, b"", None, f"the file cannot be read from here on ({error}); fetch it again")


def columns_of(source: Source) -> list[str]:
    """The names of the columns.

    Raises:
        BadInput, MissingPackage: as `read_parquet`.
    """
    pyarrow = _pyarrow()
    try:
        with open_packed(source.path) as raw, pyarrow.parquet.ParquetFile(raw) as file:
            return check_columns(source.name, file.schema_arrow.names)
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise BadInput(f"{source.name} cannot be read as Parquet ({error}); check its format") from error


def _pyarrow() -> Any:
    with extra("parquet", "reading Parquet"):
        import pyarrow.parquet
    return pyarrow


def _in_microseconds(pyarrow: Any, kind: Any) -> Any:
    """The type with times in microseconds, as Python has them. (For nanoseconds pyarrow needs pandas, and JSON does not
    support its type.)"""
    types, inner = pyarrow.types, partial(_in_microseconds, pyarrow)
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pyarrow.timestamp("us", kind.tz)
    if types.is_time64(kind):
        return pyarrow.time64("us")
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(inner(field.type)) for field in kind])
    if types.is_map(kind):
        return pyarrow.map_(inner(kind.key_type), inner(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pyarrow.list_(inner(kind.value_type))
    return kind


def _rows(name: str, number: int, batch: Any) -> Iterator[Row]:
    """
    Args:
        number: number of rows before the batch.
    """
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError, KeyError) as error:  # not UTF-8, a year after 9999, an unknown time zone
        if batch.num_rows == 1:
            reason = f"a column cannot be read ({error}); correct it in the file"
            yield Row(name, number + 1, b"", None, reason)
            return
        for place in range(batch.num_rows):
            yield from _rows(name, number + place, batch.slice(place, 1))
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
    if len(raw) > MAX_ROW_BYTES:
        return Row(name, number, b"", None, f"the row is longer than {MAX_ROW_BYTES:,} bytes; split it")
    return Row(name, number, raw)
