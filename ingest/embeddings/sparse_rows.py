"""Sparse matrices of float32, for training: what is needed of them, with products in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.native.library import declare
from reranker.native.sparse import times_dense

_similar_times_dense = declare("similar_times_dense", "ppppppqdpqppp")


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """A matrix by its rows (CSR).

    Attributes:
        values, columns: (n_values,) float32 and int32, row after row.
        offsets: (n_rows + 1,) int64, where each row begins.
    """

    values: NDArray[np.float32]
    columns: NDArray[np.int32]
    offsets: NDArray[np.int64]
    n_columns: int

    @classmethod
    def of_ones(cls, rows: NDArray[np.integer], columns: NDArray[np.integer], shape: tuple[int, int]) -> SparseRows:
        """1 at each (row, column) that occurs; the columns of a row are in order."""
        places = np.sort(np.asarray(rows, dtype=np.int64) * max(shape[1], 1) + columns)
        places = places[np.diff(places, prepend=-1) > 0]
        n_values = np.bincount(places // max(shape[1], 1), minlength=shape[0])
        ones = np.ones(len(places), np.float32)
        return cls(ones, (places % max(shape[1], 1)).astype(np.int32), _offsets(n_values), shape[1])

    @classmethod
    def stacked(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """The rows of the first, then those of the next; all have the same columns."""
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.columns for part in parts]),
            _offsets(np.concatenate([part.n_values_of_rows for part in parts])),
            parts[0].n_columns,
        )

    @property
    def n_rows(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_values_of_rows(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """(n_values,) the row of each value."""
        return np.repeat(np.arange(self.n_rows), self.n_values_of_rows)

    def with_values(self, values: NDArray[np.float32]) -> SparseRows:
        """The same places with other values; those that are 0 are left out."""
        there = values != 0
        n_values = np.bincount(self.rows[there], minlength=self.n_rows)
        return SparseRows(values[there], self.columns[there], _offsets(n_values), self.n_columns)

    def transposed(self) -> SparseRows:
        order = np.argsort(self.columns, kind="stable")
        n_values = np.bincount(self.columns, minlength=self.n_columns)
        return SparseRows(self.values[order], self.rows[order].astype(np.int32), _offsets(n_values), self.n_rows)

    def dense(self) -> NDArray[np.float32]:
        """(n_rows, n_columns)"""
        found = np.zeros((self.n_rows, self.n_columns), np.float32)
        found[self.rows, self.columns] = self.values
        return found

    def __matmul__(self, dense: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n_rows, width), the product with (n_columns, width)."""
        dense, _ = self._space(dense, self.n_columns)
        return times_dense(self.values, self.columns, self.offsets, dense)

    def similar_times(self, dense: NDArray[np.float32], least: float) -> NDArray[np.float32]:
        """(n_rows, width): for each row the sum of its similarity to each other row, times that row of `dense` (n_rows,
        width). The similarity is the product of the two rows, or 0 if it is below `least`; all values are above 0."""
        dense, result = self._space(dense, self.n_rows)
        columns = self.transposed()
        sums, touched = np.zeros(self.n_rows, np.float32), np.empty(self.n_rows, np.int32)
        _similar_times_dense(
            self.values, self.columns, self.offsets, columns.values, columns.columns, columns.offsets, self.n_rows,
            least, dense, dense.shape[1], sums, touched, result,
        )  # fmt: skip
        return result

    def _space(self, dense: NDArray[np.float32], n_rows: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        if dense.ndim != 2 or len(dense) != n_rows:
            raise ValueError(f"the matrix has the shape {dense.shape}, expected {n_rows} rows")
        dense = np.ascontiguousarray(dense, dtype=np.float32)
        return dense, np.empty((self.n_rows, dense.shape[1]), np.float32)


def _offsets(n_values: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(n_values)]).astype(np.int64)
