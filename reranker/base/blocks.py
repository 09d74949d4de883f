"""Checksums of a file's blocks: they say whether a file is what was written, and where it is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO
from zlib import crc32

BLOCK_BYTES = 1 << 20
_DIGITS = 8  # of a CRC-32 in hexadecimal


def block_sums(file: BinaryIO, n_bytes: int) -> str:
    """The CRC-32 of each block of the first `n_bytes` of an open file, 8 hexadecimal digits each.

    CRC-32 finds every damage of up to 32 bits in a row, and any other but one in 4 billion; it reads 4 GB a second.
    """
    starts = range(0, n_bytes, BLOCK_BYTES)
    return "".join(_sum(_read(file, start, min(start + BLOCK_BYTES, n_bytes))) for start in starts)


def check_blocks(file: BinaryIO, n_bytes: int, sums: str, n_most: int | None = None) -> Iterator[int]:
    """Compares an open file with its checksums; yields the size of each block that is right. It moves in the file, so
    no other thread may read it.

    Args:
        n_most: compare only so many blocks, evenly spaced from the first to the last; None: all.

    Raises:
        OSError: a block differs, and the message says which bytes; or the file has another size than `n_bytes`.
    """
    found = os.fstat(file.fileno()).st_size
    n_blocks = -(-n_bytes // BLOCK_BYTES)
    if found != n_bytes or len(sums) != n_blocks * _DIGITS:
        raise OSError(f"it has {found:,} bytes; {n_bytes:,} were written")
    n_compared = n_blocks if n_most is None else min(n_most, n_blocks)
    for number in range(n_compared):
        place = (n_blocks - 1) * number // max(1, n_compared - 1)
        start = place * BLOCK_BYTES
        end = min(start + BLOCK_BYTES, n_bytes)
        block = _read(file, start, end)
        if _sum(block) != sums[place * _DIGITS : (place + 1) * _DIGITS]:
            raise OSError(f"its bytes {start:,} to {end - 1:,} have changed since they were written")
        yield len(block)


def _read(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _sum(block: bytes) -> str:
    return f"{crc32(block):08x}"
