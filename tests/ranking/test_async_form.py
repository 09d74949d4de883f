"""The async form."""

from __future__ import annotations

import asyncio
import os

import pytest

from reranker.base.errors import UnknownWords
from reranker.embeddings import Embeddings
from reranker.ranking.ranked import Reranking
from reranker.ranking.reranker import Reranker
from tests.support.tiny import tiny_embeddings

TEXTS = ["une voiture", "un chat", "un chien"]


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return tiny_embeddings(tmp_path_factory.mktemp("async") / "embeddings")


@pytest.fixture
def reranker(embeddings: Embeddings) -> Reranker:
    return Reranker(embeddings)


def places(ranking: Reranking) -> list[int]:
    return [document.index for document in ranking.documents]


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
