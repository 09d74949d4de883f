"""A small judged collection in BEIR's layout, and how one is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

DOCUMENTS = [
    {"_id": "cat", "title": "Cat", "text": "cat dog"},
    {"_id": "bread", "title": "", "text": "bread water"},
    {"_id": "car", "title": "", "text": "car car bread"},
]
QUERIES = [{"_id": "q1", "text": "chat"}, {"_id": "q2", "text": "pain car"}, {"_id": "q3", "text": "voiture"}]
QRELS = [("q1", "cat", 1), ("q2", "bread", 2), ("q2", "car", 0)]


def write_collection(
    folder: Path,
    documents: Iterable[Mapping[str, object]] = DOCUMENTS,
    queries: Iterable[Mapping[str, object]] = QUERIES,
    qrels: Iterable[tuple[str, str, int]] = QRELS,
) -> Path:
    """The folder, with `qrels/test.tsv` under BEIR's header."""
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", documents), ("queries", queries)):
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
