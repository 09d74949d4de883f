"""Many queries at once, and the async form."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest

from reranker.base.errors import BadInput, EmptyQuery, UnknownLanguage, UnknownWords
from reranker.embeddings import Embeddings
from reranker.ranking.ranked import Reranking
from reranker.ranking.reranker import Reranker
from tests.support.tiny import tiny_embeddings

TEXTS = ["une voiture", "un chat", "un chien"]


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return tiny_embeddings(tmp_path_factory.mktemp("batching") / "embeddings")


@pytest.fixture
def reranker(embeddings: Embeddings) -> Reranker:
    return Reranker(embeddings)


def places(ranking: Reranking) -> list[int]:
    return [document.index for document in ranking.documents]


def test_queries_that_share_documents_are_each_ranked_as_alone(reranker: Reranker) -> None:
    queries = ["cat", "car", "dog water"]
    together = reranker.rerank_many(queries, TEXTS)
    assert together == [reranker.rerank(query, TEXTS) for query in queries]
    # Cosines with cat: chat 0.96, chien 0.6, voiture 0.28; with car: voiture 0.96, chat -0.28, chien -0.8.
    assert [places(ranking) for ranking in together[:2]] == [[1, 2, 0], [0, 1, 2]]


def test_each_query_may_have_documents_of_its_own(reranker: Reranker) -> None:
    together = reranker.rerank_many(["cat", "car", "dog"], [TEXTS, ["chat", "voiture"], []])
    assert [places(ranking) for ranking in together] == [[1, 2, 0], [1, 0], []]


def test_options_reach_every_query(reranker: Reranker) -> None:
    together = reranker.rerank_many(
        ["cat", "car"], TEXTS, method="rwmd", top_n=1, language="en", document_languages="fr"
    )
    assert [places(ranking) for ranking in together] == [[1], [0]]
    assert {ranking.method for ranking in together} == {"rwmd"}


def test_no_queries_are_no_error(reranker: Reranker) -> None:
    assert reranker.rerank_many([], TEXTS) == []
    assert reranker.rerank_many([], []) == []
    assert [places(ranking) for ranking in reranker.rerank_many(["cat"], [])] == [[]]


@pytest.mark.parametrize(
    ("queries", "documents", "options", "error", "words"),
    [
        (["cat", " "], TEXTS, {}, EmptyQuery, "query 1: "),
        (["cat", "car", "zzz"], TEXTS, {}, UnknownWords, "query 2: .*zzz"),
        (["cat", "car"], [TEXTS], {}, BadInput, "1 entries for 2 queries, 0 of them texts"),
        (["cat", "car"], ["chat", TEXTS], {}, BadInput, "2 entries for 2 queries, 1 of them texts"),
        (["cat"], [TEXTS], {"document_languages": ["fr"] * 3}, BadInput, "documents of its own"),
        (["cat"], TEXTS, {"document_languages": ["fr"]}, BadInput, "1 languages came for 3 documents"),
        (["cat"], TEXTS, {"language": "klingon"}, UnknownLanguage, "^'klingon'"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(
    reranker: Reranker, queries: Any, documents: Any, options: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        reranker.rerank_many(queries, documents, **options)


class Slow(Reranker):
    """Re-ranks when it is let; counts how many do at a time."""

    def __init__(self, embeddings: Embeddings) -> None:
        super().__init__(embeddings)
        self.go = threading.Event()
        self.begun: list[str] = []

    def rerank(self, query: str, *arguments: Any, **options: Any) -> Reranking:
        self.begun.append(query)
        assert self.go.wait(30)
        return super().rerank(query, *arguments, **options)


def test_the_async_form_gives_the_same(reranker: Reranker) -> None:
    assert asyncio.run(reranker.arerank("cat", TEXTS, top_n=2, language="en")) == reranker.rerank("cat", TEXTS, top_n=2)


def test_an_error_reaches_who_waits(reranker: Reranker) -> None:
    with pytest.raises(UnknownWords):
        asyncio.run(reranker.arerank("zzz", TEXTS))


# Python 3.12 warns of every fork with threads; a server that loads its application first does just this.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_has_threads_of_its_own(reranker: Reranker) -> None:
    asyncio.run(reranker.arerank("cat", TEXTS))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = asyncio.run(asyncio.wait_for(reranker.arerank("cat", TEXTS, method="nbow"), 20))
            os.write(writer, str(places(found)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        assert answer.read() == "[1, 2, 0]"
    os.waitpid(child, 0)


@pytest.mark.parametrize("own", [False, True], ids=["shared documents", "documents of its own"])
def test_a_word_without_an_embedding_is_looked_for_in_the_texts(reranker, own):
    texts = ["un chien", "un chat xyzzy"]
    alone = reranker.rerank("dog xyzzy", texts, language="en")
    assert [document.index for document in alone.documents] == [1, 0]
    (together,) = reranker.rerank_many(["dog xyzzy"], [texts] if own else texts, language="en")
    assert together.documents == alone.documents
