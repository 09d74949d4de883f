"""Other people's clients of Cohere, Jina and text-embeddings-inference, pointed at this service.

The library `rerankers` is installed with the tests; the clients of LangChain and LlamaIndex are heavy, and run in the
environment of `tests/clients/test_frameworks.py`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from flask import Flask
from rerankers.models.api_rankers import APIRanker

from tests.support.service import serving
from tests.support.tiny import TRANSLATION_DISTANCE

TEXTS = ["une voiture", "un chat", "un chien", "zzz"]
BY_CAT = ["un chat", "un chien", "une voiture", "zzz"]  # cosines with cat: 0.96, 0.6, 0.28; zzz is not known
ELSEWHERE = "run by tests/clients/test_frameworks.py"
BEST_SCORE = pytest.approx(1 / (1 + TRANSLATION_DISTANCE), abs=1e-6)

# Their clients leave sockets to the garbage collector, which comes in the fixture's end.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def url(app: Flask) -> Iterator[str]:
    with serving(app) as url:
        yield url
    gc.collect()


@pytest.mark.parametrize(
    ("provider", "path"),
    [
        ("cohere", "/v1/rerank"),
        ("cohere", "/v2/rerank"),
        ("jina", "/v1/rerank"),
        ("text-embeddings-inference", "/rerank"),
    ],
)
def test_the_api_rankers_of_rerankers(url: str, provider: str, path: str) -> None:
    results = APIRanker("sinkrank", "any key", provider, verbose=0, url=f"{url}{path}").rank("cat", TEXTS)
    assert [result.text for result in results] == BY_CAT
    assert results[0].score == BEST_SCORE


def test_langchains_cohere_rerank(url: str) -> None:
    langchain_cohere = pytest.importorskip("langchain_cohere", reason=ELSEWHERE)
    from langchain_core.documents import Document

    compressor = langchain_cohere.CohereRerank(model="sinkrank", cohere_api_key="any", base_url=url, top_n=2)
    found = compressor.compress_documents([Document(text) for text in TEXTS], "cat")
    assert [document.page_content for document in found] == BY_CAT[:2]
    assert found[0].metadata["relevance_score"] == BEST_SCORE


def test_langchains_jina_rerank(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jina = pytest.importorskip("langchain_community.document_compressors.jina_rerank", reason=ELSEWHERE)
    from langchain_core.documents import Document

    monkeypatch.setattr(jina, "JINA_API_URL", f"{url}/v1/rerank")  # the one way to say where it is
    found = jina.JinaRerank(jina_api_key="any", top_n=2).compress_documents([Document(text) for text in TEXTS], "cat")
    assert [document.page_content for document in found] == BY_CAT[:2]
    assert found[0].metadata["relevance_score"] == BEST_SCORE


@pytest.mark.parametrize(
    ("module", "name", "path", "options"),
    [
        ("cohere_rerank", "CohereRerank", "", {"api_key": "any", "model": "sinkrank"}),
        ("jinaai_rerank", "JinaRerank", "/v1", {"api_key": "any", "model": "sinkrank"}),
        ("tei_rerank", "TextEmbeddingInference", "", {}),
    ],
)
def test_llamaindexs_rerankers(url: str, module: str, name: str, path: str, options: dict[str, str]) -> None:
    postprocessors = pytest.importorskip(f"llama_index.postprocessor.{module}", reason=ELSEWHERE)
    from llama_index.core.schema import NodeWithScore, TextNode

    postprocessor = getattr(postprocessors, name)(top_n=2, base_url=f"{url}{path}", **options)
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.1) for text in TEXTS]
    found = postprocessor.postprocess_nodes(nodes, query_str="cat")
    assert [node.node.get_content() for node in found] == BY_CAT[:2]
    assert found[0].score == BEST_SCORE
