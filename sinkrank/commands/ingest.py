"""`sinkrank ingest`: brings documents into an index, and looks after the index."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from sinkrank.commands import ingest_index
from sinkrank.commands.ingest_files import ingest_files

_DEFAULT_COMMAND = "files"


class _Group(TyperGroup):
    """`sinkrank ingest pages.jsonl` is `sinkrank ingest files pages.jsonl`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            args = [_DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_Group, help="Bring documents into an index, and look after the index.")
app.command(_DEFAULT_COMMAND)(ingest_files)
for _command in (
    ingest_index.rollback,
    ingest_index.refresh,
    ingest_index.delete,
):
    app.command()(_command)
