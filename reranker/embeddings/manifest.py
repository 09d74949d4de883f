"""Tells sound files of an embedding store from damaged ones: cheaply by a sample of their bytes, or by all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from reranker.base.errors import BadEmbeddings

# Some 20 places of a file: a copy that was cut short, or that has holes, and any byte of a small file.
_N_SAMPLED, _SAMPLED_BYTES = 20, 4096
_READ_BYTES = 1 << 22
_DIGEST_BYTES = 16


def describe(folder: Path, names: Iterable[str], known: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Size and digests of files, by name: what `meta.json` keeps of them.

    Args:
        known: files whose whole contents another figure of `meta.json` vouches for, and its name; they are not read.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        path = folder / name
        whole = {"in": known[name]} if name in known else {"digest": _digest(path)}
        found[name] = {"bytes": path.stat().st_size, "sample": _sample(path), **whole}
    return found


def digest_of_meta(meta: Mapping[str, Any]) -> str:
    """The digest of `meta.json`, itself left out."""
    rest = {name: value for name, value in meta.items() if name != "digest"}
    return blake2b(json.dumps(rest).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def check(folder: Path, meta: Mapping[str, Any], *, whole: bool) -> None:
    """Compares the files of a store with what `meta.json` says of them; of a store that was made before there were
    digests there is nothing to compare.

    Args:
        whole: all bytes; or sizes and a sample of the bytes, a millisecond a file.

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
        except OSError as error:
            raise BadEmbeddings(
                f"{path} cannot be read ({error}); the embedding store is damaged: import or train it again"
            ) from error
        if differs:
            raise BadEmbeddings(
                f"{path} is not what the store was made with; the embedding store is damaged: import or train it again"
            )


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
