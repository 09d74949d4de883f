"""One run at a time makes versions of an index, on every store."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import urllib3

from reranker.base.errors import BadInput
from reranker.stores.base.protocol import WritableStore


@pytest.fixture
def index(store: WritableStore, new_index: Callable[[], str]) -> Iterator[str]:
    """The name of an index that need not be there."""
    name = new_index()
    yield name
    for owner in ("one", "other", *map(str, range(8))):
        store.release(name, owner)


def n_claims(store: WritableStore, index: str) -> int:
    """Number of stored claims, valid or not, read past our own code."""
    if store.address.startswith("http"):
        answer = urllib3.request("GET", f"{store.address}/sinkrank-idf/_doc/{index}:claim")
        return int(answer.json()["found"])
    with closing(sqlite3.connect(Path(store.address, "store.sqlite3"))) as connection:
        select = "SELECT count(*) FROM notes WHERE name = ? AND kind = 'claim'"
        (found,) = connection.execute(select, (index,)).fetchone()
    return int(found)


def test_what_one_has_claimed_another_gets_only_after_its_release(store: WritableStore, index: str) -> None:
    store.claim(index, "one", 60)
    with pytest.raises(BadInput, match=r"another run.*wait \d+ s"):
        store.claim(index, "other", 60)
    store.claim(index, "one", 60)
    store.release(index, "other")
    with pytest.raises(BadInput, match="another run"):
        store.claim(index, "other", 60)
    store.release(index, "one")
    store.claim(index, "other", 60)
    store.release(index, "one")
    with pytest.raises(BadInput, match="another run"):
        store.claim(index, "one", 60)


def test_a_claim_that_was_written_while_the_clock_was_a_day_ahead_locks_nobody_out(
    store: WritableStore, index: str
) -> None:
    a_day_ahead = 86_400 + 60
    store.claim(index, "one", a_day_ahead)
    store.claim(index, "other", 60)
    with pytest.raises(BadInput, match=r"another run.*wait \d+ s"):
        store.claim(index, "one", 60)


def test_a_claim_runs_out_and_a_release_deletes_one_of_this_owner(store: WritableStore, index: str) -> None:
    store.claim(index, "one", 60)
    store.release(index, "other")
    assert n_claims(store, index) == 1
    store.release(index, "one")
    assert n_claims(store, index) == 0

    store.claim(index, "one", -1)  # until a second ago
    store.claim(index, "other", 60)
    with pytest.raises(BadInput, match="another run"):
        store.claim(index, "one", 60)


def test_of_many_at_once_one_gets_it(store: WritableStore, index: str) -> None:
    got: list[str] = []
    together = threading.Barrier(8)

    def take(owner: str) -> None:
        together.wait()
        try:
            store.claim(index, owner, 60)
        except BadInput:
            return
        got.append(owner)

    threads = [threading.Thread(target=take, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
