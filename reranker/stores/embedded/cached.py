"""What is cached of the store's file, for as long as the file is there."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from reranker.stores.embedded.bm25 import PartitionCache
from reranker.stores.embedded.vectors import VectorCache


@dataclass(frozen=True, slots=True)
class Cached:
    """Belongs to one file: another file in its place, such as an earlier copy, has one of its own."""

    vectors: VectorCache = field(default_factory=VectorCache)
    postings: PartitionCache = field(default_factory=PartitionCache)


class CachedConnection(sqlite3.Connection):
    """A connection to a file, with what is cached of it."""

    cached: Cached
