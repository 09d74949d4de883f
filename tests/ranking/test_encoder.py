"""The sentence encoder among the evidence, and as the query of kNN.

By support/query_encoder.py the query `cat` is encoded as (0.8, 0.6) less (0.6, 0): its direction is (0.2, 0.6). The
products with `cat`, `dog` and `water` (support/tiny.py) are 0.2, 0.52 and 0.36, so it is likest to the dog, and to the
water half as much more than to the cat.
"""

import numpy as np
import pytest

from reranker.base.errors import UnknownWords
from reranker.embeddings import Embeddings
from reranker.embeddings.query_encoder import QueryEncoder
from reranker.search.request import SearchRequest
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.stores.base.description import IndexDescription
from reranker.text.documents import Document
from reranker.text.idf import IdfTable
from sinkrank import Reranker
from tests.stores.samples import make_index, write_documents
from tests.support.encode import encode
from tests.support.query_encoder import encoder_files, encoding_embeddings

pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")
pytest.importorskip("tokenizers", reason="needs pip install 'sinkrank[prepare]'")

ABOVE_FLOOR = 0.98
TEXTS = ["cat", "dog", "water", "zzz"]


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    return encoding_embeddings(tmp_path_factory.mktemp("encoder") / "embeddings")


@pytest.fixture(scope="module")
def store(tmp_path_factory, embeddings):
    store = open_store(str(tmp_path_factory.mktemp("store")))
    make_index(store, "pets", IndexDescription(embeddings.version, embeddings.dim))
    documents = [encode(Document(text, text, "en"), embeddings, IdfTable()) for text in TEXTS]
    list(write_documents(store, "pets", documents))
    store.refresh("pets")
    yield store
    store.close()


def rerank(embeddings, query="cat", language="en", method="auto", **options):
    """All candidates have the same score of the first stage."""
    reranker = Reranker(embeddings)
    candidates = reranker.read_documents(TEXTS, "en")
    return reranker.rerank_bags(
        reranker.query(query, language), candidates, method, first_stage_scores=np.ones(len(TEXTS)), **options
    )


def order(reranking):
    return [TEXTS[document.index] for document in reranking.documents]


def encoder_share(covered):
    """What the encoder has of a score where the hits hold a part of the query, and the first stage more than 0.33."""
    first_stage = 0.33 + round(covered, 2) ** 2 * (0.65 - 0.33)
    return ABOVE_FLOOR * 0.45 * (1 - first_stage) / (1 - 0.33)


def without_encoder(embeddings):
    opened = Embeddings.open(embeddings.path)
    opened.query_encoders = ()
    return opened


def test_a_query_without_a_known_word_finds_the_documents_that_have_it_and_no_others(store, embeddings):
    searcher = Searcher(store, embeddings)

    def found(text):
        return [
            hit.id for hit in searcher.search(SearchRequest(text, "pets", language="en", first_stage="hybrid")).hits
        ]

    assert found("zzz") == ["zzz"]
    with pytest.raises(UnknownWords):
        found("8603")


def test_the_document_that_the_query_is_likest_to_as_a_whole_comes_first(embeddings):
    assert order(rerank(embeddings)) == ["dog", "water", "cat", "zzz"]
    assert order(rerank(without_encoder(embeddings))) == ["cat", "dog", "water", "zzz"]


def test_the_part_of_the_encoder_rises_from_the_least_to_the_most_like(embeddings):
    parts = {TEXTS[document.index]: document.parts.encoder for document in rerank(embeddings).documents}
    share = encoder_share(1 / 4)
    assert parts == pytest.approx({"cat": 0, "dog": share, "water": share / 2, "zzz": 0}, abs=1e-6)


def test_a_query_in_a_language_that_the_encoder_does_not_read_is_ordered_without_it(embeddings):
    assert [document.parts.encoder for document in rerank(embeddings, "chat", "fr").documents] == [0, 0, 0, 0]


@pytest.mark.parametrize("method", ["sinkhorn", "nbow"])
def test_methods_of_distance_alone_encode_nothing(embeddings, method, monkeypatch):
    monkeypatch.setattr(QueryEncoder, "begin", lambda *_: pytest.fail("the query was encoded"))
    assert order(rerank(embeddings, method=method))[0] == "cat"


def test_a_model_that_cannot_be_read_leaves_the_order_of_the_other_evidence(tmp_path, embeddings):
    broken = encoding_embeddings(tmp_path / "broken", encoder_files(onnx=b"no model"))
    expected = rerank(without_encoder(embeddings)).documents
    assert [each.parts for each in rerank(broken).documents] == [each.parts for each in expected]


def test_knn_searches_with_the_encoded_query(store, embeddings):
    def nearest(of):
        request = SearchRequest("cat", "pets", language="en", first_stage="knn", method="none")
        return [hit.id for hit in Searcher(store, of).search(request).hits][:3]

    assert nearest(embeddings) == ["dog", "water", "cat"]
    assert nearest(without_encoder(embeddings)) == ["cat", "dog", "water"]


def test_an_explanation_has_the_part_of_the_encoder_and_its_parts_sum_to_the_score(store, embeddings):
    explained = Searcher(store, embeddings).explain(SearchRequest("cat", "pets", language="en"), "dog")
    assert explained.score_parts.encoder == pytest.approx(encoder_share(1 / 3))  # one of three English documents is cat
    assert sum(explained.score_parts.values()) == pytest.approx(explained.score, abs=1e-6)
