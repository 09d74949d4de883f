"""Turns Parquet into rows."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from ingest.files.row import Row
from ingest.files.sources import Source
from reranker.base.errors import BadInput

_BATCH_ROWS = 1_000


def read_parquet(source: Source) -> Iterator[Row]:
    """The rows, batch by batch.

    Raises:
        BadInput: not a Parquet file, or pyarrow is not installed.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise BadInput(f"{source.name} is Parquet, which takes pyarrow; install sinkrank[parquet]") from error
    number = 0
    try:
        with parquet.ParquetFile(source.path) as file:
            for batch in file.iter_batches(_BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield _row(source.name, number, values)
    except (ArrowException, OSError) as error:
        if number == 0:
            raise BadInput(f"{source.name} cannot be read as Parquet ({error}); check its format") from error
        yield Row(source.name, number + 1, b"", None, f"the file cannot be read from here on ({error}); fetch it again")


def columns_of(source: Source) -> list[str]:
    """The names of the columns.

    Raises:
        BadInput: as `read_parquet`.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise BadInput(f"{source.name} is Parquet, which takes pyarrow; install sinkrank[parquet]") from error
    try:
        return list(parquet.read_schema(source.path).names)
    except (ArrowException, OSError) as error:
        raise BadInput(f"{source.name} cannot be read as Parquet ({error}); check its format") from error


def _row(name: str, number: int, values: dict[str, object]) -> Row:
    try:
        # Dates become ISO 8601; what JSON cannot hold has no place in an index either.
        raw = orjson.dumps(values)
    except TypeError as error:
        return Row(name, number, b"", None, f"a column holds what JSON cannot ({error}); leave it out or convert it")
    return Row(name, number, raw)
