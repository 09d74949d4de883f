"""Limits on what a Parquet file unpacks to, checked before its values become Python objects."""

from __future__ import annotations

from typing import Any

from ingest.files.unpacking import ALWAYS_ALLOWED_BYTES, MAX_RATIO

# Arrow's widest number.
_BYTES_PER_VALUE = 8


class UnpackedLimit:
    """Counts the bytes that a file unpacks to.

    Args:
        file_bytes: size of the file.
    """

    def __init__(self, file_bytes: int) -> None:
        self._max_bytes = max(ALWAYS_ALLOWED_BYTES, MAX_RATIO * file_bytes)
        self._n_bytes = 0

    def add(self, n_bytes: int) -> None:
        """
        Raises:
            OSError: the file unpacks to more than it may.
        """
        self._n_bytes += n_bytes
        if self._n_bytes > self._max_bytes:
            raise OSError(f"it unpacks to more than {MAX_RATIO} times its size; if that is right, convert it to JSONL")


def check_metadata(file: Any, limit: UnpackedLimit) -> None:
    """Checks the metadata of a file: the size of each column, and the length of all lists.

    Args:
        file: a `pyarrow.parquet.ParquetFile`.
        limit: not changed.

    Raises:
        OSError: the file unpacks to more than it may.
    """
    n_bytes = 0
    are_lists = [column.max_repetition_level > 0 for column in file.schema]
    for group in range(file.metadata.num_row_groups):
        metadata = file.metadata.row_group(group)
        for place, is_list in enumerate(are_lists):
            column = metadata.column(place)
            n_bytes += column.total_uncompressed_size + is_list * column.num_values * _BYTES_PER_VALUE
    limit.add(n_bytes)
    limit.add(-n_bytes)


def decoded_bytes(batch: Any) -> int:
    """The size of a batch if each row has its own copy of shared strings."""
    return sum(map(_decoded_bytes, batch.columns))


def _decoded_bytes(array: Any) -> int:
    from pyarrow import ExtensionArray, compute, types

    if isinstance(array, ExtensionArray):
        array = array.storage
    kind = array.type
    if types.is_dictionary(kind) and not types.is_primitive(kind.value_type):
        lengths = compute.binary_length(array.dictionary)
        return compute.sum(lengths.take(array.indices)).as_py() or 0
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _decoded_bytes(array.flatten())
    if types.is_map(kind):
        # `keys` and `items` belong to the whole array, even if this is a slice of it.
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return sum(_decoded_bytes(part[first:last]) for part in (array.keys, array.items))
    if types.is_struct(kind):
        return sum(map(_decoded_bytes, array.flatten()))
    return int(array.nbytes)
