"""Tells sound files of an embedding store from damaged ones: cheaply by a sample of their bytes, or by all of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from reranker.base.blocks import WrongBlock, block_sums, check_blocks
from reranker.base.errors import BadEmbeddings

# Some 20 places of a file: a copy that was cut short, or that has holes, and any byte of a small file.
_N_SAMPLED, _SAMPLED_BYTES = 20, 4096
_READ_BYTES = 1 << 22
_DIGEST_BYTES = 16
# Files up to this size are read whole when the store is opened: the vocabulary of half a million terms, in 5 ms.
_CHECKED_AT_OPEN_BYTES = 16 << 20


def describe(folder: Path, names: Iterable[str], known: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Size, digests and checksums of blocks of files, by name: what `meta.json` keeps of them.

    Args:
        known: files whose whole contents another figure of `meta.json` vouches for, and its name; they are not read.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        path = folder / name
        whole = {"in": known[name]} if name in known else {"digest": _digest(path)}
        found[name] = {"bytes": path.stat().st_size, "sample": _sample(path), **whole, "blocks": _blocks(path)}
    return found


def digest_of_meta(meta: Mapping[str, Any]) -> str:
    """The digest of `meta.json`, itself left out."""
    rest = {name: value for name, value in meta.items() if name != "digest"}
    return blake2b(json.dumps(rest).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def check(folder: Path, meta: Mapping[str, Any], *, whole: bool) -> None:
    """Compares the files of a store with what `meta.json` says of them; of a store that was made before there were
    digests there is nothing to compare.

    Args:
        whole: all bytes; or sizes, small files whole and of others a sample of the bytes, a millisecond a file.

    Raises:
        BadEmbeddings: they differ, or a file is missing.
    """
    if meta.get("digest", digest_of_meta(meta)) != digest_of_meta(meta):
        raise BadEmbeddings(
            f"{folder / 'meta.json'} was changed; the embedding store is damaged: import or train it again"
        )
    for name, said in meta.get("files", {}).items():
        path = folder / name
        try:
            differs = path.stat().st_size != said["bytes"] or _sample(path) != said["sample"]
            differs = differs or (whole and "digest" in said and _digest(path) != said["digest"])
            if not differs and said["bytes"] <= _CHECKED_AT_OPEN_BYTES:
                for _ in _checked_blocks(path, said):
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
    """Compares the files that `check` only samples with the checksums of their blocks; yields the size of each block
    that is right. A store made before there were such checksums has nothing to compare.

    Raises:
        BadEmbeddings: a block differs, or a file is missing.
    """
    for name, said in meta.get("files", {}).items():
        path = folder / name
        if said["bytes"] <= _CHECKED_AT_OPEN_BYTES:
            continue
        try:
            yield from _checked_blocks(path, said)
        except OSError as error:
            raise BadEmbeddings(
                f"{path} cannot be read ({error}); restore the file, or import or train the embeddings again"
            ) from error


def _checked_blocks(path: Path, said: Mapping[str, Any]) -> Iterator[int]:
    if "blocks" not in said:
        return
    with path.open("rb") as file:
        try:
            yield from check_blocks(file.fileno(), said["bytes"], said["blocks"])
        except WrongBlock as error:
            raise BadEmbeddings(
                f"{path} is damaged: {error}; restore the file, or import or train the embeddings again"
            ) from error


def _blocks(path: Path) -> str:
    with path.open("rb") as file:
        return block_sums(file.fileno(), os.fstat(file.fileno()).st_size)


def _digest(path: Path) -> str:
    hasher = blake2b(digest_size=_DIGEST_BYTES)
    with path.open("rb") as file:
        while part := file.read(_READ_BYTES):
            hasher.update(part)
    return hasher.hexdigest()


def _sample(path: Path) -> str:
    hasher = blake2b(digest_size=_DIGEST_BYTES)
    with path.open("rb", buffering=0) as file:
        for start in _sampled_starts(path.stat().st_size):
            file.seek(start)
            hasher.update(_read(file))
    return hasher.hexdigest()


def _sampled_starts(n_bytes: int) -> Iterator[int]:
    """The beginnings of blocks from the first to the last, evenly far apart; of a small file of all."""
    last = max(0, n_bytes - _SAMPLED_BYTES)
    n_blocks = min(_N_SAMPLED, -(-n_bytes // _SAMPLED_BYTES))
    for block in range(n_blocks):
        yield last * block // max(1, n_blocks - 1)


def _read(file: BinaryIO) -> bytes:
    return file.read(_SAMPLED_BYTES)
