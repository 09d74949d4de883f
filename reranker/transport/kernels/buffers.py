"""Working memory of the loops, aligned to cache lines."""

from __future__ import annotations

import numpy as np

from reranker.transport.kernels.arrays import Float
from reranker.transport.kernels.compiling import compiled
from reranker.transport.kernels.simd import REGISTER_BYTES


@compiled
def rounded_up(m: int, step: int) -> int:
    return (m + step - 1) // step * step


@compiled
def floats(n: int, like: Float) -> Float:
    """n zeros that begin with a cache line: a register that lies across two takes twice as long to load."""
    itemsize = like.itemsize
    room = np.zeros(n + REGISTER_BYTES // itemsize, like.dtype)
    skipped = (-room.ctypes.data % REGISTER_BYTES) // itemsize
    return room[skipped : skipped + n]
