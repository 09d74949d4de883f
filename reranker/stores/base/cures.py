"""Commands on a store that are the cure of something, written so that a shell takes them."""

from __future__ import annotations

import shlex
from pathlib import Path

from reranker.base.errors import NoSuchIndex


def ingest_command(store: str | Path, index: str = "NAME", *options: str) -> str:
    """The command that makes an index of a store.

    >>> ingest_command("my store", "pages", "--rebuild")
    "`sinkrank ingest FILE --index pages --rebuild --store 'my store'`"
    """
    return store_command(store, "ingest", "FILE", "--index", index, *options)


def store_command(store: str | Path, *words: str) -> str:
    """The command on a store.

    >>> store_command("my store", "ingest", "refresh", "--index", "pages")
    "`sinkrank ingest refresh --index pages --store 'my store'`"
    """
    return f"`{shlex.join(['sinkrank', *words, '--store', str(store)])}`"


def no_such_index(store: str | Path, index: str) -> NoSuchIndex:
    """The error of an index that a store does not have."""
    return NoSuchIndex(
        f"{store} has no index {index!r}; check its name, or make it with {ingest_command(store, index)}"
    )
