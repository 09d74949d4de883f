"""A re-ranker of the tiny vocabulary, whose cosines can be worked out on paper."""

from __future__ import annotations

import pytest

from reranker.reranking import Reranker
from tests.tiny import TRANSLATION_DISTANCE, tiny_embeddings

TEXTS = ["une voiture", "un chat", "un chien", "zzz"]
# Cosines with cat: chat 0.96, chien 0.6, voiture 0.28; zzz is not known.
BY_CAT = [1, 2, 0, 3]
BEST_SCORE = 1 / (1 + TRANSLATION_DISTANCE)


@pytest.fixture(scope="session")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Reranker:
    return Reranker(tiny_embeddings(tmp_path_factory.mktemp("adapters") / "embeddings"))
