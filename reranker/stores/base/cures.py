"""Errors whose cure is to make an index, and the command for it, written so that a shell takes it."""

from __future__ import annotations

import shlex
from pathlib import Path

from reranker.base.errors import NoSuchIndex


def ingest_command(store: str | Path, index: str = "NAME", *options: str) -> str:
    """The command that makes an index of a store.

    >>> ingest_command("my store", "pages", "--rebuild")
    "`sinkrank ingest FILE --index pages --rebuild --store 'my store'`"
    """
    return f"`{shlex.join(['sinkrank', 'ingest', 'FILE', '--index', index, *options, '--store', str(store)])}`"


def no_such_index(store: str | Path, index: str) -> NoSuchIndex:
    """The error of an index that a store does not have."""
    return NoSuchIndex(
        f"{store} has no index {index!r}; check its name, or make it with {ingest_command(store, index)}"
    )
