"""Queries without the words that documents in another language spell alike."""

from __future__ import annotations

from papers.judged.spellings import without_identical_spellings
from reranker.text.documents import Document
from sinkrank.evaluation.judgments import JudgedQuery


def asked(query_id: str, text: str) -> JudgedQuery:
    return JudgedQuery(query_id, text, "en", (), None, {"d": 1})


def test_tokens_that_a_document_holds_in_the_same_spelling_are_removed() -> None:
    documents = [Document("d", "Die NATO und der Computer, 2019.", "de"), Document("e", "Hand", "de")]
    texts = ("The NATO's computers in 2019", "Nato 2019", "die by hand?", "Black cats")
    queries = [asked(str(n), text) for n, text in enumerate(texts)]

    stripped = without_identical_spellings(queries, "en", documents)

    # "computers" is another spelling, and "Die" a stop word of German.
    assert [query.text for query in stripped.queries] == ["The 's computers in", "", "die by ?", "Black cats"]
    # nato, computers, 2019 ("the", "s" and "in" are stop words); nato, 2019; die, hand ("by" is one); black, cats.
    assert (stripped.n_tokens, stripped.n_removed, stripped.n_empty) == (9, 5, 1)
