"""A re-ranker of the tiny vocabulary, whose cosines can be worked out on paper."""

from __future__ import annotations

import pytest

from reranker.ranking.ranked import Reranking
from reranker.ranking.reranker import Reranker
from tests.support.tiny import TRANSLATION_DISTANCE, tiny_embeddings

TEXTS = ["une voiture", "un chat", "un chien", "zzz"]
# Cosines with cat: chat 0.96, chien 0.6, voiture 0.28; zzz is not known.
BY_CAT = [1, 2, 0, 3]
BEST_SCORE = 1 / (1 + TRANSLATION_DISTANCE)
MANY = TEXTS * 20


@pytest.fixture(scope="session")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Reranker:
    return Reranker(tiny_embeddings(tmp_path_factory.mktemp("adapters") / "embeddings"))


class Observed:
    """A re-ranker, and what it was asked to do."""

    def __init__(self, reranker: Reranker) -> None:
        self.rankings: list[Reranking] = []
        self.reranker = Reranker(reranker.embeddings, observer=lambda query, ranking, s: self.rankings.append(ranking))

    def kept(self) -> int:
        """How many documents the one ranking kept."""
        (ranking,) = self.rankings
        return len(ranking.documents)


@pytest.fixture
def observed(reranker: Reranker) -> Observed:
    return Observed(reranker)
