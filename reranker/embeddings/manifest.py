"""Describes the files of an embedding store in `meta.json`, and finds damaged files.

The checksums of blocks cover every byte. Opening a store reads its small files whole and some blocks of the others.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from reranker.base.blocks import block_sums, check_blocks
from reranker.base.errors import BadEmbeddings, one_line

MAKE_AGAIN = "make the embeddings again with `sinkrank embeddings prepare --replace`"
"""The cure for a store that is damaged, or of another version."""

_DIGEST_BYTES = 16
# Of each file, when the store is opened: 16 MiB take 5 ms, and find a copy that was cut short or has holes.
_CHECKED_AT_OPEN = 16


def describe(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Size and checksums of the blocks of each file, by name, for `meta.json`."""
    return {name: _describe(folder / name) for name in names}


def _describe(path: Path) -> dict[str, Any]:
    n_bytes = path.stat().st_size
    with path.open("rb") as file:
        return {"bytes": n_bytes, "blocks": block_sums(file, n_bytes)}


def digest_of_meta(meta: Mapping[str, Any]) -> str:
    """The digest of `meta.json` without its key `digest`."""
    rest = {name: value for name, value in meta.items() if name != "digest"}
    return blake2b(json.dumps(rest).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def check(folder: Path, meta: Mapping[str, Any]) -> None:
    """Compares the files of a store with `meta.json`: sizes, all bytes of small files, and some blocks of large files.

    Raises:
        BadEmbeddings: they differ, or a file is missing.
    """
    for _ in checked_blocks(folder, meta, _CHECKED_AT_OPEN):
        pass


def checked_blocks(folder: Path, meta: Mapping[str, Any], n_most: int | None = None) -> Iterator[int]:
    """Compares the files with the checksums of their blocks. Yields the size of each correct block.

    Args:
        n_most: maximum number of blocks of a file to compare; None: all.

    Raises:
        BadEmbeddings: a block differs, or a file is missing or cannot be read.
    """
    for name, entry in meta["files"].items():
        path = folder / name
        try:
            with path.open("rb") as file:
                yield from check_blocks(file, entry["bytes"], entry["blocks"], n_most)
        except OSError as error:
            if error.errno not in (None, errno.ENOENT):
                raise BadEmbeddings(f"the embeddings cannot be read ({one_line(error)})") from error
            raise BadEmbeddings(f"{path} is damaged: {error}; restore the file, or {MAKE_AGAIN}") from error
