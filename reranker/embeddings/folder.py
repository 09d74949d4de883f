"""The folder of an embedding store: file names, reading and checking `meta.json`, and syncing files to the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from reranker.base.errors import BadEmbeddings, BadInput, NoEmbeddings, NotFound, VersionMismatch, one_line
from reranker.embeddings.manifest import MAKE_AGAIN, digest_of_meta
from reranker.text.tokens import WORDS_VERSION

FORMAT = 2

META = "meta.json"
VECTORS = "vectors.npy"
DOCUMENT_FREQUENCIES = "document_frequencies.npy"


def check_output(output: Path, *, replace: bool) -> None:
    """Checks that a store may be written to a path. Call it before long work.

    Raises:
        BadInput: the path exists and `replace` is false, or it is not an embedding store.
    """
    if not output.exists():
        return
    if not replace:
        raise BadInput(f"{output} exists already; give --replace to put the new one in its place, or give another path")
    if output.is_dir() and not any(output.iterdir()):
        return
    try:
        read_meta(output)
    except (VersionMismatch, BadEmbeddings):
        pass  # an old or a damaged store
    except NotFound as error:
        raise BadInput(f"{output} is not an embedding store, so it is not replaced; give another path") from error


def has_store(path: Path) -> bool:
    """Whether there is anything at the path, even a damaged store. An empty folder (a new volume) does not count."""
    try:
        return any(path.iterdir()) if path.is_dir() else path.exists()
    except OSError:
        return True  # opening it then gives the error


def read_meta(path: Path) -> Mapping[str, Any]:
    """Reads and checks `meta.json`.

    Raises:
        NoEmbeddings: there is nothing at the path.
        NotFound: it is not an embedding store.
        VersionMismatch: another version of Sinkrank made the store.
        BadEmbeddings: `meta.json` is not what was written, or cannot be read.
    """
    cure = "make a store with `sinkrank embeddings prepare`"
    if not has_store(path):
        raise NoEmbeddings(f"there are no embeddings at {path}; {cure}")
    try:
        if not (path / META).is_file():
            raise NotFound(f"{path} is not an embedding store (it has no {META}); {cure}")
        meta = json.loads((path / META).read_bytes())
    except OSError as error:
        raise BadEmbeddings(f"the embeddings cannot be read ({one_line(error)})") from error
    except ValueError as error:
        raise BadEmbeddings(f"{path / META} is not JSON ({error}); {MAKE_AGAIN}") from error
    if not isinstance(meta, dict) or "format" not in meta:
        raise NotFound(f"{path} is not an embedding store ({META} has no format number); {cure}")
    found = (meta["format"], meta.get("tokenizer_version"))
    if found != (FORMAT, WORDS_VERSION):
        raise VersionMismatch(
            f"the embeddings in {path} are of format {found[0]} and tokenizer {found[1]}, not {FORMAT} and "
            f"{WORDS_VERSION}; {MAKE_AGAIN}"
        )
    if meta.get("digest") != digest_of_meta(meta):
        raise BadEmbeddings(f"{path / META} was changed; the embedding store is damaged: {MAKE_AGAIN}")
    return meta


def version_hasher(dim: int) -> blake2b:
    """A store's version is the hash of this, then the stored vectors, then the digest of the vocabulary."""
    return blake2b(f"{FORMAT}:{dim}:".encode(), digest_size=8)


def sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not all file systems can sync a folder; the rename is atomic without it
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sibling(output: Path, purpose: str) -> Path:
    """A new hidden name beside a folder, in the same file system, so that renaming to the folder is atomic."""
    return output.with_name(f".{output.name}.{purpose}-{uuid4().hex[:12]}")
