"""Damages of stored files: the same answers or an error, never other answers. `python -m tests.damage` makes more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.damage import Damage, Wrong, make_store, run_embeddings, run_store, try_store

pytestmark = pytest.mark.slow

_SEED = 3


def test_a_damaged_store_gives_the_same_answers_or_an_error(tmp_path: Path) -> None:
    outcomes = run_store(tmp_path / "store", _SEED, 60)
    assert outcomes.total() == 60
    assert outcomes["error at once"] > 5  # rows, which are compared when they are read
    assert outcomes["error after the check"] > 5  # full-text tables and pages, which only the whole check reads


def test_damaged_embeddings_give_the_same_answers_or_an_error(tmp_path: Path) -> None:
    assert run_embeddings(tmp_path / "embeddings", _SEED, 60).total() == 60


def test_large_embeddings_are_checked_by_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reranker.embeddings.manifest._CHECKED_AT_OPEN_BYTES", 0)
    outcomes: Counter[str] = Counter(run_embeddings(tmp_path / "embeddings", _SEED, 60))
    assert outcomes["error after the check"] > 5


def test_other_answers_are_told(tmp_path: Path) -> None:
    make_store(tmp_path / "store", 3)
    with pytest.raises(Wrong, match="other answers"):
        try_store(tmp_path / "store", Damage("store.sums", 0, b"1"), right=[])
