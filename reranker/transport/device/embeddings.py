"""Puts a block of embeddings on a device once, for many calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.transport.device.devices import Array, Device, open_device, slices
from reranker.transport.problem import check_embeddings, check_rows

# Rows that are read from a memory map and sent at once: 20 MB at 300 dimensions.
_BLOCK_ROWS = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class DeviceEmbeddings:
    """Embeddings that lie on a device.

    Attributes:
        device: where.
        host: (n_terms, dim) the block they were copied from; it must not change.
        rows: (n_terms, dim) float32 on the device.
        finite: (n_terms,) bool, on the host: the rows without NaN and inf.
    """

    device: Device
    host: NDArray[np.float32]
    rows: Array
    finite: NDArray[np.bool_]

    @classmethod
    def upload(cls, embeddings: NDArray[np.float32], device: str | Device = "cpu") -> DeviceEmbeddings:
        """Copies embeddings to a device: 4 bytes times n_terms times dim of its memory.

        Args:
            embeddings: (n_terms, dim) float32, rows of norm 1; may be a memory map.
            device: its name (`open_device`).

        Raises:
            BadInput: a block of another shape or type.
            WrongParameter: a device that there is not.
        """
        check_embeddings(embeddings)
        place = open_device(device) if isinstance(device, str) else device
        rows = place.xp.empty(embeddings.shape, dtype=place.xp.float32, device=place.place)
        finite = np.ones(len(embeddings), dtype=np.bool_)
        for part in slices(len(embeddings), _BLOCK_ROWS):
            block = np.asarray(embeddings[part], dtype=np.float32)
            finite[part] = np.isfinite(block).all(axis=1)
            rows[part, :] = place.put(block)
        return cls(place, embeddings, rows, finite)

    def check(self, term_ids: NDArray[np.int32]) -> None:
        """Raises BadEmbeddings if the embedding of one of these terms is not finite."""
        wrong: NDArray[Any] = term_ids[~self.finite[term_ids]]
        if len(wrong):
            check_rows(wrong[:1], np.asarray(self.host[wrong[:1]]))
