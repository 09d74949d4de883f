"""Hits of documents that another program wrote are read, whatever the engine lets them hold."""

from __future__ import annotations

from typing import Any

import pytest

from reranker.stores.engine.hits import candidates_from_source, read_document, read_encoded
from reranker.text.documents import Document

FIELDS = ("lang", "title", "text", "url", "metadata", "bag")


@pytest.mark.parametrize(
    "source",
    [
        {},
        dict.fromkeys(FIELDS),
        # An engine takes a list for any field.
        {"lang": ["en"], "url": ["a", "b"], "metadata": [{"a": 1}], "bag": [], "title": {"en": None}, "text": {}},
    ],
)
def test_fields_that_are_null_or_of_another_kind_count_as_missing(source: dict[str, Any]) -> None:
    hit = {"_id": "1", "_score": 1.0, "_source": source}
    assert read_document(hit) == Document("1", "", "", "", "", {})
    assert len(read_encoded(hit).bag) == 0
    (candidate,) = candidates_from_source({"hits": {"hits": [hit]}}, scores_are_cosines=False)
    assert (candidate.doc_id, candidate.language, len(candidate.bag), candidate.title_key) == ("1", "", 0, None)
