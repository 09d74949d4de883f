"""Trains an embedding store once on a corpus's training pages, and names them in its `meta.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ingest.embeddings.training import open_made, train
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from sinkrank.demo.pages import Corpus, aligned_units

SEED = 2018

# Raise it if training gives other vectors for the same texts, so that older stores are trained again.
RECIPE = 1


def open_trained(path: Path, corpus: Corpus) -> Embeddings | None:
    """Opens the store at the path if it was trained on exactly this corpus's training pages; otherwise None."""
    return open_made(path, source_of(corpus))


def train_on(corpus: Corpus, path: Path, progress: Progress = no_progress) -> Embeddings:
    """Opens the store at the path if it belongs to this corpus; otherwise trains it on the training pages only.

    Raises:
        BadInput: the path has something other than a store of a corpus.
    """
    found = open_trained(path, corpus)
    if found is not None:
        return found
    check_replaceable(path)
    train(aligned_units(corpus.train_pages), path, seed=SEED, replace=True, progress=progress, source=source_of(corpus))
    return Embeddings.open(path)


def check_replaceable(path: Path) -> None:
    """Raises BadInput if the path has something other than a store of a corpus, in any format."""
    if not path.exists():
        return
    try:
        source = json.loads((path / "meta.json").read_text(encoding="utf-8"))["source"]
    except (OSError, ValueError, KeyError, TypeError):
        source = None
    if not isinstance(source, dict) or "corpus" not in source:
        raise BadInput(
            f"{path} holds embeddings that the demo did not make; they are not replaced: move them away, or work in "
            "another folder, with --home DIR"
        )


def source_of(corpus: Corpus) -> dict[str, Any]:
    """Returns what `meta.json` of this corpus's store contains: the corpus, a hash of its training units, the
    method."""
    units = map(asdict, aligned_units(corpus.train_pages))
    return {"corpus": corpus.name, "units": digest(units), "seed": SEED, "recipe": RECIPE}


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """A hash of rows in their order."""
    hasher = hashlib.blake2b(digest_size=16)
    for row in rows:
        hasher.update(json.dumps(row, ensure_ascii=False, sort_keys=True).encode())
        hasher.update(b"\n")
    return hasher.hexdigest()
