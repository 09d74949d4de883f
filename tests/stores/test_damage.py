"""Damages of stored files: the same answers or an error, never others. The campaign makes more."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from reranker.base.errors import StoreDamaged
from reranker.stores.embedded.store import EmbeddedStore
from tests.support.damage import (
    Damage,
    Outcome,
    Wrong,
    embeddings_outcomes,
    make_store,
    store_answers,
    store_outcomes,
    try_store,
)

pytestmark = pytest.mark.slow

_SEED = 3


def counted(outcomes: Iterable[Outcome | Wrong]) -> Counter[Outcome]:
    found: Counter[Outcome] = Counter()
    for outcome in outcomes:
        if isinstance(outcome, Wrong):
            raise outcome
        found[outcome] += 1
    return found


def test_a_damaged_store_gives_the_same_answers_or_an_error(tmp_path: Path) -> None:
    outcomes = counted(store_outcomes(tmp_path / "store", _SEED, 60))
    assert outcomes.total() == 60
    assert outcomes["error at once"] > 5  # rows, which are compared when they are read
    assert outcomes["error after the check"] > 5  # full-text tables and pages, which searches do not check


def test_damaged_embeddings_give_the_same_answers_or_an_error(tmp_path: Path) -> None:
    assert counted(embeddings_outcomes(tmp_path / "embeddings", _SEED, 60)).total() == 60


def test_large_embeddings_are_checked_by_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reranker.embeddings.manifest._CHECKED_AT_OPEN", 0)
    outcomes = counted(embeddings_outcomes(tmp_path / "embeddings", _SEED, 60))
    assert outcomes["error after the check"] > 5


def test_a_page_that_sqlite_itself_finds_damaged_stops_all_searches(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    make_store(folder, 30)
    with closing(EmbeddedStore(folder)) as store:
        right = store_answers(store)
    page = Damage("store.sqlite3", 4096, bytes(4096))
    assert try_store(folder, page, right) in ("error at once", "error after the check")


def test_zeros_over_a_row_and_its_checksum_are_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    make_store(folder, 30)
    with closing(sqlite3.connect(folder / "store.sqlite3")) as connection, connection:
        connection.execute("UPDATE documents SET text_sum = 0, metadata = char(0, 0)")
        connection.execute("UPDATE notes SET row_sum = 0, content = zeroblob(2)")
    with closing(EmbeddedStore(folder)) as store:
        with pytest.raises(StoreDamaged, match="table documents has changed since it was written; restore"):
            store.open("docs").documents(["doc-1"])
        with pytest.raises(StoreDamaged, match="row docs-000001:hubness of the table notes"):
            store.open("docs").hubness_sample()
