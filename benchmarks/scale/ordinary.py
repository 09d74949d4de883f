"""Indexes the first documents of the collection as another program would: a title, a text and a language, one shard."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.scale import resources


def index_plainly(documents: Path, nodes: Sequence[dict[str, Any]], name: str, n_documents: int) -> dict[str, Any]:
    """Makes the index; an older one of that name is deleted.

    Raises:
        SystemExit: the engine refuses it.
    """
    url, text = nodes[0]["url"], {"type": "text"}
    resources.ask(url, f"/{name}?ignore_unavailable=true", method="DELETE")
    mappings = {"properties": {"title": text, "text": text, "lang": {"type": "keyword"}}}
    settings = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}
    resources.ask(url, f"/{name}", {"mappings": mappings, "settings": {"index": settings}}, "PUT")
    before, started = resources.engine(nodes), time.monotonic()
    with documents.open(encoding="utf-8") as lines:
        rows = map(json.loads, islice(lines, n_documents))
        sources = ((row["id"], {"title": row["title"], "text": row["text"], "lang": row["language"]}) for row in rows)
        resources.write(url, name, sources)
    resources.ask(url, f"/{name}/_settings", {"index": {"refresh_interval": None}}, "PUT")
    resources.wait_for_merges(nodes, name)
    after = resources.engine(nodes, name)
    return {
        "documents": after["primaries"]["documents"],
        "wall_s": round(time.monotonic() - started, 1),
        "engine_cpu_s": round(after["cpu_s"] - before["cpu_s"], 1),
        "bytes": after["primaries"]["bytes"],
        "segments": after["primaries"]["segments"],
    }
