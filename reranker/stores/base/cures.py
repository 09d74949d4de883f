"""The command that errors name as their cure, written so that a shell takes it."""

from __future__ import annotations

import shlex
from pathlib import Path


def ingest_command(store: str | Path, index: str = "NAME", *options: str) -> str:
    """The command that makes an index of a store.

    >>> ingest_command("my store", "pages", "--rebuild")
    "`sinkrank ingest FILE --index pages --rebuild --store 'my store'`"
    """
    return f"`{shlex.join(['sinkrank', 'ingest', 'FILE', '--index', index, *options, '--store', str(store)])}`"
