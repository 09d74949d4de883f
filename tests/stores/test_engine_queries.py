"""What is read from an engine's hits, whoever wrote them."""

from typing import Any

import pytest

from reranker.stores.engine.queries import read_candidates


@pytest.mark.parametrize("bag", [{}, {"bag": "AQ=="}, {"bag": "not base64!"}])
def test_a_document_that_another_program_wrote_is_a_candidate_without_words(bag: dict[str, str]) -> None:
    hit: dict[str, Any] = {"_id": "1", "_score": 1.0, "_source": {"lang": "en", **bag}}
    (candidate,) = read_candidates({"hits": {"hits": [hit]}}, scores_are_cosines=False)
    assert (candidate.language, len(candidate.bag)) == ("en", 0)
