"""Lets one run at a time make versions of an index of the embedded store. A claim expires unless it is renewed."""

from __future__ import annotations

import sqlite3
import time

from reranker.stores.base.names import claim_seconds, claimed_by_another


def take_claim(connection: sqlite3.Connection, index: str, owner: str, seconds: float) -> None:
    """See `reranker.stores.base.protocol.WritableStore.claim`."""
    found = connection.execute("SELECT owner, claimed_until FROM claims WHERE name = ?", (index,)).fetchone()
    if found is not None and found[0] != owner and (remaining := claim_seconds(found[1], time.time())):
        raise claimed_by_another(index, remaining)
    row = (index, owner, time.time() + seconds)
    connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", row)


def release_claim(connection: sqlite3.Connection, index: str, owner: str) -> None:
    """See `reranker.stores.base.protocol.WritableStore.release`."""
    connection.execute("DELETE FROM claims WHERE name = ? AND owner = ?", (index, owner))
