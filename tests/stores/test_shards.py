"""An index of several shards gives the same lists as an index of one, on real engines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

import pytest

from reranker.base.errors import NotFound
from reranker.stores import open_store
from reranker.stores.base.filters import Filters
from reranker.stores.engine.queries import id_hash
from reranker.stores.engine.writable import WritableEngineStore
from reranker.text.documents import Candidate, EncodedDocument
from reranker.translation.groups import Translation, WordGroup
from tests.stores.conftest import new_name
from tests.stores.samples import (
    ALL,
    DESCRIPTION,
    fill,
    ids,
    install_template,
    make_document,
    make_index,
    remove_template,
)
from tests.support.engines.sources import Engine

N_DOCUMENTS = 400
N_QUERIES = 25
DEPTH = 40
N_ALIKE, ALIKE = 30, "zabu"
# Made up: no analyzer stems them, and none is a stop word.
WORDS = [
    first + last for first in ("bar", "dek", "fim", "gop", "luz", "nav") for last in ("ka", "lo", "mu", "ti", "zu")
]


@dataclass(frozen=True)
class Sharded:
    """The same documents in an index of one shard and one of five."""

    store: WritableEngineStore
    one: str
    five: str


def documents() -> Iterator[EncodedDocument]:
    """Texts of frequent and rare words; every fourth is a copy of the one before, so that scores are equal. Then
    some of one other word."""
    chance = random.Random(7)
    text = ""
    for number in range(N_DOCUMENTS):
        if number % 4 != 3:
            text = " ".join(
                WORDS[min(chance.randrange(30), chance.randrange(30))] for _ in range(chance.randrange(4, 12))
            )
        yield make_document(f"d{number}", text, language=("en", "fr")[number % 8 > 5])
    for number in range(N_ALIKE):
        yield make_document(f"same-{number}", ALIKE)


@pytest.fixture(scope="module")
def sharded(engine: Engine) -> Iterator[Sharded]:
    one, five = new_name(), new_name()
    with closing(open_store(engine.url)) as store:
        assert isinstance(store, WritableEngineStore)
        install_template(engine.url, five, {"number_of_shards": 5})
        try:
            for name in (one, five):
                make_index(store, name, DESCRIPTION)
                fill(store, name, *documents())
            yield Sharded(store, one, five)
        finally:
            remove_template(engine.url, five)
            for name in (one, five):
                with suppress(NotFound):
                    store.drop(name)


def listed(found: list[Candidate]) -> list[tuple[str, float]]:
    return [(candidate.doc_id, candidate.first_stage_score) for candidate in found]


def queries() -> Iterator[str]:
    chance = random.Random(11)
    for _ in range(N_QUERIES):
        yield " ".join(chance.sample(WORDS, chance.randrange(1, 6)))


@pytest.mark.parametrize("filters", [ALL, Filters(languages=("fr",))])
def test_bm25_is_the_same_with_one_shard_and_with_five(sharded: Sharded, filters: Filters) -> None:
    n_full, n_ties = 0, 0
    for text in queries():
        expected = listed(sharded.store.open(sharded.one).bm25(text, DEPTH, filters))
        assert listed(sharded.store.open(sharded.five).bm25(text, DEPTH, filters)) == expected
        n_full += len(expected) == DEPTH
        n_ties += len({score for _, score in expected}) < len(expected)
    assert n_full > N_QUERIES // 2
    assert n_ties > N_QUERIES // 2


def test_a_search_by_translations_is_the_same_with_one_shard_and_with_five(sharded: Sharded) -> None:
    for text in queries():
        groups = {
            "en": [
                WordGroup(word, 1, (Translation(word, 1.0, 30), Translation(WORDS[-1 - WORDS.index(word)], 0.5, 60)))
                for word in text.split()
            ]
        }
        expected = listed(sharded.store.open(sharded.one).translated(groups, DEPTH, ALL))
        assert expected
        assert listed(sharded.store.open(sharded.five).translated(groups, DEPTH, ALL)) == expected


def test_equal_scores_come_in_the_order_of_a_hash_of_the_ids_at_any_depth(sharded: Sharded) -> None:
    expected = sorted((f"same-{number}" for number in range(N_ALIKE)), key=id_hash)
    for depth in (N_ALIKE, 7):
        assert ids(sharded.store.open(sharded.five).bm25(ALIKE, depth, ALL)) == expected[:depth]
