"""Describes the files of an embedding store in `meta.json`, and finds damaged files.

Opening a store reads its small files whole and a sample of the others. The checksums of blocks cover every byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from reranker.base.blocks import WrongBlock, block_sums, check_blocks
from reranker.base.errors import BadEmbeddings

# 20 places of a file: finds a copy that was cut short or has holes.
_N_SAMPLED, _SAMPLED_BYTES = 20, 4096
_DIGEST_BYTES = 16
# Files up to this size are read whole when the store is opened: 5 ms for the vocabulary of half a million terms.
_CHECKED_AT_OPEN_BYTES = 16 << 20


def describe(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Size, digest of a sample, and checksums of the blocks of each file, by name, for `meta.json`."""
    return {name: _describe(folder / name) for name in names}


def _describe(path: Path) -> dict[str, Any]:
    n_bytes = path.stat().st_size
    with path.open("rb") as file:
        return {"bytes": n_bytes, "sample": _sample(path), "blocks": block_sums(file.fileno(), n_bytes)}


def digest_of_meta(meta: Mapping[str, Any]) -> str:
    """The digest of `meta.json` without its key `digest`."""
    rest = {name: value for name, value in meta.items() if name != "digest"}
    return blake2b(json.dumps(rest).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def check(folder: Path, meta: Mapping[str, Any]) -> None:
    """Compares the files of a store with `meta.json`: sizes, all bytes of small files, and a sample of large files.

    Raises:
        BadEmbeddings: they differ, or a file is missing.
    """
    if meta["digest"] != digest_of_meta(meta):
        raise BadEmbeddings(
            f"{folder / 'meta.json'} was changed; the embedding store is damaged: import or train it again"
        )
    for name, entry in meta["files"].items():
        path = folder / name
        try:
            differs = path.stat().st_size != entry["bytes"] or _sample(path) != entry["sample"]
            if not differs and entry["bytes"] <= _CHECKED_AT_OPEN_BYTES:
                for _ in _checked_blocks(path, entry):
                    pass
        except OSError as error:
            raise BadEmbeddings(
                f"{path} cannot be read ({error}); the embedding store is damaged: import or train it again"
            ) from error
        if differs:
            raise BadEmbeddings(
                f"{path} is not what the store was made with; the embedding store is damaged: import or train it again"
            )


def checked_blocks(folder: Path, meta: Mapping[str, Any]) -> Iterator[int]:
    """Compares the files that `check` only samples with the checksums of their blocks. Yields the size of each correct
    block.

    Raises:
        BadEmbeddings: a block differs, or a file is missing.
    """
    for name, entry in meta["files"].items():
        path = folder / name
        if entry["bytes"] <= _CHECKED_AT_OPEN_BYTES:
            continue
        try:
            yield from _checked_blocks(path, entry)
        except OSError as error:
            raise BadEmbeddings(
                f"{path} cannot be read ({error}); restore the file, or import or train the embeddings again"
            ) from error


def _checked_blocks(path: Path, entry: Mapping[str, Any]) -> Iterator[int]:
    with path.open("rb") as file:
        try:
            yield from check_blocks(file.fileno(), entry["bytes"], entry["blocks"])
        except WrongBlock as error:
            raise BadEmbeddings(
                f"{path} is damaged: {error}; restore the file, or import or train the embeddings again"
            ) from error


def _sample(path: Path) -> str:
    hasher = blake2b(digest_size=_DIGEST_BYTES)
    with path.open("rb", buffering=0) as file:
        for start in _sampled_starts(path.stat().st_size):
            file.seek(start)
            hasher.update(file.read(_SAMPLED_BYTES))
    return hasher.hexdigest()


def _sampled_starts(n_bytes: int) -> Iterator[int]:
    """Where the sampled places begin: evenly spaced from the first to the last; all of a small file."""
    last = max(0, n_bytes - _SAMPLED_BYTES)
    n_sampled = min(_N_SAMPLED, -(-n_bytes // _SAMPLED_BYTES))
    for place in range(n_sampled):
        yield last * place // max(1, n_sampled - 1)
