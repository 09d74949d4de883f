"""Converts rows of float16 or int8 to float32 of length 1 in one pass, in a third of NumPy's time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.transport.kernels.compiling import compiled

# Numba has no float16, so this has all 65,536 values by their bits.
HALVES: NDArray[np.float32] = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


@compiled
def unpack_int8(codes: NDArray[np.int8], row_ids: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
    """Fills `rows` (k, dim) with the rows `row_ids` (k,) of `codes` (n, dim). Row ids are not checked."""
    for place in range(len(row_ids)):
        code, row = codes[row_ids[place]], rows[place]
        square = np.int64(0)
        for column in range(len(row)):
            square += np.int64(code[column]) * np.int64(code[column])
        scale = np.float32(1 / np.sqrt(np.float64(square)))
        for column in range(len(row)):
            row[column] = np.float32(code[column]) * scale


@compiled
def unpack_float16(
    bits: NDArray[np.uint16], halves: NDArray[np.float32], row_ids: NDArray[np.int64], rows: NDArray[np.float32]
) -> None:
    """As `unpack_int8`, from the bits of float16; `halves` is `HALVES`."""
    for place in range(len(row_ids)):
        code, row = bits[row_ids[place]], rows[place]
        square = np.float32(0)
        for column in range(len(row)):
            number = halves[code[column]]
            row[column] = number
            square += number * number
        scale = np.float32(1) / np.sqrt(square)
        for column in range(len(row)):
            row[column] *= scale


def warm_up() -> None:
    """Compiles both functions for read-only arrays, as memory maps are."""
    row_ids, rows = np.zeros(1, np.int64), np.empty((1, 1), np.float32)
    codes, bits = np.ones((1, 1), np.int8), np.ones((1, 1), np.float16).view(np.uint16)
    for array in (codes, bits):
        array.flags.writeable = False
    unpack_int8(codes, row_ids, rows)
    unpack_float16(bits, HALVES, row_ids, rows)
