"""What is read from an engine's hits, whoever wrote them."""

from typing import Any

import pytest

from reranker.stores.engine.hits import candidates_from_source
from reranker.stores.engine.queries import make_source
from tests.stores.samples import make_document


@pytest.mark.parametrize("bag", [{}, {"bag": "AQ=="}, {"bag": "not base64!"}])
def test_a_document_that_another_program_wrote_is_a_candidate_without_words(bag: dict[str, str]) -> None:
    hit: dict[str, Any] = {"_id": "1", "_score": 1.0, "_source": {"lang": "en", **bag}}
    (candidate,) = candidates_from_source({"hits": {"hits": [hit]}}, scores_are_cosines=False)
    assert (candidate.language, len(candidate.bag)) == ("en", 0)


def test_a_document_is_written_with_its_id_and_the_keys_of_its_title_and_of_a_short_text() -> None:
    source = make_source("opensearch", make_document("1", "Chat-Noir", title="A cat!"))
    # By `printf TEXT | b2sum -l 64`.
    assert (source["doc_id"], source["title_key"]) == ("1", 0x67F5DFB40B23DDA2)
    assert source["text_key"] == 0x9058338B633D903A - 2**64


def test_a_document_without_a_title_and_with_a_long_text_has_no_keys() -> None:
    assert not {"title_key", "text_key"} & make_source("opensearch", make_document("1", "cat " * 51)).keys()
