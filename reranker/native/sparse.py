"""Products of sparse matrices in C (`sparse.c`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.native.library import declare

_times_dense = declare("sparse_times_dense", "pppqpqp")


def times_dense(
    values: NDArray[np.float32], columns: NDArray[np.int32], offsets: NDArray[np.int64], dense: NDArray[np.float32]
) -> NDArray[np.float32]:
    """(n_rows, width), the product of a sparse matrix with (n_columns, width). All arrays are contiguous.

    Args:
        values, columns: of the matrix, row after row.
        offsets: (n_rows + 1,), where each row begins.
    """
    result = np.empty((len(offsets) - 1, dense.shape[1]), np.float32)
    _times_dense(values, columns, offsets, len(result), dense, dense.shape[1], result)
    return result
