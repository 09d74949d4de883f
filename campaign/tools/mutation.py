"""Damages bytes as accidents and attackers do: flips, cuts, repeats, and sequences that break parsers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Mutator = Callable[[bytes, Random], bytes]

# Sequences that have broken parsers of text, JSON, CSV, HTML and archives.
PIECES = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\xf0\x9f\x98\x80", b"\r", b"\r\n\r\n", b'"',
    b'""', b"'", b"\\", b"{", b"[" * 2000, b"{\"a\":" * 1000, b"]", b"}", b"NaN", b"1e999", b"-0", b"9" * 400,
    b"null", b"true", b'{"id": 1}', b'{"id": "x", "id": "y"}', b"<", b"<DOC>", b"</DOC>", b"<DOCNO>", b"<!--", b"]]>",
    b"<script>", b"&#xD800;", b"&#0;", b"&" + b"a" * 300, b"<div>" * 3000, b"<table>" * 200, b"\n" * 1000,
    b"," * 1000, b"\t" * 1000, b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh9", b"\x28\xb5\x2f\xfd", b"PAR1", b"\xe2\x80\xa8",
    b"\xe2\x80\xae", b"\x85", b"a" * 70_000, b"0 0\n", b"99999999 99999999\n", b"-1 -1\n", b"nan inf -inf 1e40\n",
)  # fmt: skip


def mutated(content: bytes, random: Random, most: int = 4) -> bytes:
    """`content` after one to `most` changes."""
    for _ in range(random.randint(1, most)):
        content = random.choice(MUTATORS)(content, random)
    return content


def _flip_bits(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(random.randint(1, 8)):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, random: Random) -> bytes:
    first, last = _part(content, random)
    return content[:first] + random.randbytes(last - first) + content[last:]


def _delete(content: bytes, random: Random) -> bytes:
    first, last = _part(content, random)
    return content[:first] + content[last:]


def _repeat(content: bytes, random: Random) -> bytes:
    first, last = _part(content, random)
    return content[:last] + content[first:last] * random.randint(1, 20) + content[last:]


def _move(content: bytes, random: Random) -> bytes:
    first, last = _part(content, random)
    rest = content[:first] + content[last:]
    place = random.randint(0, len(rest))
    return rest[:place] + content[first:last] + rest[place:]


def _cut(content: bytes, random: Random) -> bytes:
    return content[: random.randint(0, len(content))]


def _insert(content: bytes, random: Random) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + random.choice(PIECES) + content[place:]


def _append(content: bytes, random: Random) -> bytes:
    return content + random.choice((random.choice(PIECES), random.randbytes(random.randint(1, 300)), content))


def _zero(content: bytes, random: Random) -> bytes:
    first, last = _part(content, random)
    return content[:first] + bytes(last - first) + content[last:]


def _part(content: bytes, random: Random) -> tuple[int, int]:
    first = random.randint(0, len(content))
    return first, min(len(content), first + random.choice((1, 4, 16, 64, 1000)))


MUTATORS: tuple[Mutator, ...] = (
    _flip_bits,
    _overwrite,
    _delete,
    _repeat,
    _move,
    _cut,
    _insert,
    _insert,
    _append,
    _zero,
)
