"""Reads the claims on an index without the product's own code."""

from __future__ import annotations

import base64
import json
import sqlite3
import zlib
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
                select = "SELECT content FROM notes WHERE name = ? AND kind = 'claim'"
                found = connection.execute(select, (index,)).fetchall()
            except sqlite3.OperationalError:  # the tables are not there yet
                return []
        return [json.loads(content)["owner"] for (content,) in found]
    status, answer = engine.request("GET", f"/sinkrank-idf/_doc/{index}:claim")
    if status != 200 or not answer.get("found"):
        return []
    return [json.loads(zlib.decompress(base64.b64decode(answer["_source"]["content"])))["owner"]]
