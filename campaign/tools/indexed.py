"""Fills an engine for trials: an index that Sinkrank made, and one that it did not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from campaign.tools.context import Context
from campaign.tools.material import write_jsonl
from campaign.tools.nodes import Engine
from campaign.tools.service import command

FOREIGN, OURS = "articles", "ours"


def fill(
    context: Context,
    engine: Engine,
    embeddings: Path,
    rows: Sequence[Mapping[str, Any]],
    mapping: Mapping[str, Any] | None = None,
) -> None:
    """Makes both indices with the same documents. Without documents, makes only the foreign index, empty."""
    if mapping is not None or not rows:
        engine.request("PUT", f"/{FOREIGN}", mapping)
    if not rows:
        return
    ingest(context, engine.store, embeddings, OURS, rows)
    lines = []
    for row in rows:
        source = {name: row[name] for name in ("lang", "title", "text", "year")}
        lines += [json.dumps({"index": {"_index": FOREIGN, "_id": row["id"]}}), json.dumps(source)]
    status, answer = engine.request("POST", "/_bulk?refresh=true", "\n".join(lines) + "\n")
    if status != 200 or answer["errors"]:
        raise RuntimeError(f"the index was not filled: {status} {str(answer)[:500]}")


def ingest(
    context: Context,
    store: str,
    embeddings: Path,
    index: str,
    rows: Sequence[Mapping[str, Any]],
    *more: str,
) -> None:
    """Runs `sinkrank ingest` on these rows.

    Raises:
        RuntimeError: the command failed.
    """
    path = write_jsonl(context.folder / f"{index}.jsonl", rows)
    given = ("ingest", str(path), "--store", store, "--index", index, "--embeddings", str(embeddings))
    done = command(*given, "--home", str(context.folder / "home"), *more, cwd=context.folder)
    if done.returncode:
        raise RuntimeError(f"the ingest ended with {done.returncode}: {done.stderr[-1000:]}")
