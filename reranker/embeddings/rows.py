"""Stores rows of length 1 in fewer bytes and reads them as float32.

    float32   4 bytes a number; readers share the memory map
    float16   2 bytes
    int8      1 byte: the row scaled so that its largest absolute value is 127, rounded

float16 and int8 rows are normalised to length 1 when they are read.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from reranker.base.errors import WrongParameter
from reranker.transport import compilation

Precision = Literal["float32", "float16", "int8"]
"""The number type of stored vectors."""

PRECISIONS: tuple[Precision, ...] = get_args(Precision)

STORED_AS: dict[Precision, type[np.generic]] = {"float32": np.float32, "float16": np.float16, "int8": np.int8}

_LARGEST_INT8 = 127
_BLOCK_ROWS = 16_384  # 20 MB at 300 dimensions


def check_precision(name: str) -> Precision:
    """Returns the name if it is a precision.

    Raises:
        WrongParameter: it is not.
    """
    if name not in PRECISIONS:
        raise WrongParameter(f"{name!r} is not a precision of embeddings; give one of {', '.join(PRECISIONS)}")
    return name


def packed(rows: NDArray[np.float32], precision: Precision) -> NDArray[Any]:
    """Converts (n, dim) rows of length 1 to the stored type. No `int8` row rounds to zeros, since its largest value
    becomes 127."""
    if precision != "int8":
        return np.ascontiguousarray(rows, dtype=STORED_AS[precision])
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    return np.rint(rows * (_LARGEST_INT8 / np.where(largest > 0, largest, 1))).astype(np.int8)


class CompactRows:
    """(n_terms, dim) rows of length 1 in float16 or int8 that can be read like a float32 array: by an index, a slice,
    an array of indices, `take` or `numpy.asarray`. Reading returns a new array.

    It has only the attributes of an array that the kernels use. The kernels copy rows that are not contiguous before
    they compute with them, so `flags` says that these are not contiguous.

    Attributes:
        codes: (n_terms, dim) as stored.
    """

    ndim = 2
    dtype = np.dtype(np.float32)
    flags = SimpleNamespace(c_contiguous=False, writeable=False)

    def __init__(self, codes: NDArray[Any]) -> None:
        self.codes = codes
        self.shape: tuple[int, int] = cast(tuple[int, int], codes.shape)
        self.strides = codes.strides
        self.ctypes = codes.ctypes
        self._codes = np.asarray(codes)  # the same memory; indexing a plain array is faster than a memory map

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        if isinstance(rows, tuple):
            raise IndexError("compact rows take one index, of rows; take rows first, then columns of the result")
        picked = np.asarray(rows)
        if picked.ndim == 1 and np.issubdtype(picked.dtype, np.integer):
            return self._unpacked_at(picked)
        return _unpacked(self._codes[rows])

    def take(self, indices: Any, axis: int = 0, out: None = None, mode: str = "raise") -> NDArray[np.float32]:
        """Called by `numpy.take`; axis 0 only."""
        if axis != 0 or out is not None or mode != "raise":
            raise ValueError("compact rows support take along axis 0 only, into a new array and with mode='raise'")
        return self[np.asarray(indices)]

    def _unpacked_at(self, row_ids: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        wanted = row_ids.astype(np.int64)
        wanted[wanted < 0] += len(self)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < len(self):
            raise IndexError(f"rows {row_ids.min()} to {row_ids.max()} were asked for, but there are {len(self)}")
        if not compilation.is_ready():
            return _unpacked(self._codes[wanted])
        from reranker.embeddings import unpacking  # compiled on first use

        rows = np.empty((len(wanted), self.shape[1]), dtype=np.float32)
        if self._codes.dtype == np.int8:
            unpacking.unpack_int8(self._codes, wanted, rows)
        else:
            unpacking.unpack_float16(self._codes.view(np.uint16), unpacking.HALVES, wanted, rows)
        return rows

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("compact rows cannot become an array without a copy")
        rows = np.empty(self.shape, dtype=dtype or np.float32)
        for start in range(0, len(self), _BLOCK_ROWS):
            rows[start : start + _BLOCK_ROWS] = self[start : start + _BLOCK_ROWS]
        return rows


def _unpacked(codes: NDArray[Any]) -> NDArray[np.float32]:
    rows = codes.astype(np.float32)
    norms = np.sqrt(np.einsum("...j,...j->...", rows, rows))
    return cast(NDArray[np.float32], np.divide(rows, norms[..., None], out=rows))
