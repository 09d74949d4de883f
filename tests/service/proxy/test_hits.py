from typing import Any

import pytest

from reranker.bags import BagOfWords, pack
from reranker.embeddings import Embeddings
from reranker.service.proxy.hits import HitReader, source_text


@pytest.mark.parametrize(
    ("source", "fields", "text"),
    [
        ({"a": "x", "b": ["y", {"c": "z"}], "n": 3, "f": None}, [], "x\ny\nz"),
        ({"a": "x", "b": "y"}, ["b"], "y"),
        ({"a": {"b": "x", "c": "y"}}, ["a.c"], "y"),
        ({"a": [{"b": "x"}, {"b": "y"}]}, ["a.b"], "x\ny"),
        ({"a.b": "x"}, ["a.b"], "x"),
        ({"a": "x"}, ["missing", "a.missing"], ""),
        (None, [], ""),
        ({}, [], ""),
    ],
)
def test_text_is_read_from_a_source(source: Any, fields: list[str], text: str) -> None:
    assert source_text(source, fields) == text


def test_a_source_without_end_is_cut() -> None:
    assert len(source_text({"a": ["word " * 10_000] * 100}, [])) == 20_000


def test_a_packed_bag_is_taken_from_our_index_alone(embeddings: Embeddings) -> None:
    reader = HitReader(embeddings, (), lambda index: index == "ours")
    bag = embeddings.bag("chat chat eau", "fr")
    source = {"bag": pack(bag), "lang": "fr", "text": {"fr": "pain"}}
    ours, language = reader.bag({"_index": "ours"}, source)
    assert (ours.term_ids.tolist(), ours.counts.tolist(), language) == ([5, 7], [2, 1], "fr")
    theirs, language = reader.bag({"_index": "theirs"}, source)
    assert (theirs.term_ids.tolist(), language) == ([8], "fr")  # the packed text is no text


@pytest.mark.parametrize("packed", ["", "no base64!", "AAAA", 7, None])
def test_a_bag_that_is_broken_gives_way_to_the_text(embeddings: Embeddings, packed: Any) -> None:
    reader = HitReader(embeddings, ("text",), lambda index: True)
    bag, language = reader.bag({"_index": "ours"}, {"bag": packed, "lang": "en", "text": "cat"})
    assert (bag.term_ids.tolist(), language) == ([0], "en")


def test_term_ids_beyond_the_embeddings_are_not_believed(embeddings: Embeddings) -> None:
    import numpy as np

    reader = HitReader(embeddings, ("text",), lambda index: True)
    wild = pack(BagOfWords(np.array([3, 10], np.int32), np.array([1, 1], np.int32)))
    bag, _ = reader.bag({"_index": "ours"}, {"bag": wild, "lang": "en", "text": "cat"})
    assert bag.term_ids.tolist() == [0]
