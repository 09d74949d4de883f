"""Judged queries made out of an index's own documents."""

from __future__ import annotations

import pytest

from reranker.text.documents import Document
from sinkrank.evaluation.comparison import Difference
from sinkrank.evaluation.judgments import JudgedQuery
from sinkrank.evaluation.known_queries import documents_of_hits, known_queries, sentence


def test_each_title_is_a_query_with_its_document_as_the_only_relevant_one() -> None:
    documents = [Document(str(n), "", "en" if n else "und", f"cat {n}") for n in range(20)]
    found = known_queries(documents)
    assert found[:2] == [
        JudgedQuery("0", "cat 0", None, (), None, {"0": 1}),
        JudgedQuery("1", "cat 1", "en", (), None, {"1": 1}),
    ]


@pytest.mark.parametrize(
    ("source", "title", "text"),
    [
        ({"sku": "z-1", "name": "Red shoes", "long": "Shoes for the summer."}, "Red shoes", "Shoes for the summer."),
        (
            {"page": {"Title": "A page"}, "name": "me", "body": ["One text", "and a longer one"]},
            "A page",
            "and a longer one",
        ),
        ({"body": "a text"}, "", "a text"),
        ({"n": 1}, "", ""),
        (None, "", ""),
    ],
)
def test_a_document_of_any_index_has_the_title_of_a_usual_field_and_its_longest_string(
    source: object, title: str, text: str
) -> None:
    assert list(documents_of_hits([{"_id": "7", "_source": source}])) == [Document("7", text, "und", title)]


def test_the_sentence_has_the_figures() -> None:
    assert sentence(Difference(0.1, 0.01, 41, 6, 4, 0.0301), 300) == (
        "on 300 titles or first sentences of its documents: better 41, worse 6; with 95 % confidence at most 3.0% of "
        "such searches lose over .1 nDCG@10"
    )
