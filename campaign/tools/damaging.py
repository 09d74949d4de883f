"""Damages a file as disks and careless copies do: one bit, some bytes, a page of zeros, a lost end."""

from __future__ import annotations

from pathlib import Path
from random import Random

PAGE_BYTES = 4096
KINDS = ("bit", "bit", "bit", "bytes", "zeros", "cut")


def damage(path: Path, random: Random) -> str:
    """Changes the file in place; says how. The contents differ afterwards."""
    before = path.read_bytes()
    while True:
        kind = random.choice(KINDS)
        place = random.randrange(len(before))
        after = bytearray(before)
        if kind == "bit":
            after[place] ^= 1 << random.randrange(8)
        elif kind == "bytes":
            after[place : place + 64] = random.randbytes(len(after[place : place + 64]))
        elif kind == "zeros":
            place -= place % PAGE_BYTES
            after[place : place + PAGE_BYTES] = bytes(len(after[place : place + PAGE_BYTES]))
        else:
            del after[place:]
        if after != before:
            path.write_bytes(after)
            return f"{kind} at {place:,} of {len(before):,} in {path.name}"
