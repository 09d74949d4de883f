"""Checksums of a file's blocks: they say whether a file is what was written, and where it is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from zlib import crc32

BLOCK_BYTES = 1 << 20
_DIGITS = 8  # of a CRC-32 in hexadecimal


class WrongBlock(Exception):
    """A block of a file is not what was written; the message says which bytes."""


def block_sums(descriptor: int, n_bytes: int) -> str:
    """The CRC-32 of each block of the first `n_bytes` of an open file, 8 hexadecimal digits each.

    CRC-32 finds every damage of up to 32 bits in a row, and any other but one in 4 billion; it reads 4 GB a second.
    """
    starts = range(0, n_bytes, BLOCK_BYTES)
    return "".join(_sum(os.pread(descriptor, min(BLOCK_BYTES, n_bytes - start), start)) for start in starts)


def check_blocks(descriptor: int, n_bytes: int, sums: str) -> Iterator[int]:
    """Compares an open file with its checksums; yields the size of each block that is right.

    Raises:
        WrongBlock: a block differs, or the file has another size than `n_bytes`.
    """
    found = os.fstat(descriptor).st_size
    if found != n_bytes or len(sums) != -(-n_bytes // BLOCK_BYTES) * _DIGITS:
        raise WrongBlock(f"it has {found:,} bytes; {n_bytes:,} were written")
    for place, start in enumerate(range(0, n_bytes, BLOCK_BYTES)):
        end = min(start + BLOCK_BYTES, n_bytes)
        block = os.pread(descriptor, end - start, start)
        if _sum(block) != sums[place * _DIGITS : (place + 1) * _DIGITS]:
            raise WrongBlock(f"its bytes {start:,} to {end - 1:,} are not what was written")
        yield len(block)


def _sum(block: bytes) -> str:
    return f"{crc32(block):08x}"
