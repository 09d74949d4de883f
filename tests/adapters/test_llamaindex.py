"""LlamaIndex's own classes call the postprocessor; run by `tests/clients/test_frameworks.py`."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="run by tests/clients/test_frameworks.py")
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from reranker.adapters.llamaindex import SinkrankPostprocessor
from reranker.base.errors import BadInput
from reranker.ranking.reranker import Reranker
from tests.adapters.conftest import BEST_SCORE, BY_CAT, MANY, TEXTS, Observed


@pytest.fixture
def nodes() -> list[Any]:
    return [NodeWithScore(node=TextNode(text=text, id_=str(place)), score=0.1) for place, text in enumerate(TEXTS)]


def places(nodes: list[Any]) -> list[int]:
    return [int(node.node.node_id) for node in nodes]


def test_nodes_come_back_best_first_with_our_scores(reranker: Reranker, nodes: list[Any]) -> None:
    postprocessor = SinkrankPostprocessor(reranker=reranker, top_n=2, language="en")
    assert isinstance(postprocessor, BaseNodePostprocessor)
    found = postprocessor.postprocess_nodes(nodes, query_str="cat")
    assert places(found) == BY_CAT[:2]
    assert found[0].score == pytest.approx(BEST_SCORE, abs=1e-6)
    assert found[0].node is nodes[1].node


def test_the_async_form_gives_the_same(reranker: Reranker, nodes: list[Any]) -> None:
    found = asyncio.run(SinkrankPostprocessor(reranker=reranker).apostprocess_nodes(nodes, query_str="cat"))
    assert places(found) == BY_CAT


def test_a_query_without_a_known_word_keeps_the_retrievers_order(reranker: Reranker, nodes: list[Any]) -> None:
    assert places(SinkrankPostprocessor(reranker=reranker).postprocess_nodes(nodes, query_str="zzz")) == [0, 1, 2, 3]


def test_a_pickled_one_ranks_and_so_does_the_first(reranker: Reranker, nodes: list[Any]) -> None:
    first = SinkrankPostprocessor(reranker=reranker, language="en")
    again = pickle.loads(pickle.dumps(first))
    for postprocessor in (first, again, copy.deepcopy(first)):
        assert places(postprocessor.postprocess_nodes(nodes, query_str="cat")) == BY_CAT


def test_an_option_that_there_is_not_is_refused(reranker: Reranker) -> None:
    with pytest.raises(ValueError, match="topn"):
        SinkrankPostprocessor(reranker=reranker, topn=2)


def test_without_a_query_it_says_what_is_missing(reranker: Reranker, nodes: list[Any]) -> None:
    with pytest.raises(BadInput, match="query_str"):
        SinkrankPostprocessor(reranker=reranker).postprocess_nodes(nodes)


def test_the_best_few_are_asked_of_the_reranker(observed: Observed) -> None:
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.1) for text in MANY]
    postprocessor = SinkrankPostprocessor(reranker=observed.reranker, top_n=3, language="en")
    found = postprocessor.postprocess_nodes(nodes, query_str="cat")
    assert [node.node.get_content() for node in found] == ["un chat"] * 3
    assert observed.kept() == 3
