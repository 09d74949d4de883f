"""Reads the claims on an index without the product's own code."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from campaign.tools.nodes import Engine
from reranker.stores.embedded.file import FILE_NAME


def claims_of(index: str, store: str, engine: Engine | None) -> list[str]:
    """The owners of the claims on an index, also of expired ones.

    Args:
        engine: None for the embedded store in the folder `store`.
    """
    if engine is None:
        path = Path(store) / FILE_NAME
        if not path.exists():
            return []
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            try:
                found = connection.execute("SELECT owner FROM claims WHERE name = ?", (index,)).fetchall()
            except sqlite3.OperationalError:  # the tables are not there yet
                return []
        return [str(owner) for (owner,) in found]
    status, answer = engine.request("GET", f"/sinkrank-idf/_doc/{index}:claim")
    return [str(answer["_source"]["owner"])] if status == 200 and answer.get("found") else []
