"""BM25 with RM3 on a handful of documents."""

from __future__ import annotations

import numpy as np
import pytest

from papers.systems import rm3
from papers.systems.rm3 import Rm3

DOCUMENTS = [["cat", "cat", "pet", "fur"], ["cat", "pet"], ["pet", "fur"], ["car", "road"]]


def test_terms_of_the_first_documents_are_weighted_by_their_share_of_the_document_and_its_score() -> None:
    weights = Rm3(DOCUMENTS).relevance_model(np.array([3.0, 1.0, 0.0, 0.0]))
    # 3 · (2/4, 1/4, 1/4) and 1 · (1/2, 1/2, 0) of cat, pet, fur: 2, 1.25 and 0.75 of 4.
    assert weights == pytest.approx({"cat": 2 / 4, "pet": 1.25 / 4, "fur": 0.75 / 4})


def test_only_the_best_documents_and_the_strongest_terms_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rm3, "N_DOCUMENTS", 1)
    monkeypatch.setattr(rm3, "N_TERMS", 2)
    weights = Rm3(DOCUMENTS).relevance_model(np.array([1.0, 0.9, 0.0, 0.0]))
    # Of cat 1/2, fur 1/4 and pet 1/4, in alphabetical order, two stay.
    assert weights == pytest.approx({"cat": 2 / 3, "fur": 1 / 3})


def test_an_expanded_query_finds_documents_without_its_own_words() -> None:
    asked, expanded = Rm3(DOCUMENTS).scores(["cat"])
    assert (asked > 0).tolist() == [True, True, False, False]
    assert (expanded > 0).tolist() == [True, True, True, False]


def test_a_query_that_finds_nothing_stays_empty() -> None:
    asked, expanded = Rm3(DOCUMENTS).scores(["moon"])
    assert not asked.any()
    assert not expanded.any()


def test_a_repeated_term_has_the_weight_of_its_share() -> None:
    once, _ = Rm3(DOCUMENTS).scores(["cat", "road"])
    twice, _ = Rm3(DOCUMENTS).scores(["cat", "cat", "road", "road"])
    assert twice == pytest.approx(once)
