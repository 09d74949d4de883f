"""Makes valid files of every format that ingest reads, for a trial to damage."""

from __future__ import annotations

import bz2
import csv
import gzip
import html
import io
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pyarrow
from pyarrow import parquet

from campaign.tools.material import documents, vocabulary

Row = Mapping[str, Any]


def _jsonl(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _separated(separator: str) -> Callable[[Sequence[Row]], bytes]:
    def write(rows: Sequence[Row]) -> bytes:
        file = io.StringIO()
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
        return file.getvalue().encode()

    return write


def _parquet(rows: Sequence[Row]) -> bytes:
    file = io.BytesIO()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    parquet.write_table(pyarrow.table(columns), file, compression="zstd")
    return file.getvalue()


def _html(rows: Sequence[Row]) -> bytes:
    parts = "".join(f"<h2>{html.escape(row['title'])}</h2><p>{html.escape(row['text'])}</p>" for row in rows)
    return f"<!DOCTYPE html><html lang=en><head><title>Pages</title></head><body>{parts}</body></html>".encode()


def _markdown(rows: Sequence[Row]) -> bytes:
    return "".join(f"# {row['title']}\n\n*{row['text']}*\n\n- `{row['id']}`\n\n" for row in rows).encode()


def _text(rows: Sequence[Row]) -> bytes:
    return "\n\n".join(row["text"] for row in rows).encode()


DOCUMENTS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    ".jsonl": _jsonl,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
    ".html": _html,
    ".md": _markdown,
    ".txt": _text,
}


def _vectors(random: Random) -> list[tuple[str, list[float]]]:
    return [(word, [random.gauss(0, 1) for _ in range(8)]) for word in vocabulary("en")[:40]]


def _with_header(random: Random) -> bytes:
    return b"40 8\n" + _without_header(random)


def _without_header(random: Random) -> bytes:
    return "".join(f"{word} {' '.join(f'{x:.4f}' for x in row)}\n" for word, row in _vectors(random)).encode()


def _binary(random: Random) -> bytes:
    rows = [word.encode() + b" " + struct.pack("<8f", *row) + b"\n" for word, row in _vectors(random)]
    return b"40 8\n" + b"".join(rows)


EMBEDDINGS: dict[str, Callable[[Random], bytes]] = {".vec": _with_header, ".glove": _without_header, ".bin": _binary}


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
}


def sound_file(random: Random) -> tuple[str, bytes, Callable[[bytes], bytes] | None]:
    """The suffix of a file's name, its contents, and its compression, if any."""
    if random.random() < 0.75:
        suffix = random.choice(list(DOCUMENTS))
        content = DOCUMENTS[suffix](documents(random.randint(1, 30), random))
        packings: tuple[str, ...] = () if suffix == ".parquet" else (".gz", ".bz2")
    else:
        suffix = random.choice(list(EMBEDDINGS))
        content, packings = EMBEDDINGS[suffix](random), (".gz", ".bz2")
    if not packings or random.random() < 0.5:
        return suffix, content, None
    packing = random.choice(packings)
    return suffix + packing, content, PACKERS[packing]
