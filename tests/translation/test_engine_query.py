"""Word groups as an engine's query: the boosts, and what is left out of a long query."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import pytest

from reranker.embeddings import Embeddings
from reranker.text.idf import DocumentFrequencies
from reranker.translation import Translation, WordGroup
from reranker.translation.engine_query import counted, group_clauses

# Of 100 documents 40 hold "cat", 1 holds "dog" and 9 hold "bread"; "car" is not counted.
COUNTS = {"cat": 40, "dog": 1, "bread": 9}


def word(term: str, weight: float = 1.0) -> Translation:
    return Translation(term, weight, COUNTS.get(term))


def idf(n_with: float) -> float:
    """BM25's, of 100 documents."""
    return log(1 + (100 - n_with + 0.5) / (n_with + 0.5))


def boosts(clause: Any) -> dict[str, float]:
    return {one["word"]: one["boost"] for one in clause["dis_max"]["queries"]}


def clauses(groups: list[WordGroup], n_documents: int | None = 100, max_words: int = 100) -> list[Any]:
    return group_clauses(groups, lambda word, boost: {"word": word, "boost": boost}, n_documents, max_words)


def test_a_translation_is_boosted_by_its_weight_and_the_idf_of_the_group_over_its_own() -> None:
    """A group of which the engine's BM25 scores each word by the group's idf: that of the 40 documents with "cat"."""
    group = WordGroup("chat", 2, (word("cat"), word("dog", 0.25)))
    (found,) = clauses([group])
    assert boosts(found) == pytest.approx({"cat": 2.0, "dog": 2 * sqrt(0.25) * idf(40) / idf(1)})


def test_a_translation_that_is_in_most_documents_is_not_boosted_out_of_proportion() -> None:
    """A light translation does not make the group frequent, and its own idf is small: at most three times as much."""
    group = WordGroup("chien", 1, (word("dog"), word("cat", 0.01)))
    (found,) = clauses([group])
    assert boosts(found) == pytest.approx({"dog": 1.0, "cat": sqrt(0.01) * 3})


def test_without_frequencies_all_words_are_alike() -> None:
    group = WordGroup("chat", 1, (word("cat"), word("dog", 0.49)))
    (found,) = clauses([group], n_documents=None)
    assert boosts(found) == pytest.approx({"cat": 1.0, "dog": 0.7})


def test_one_translation_needs_no_choice() -> None:
    found = clauses([WordGroup("7", 1, (word("7"),))])
    assert found == [{"word": "7", "boost": 1.0}]


def test_a_word_of_several_spellings_scores_as_the_best_of_them() -> None:
    group = WordGroup("hot", 1, (Translation("hot", 1.0), Translation("heiss", 0.49, None, ("heiss", "heiß"))))
    spelled = [{"word": "heiss", "boost": pytest.approx(0.7)}, {"word": "heiß", "boost": pytest.approx(0.7)}]
    either = {"dis_max": {"queries": spelled, "tie_breaker": 0.0}}
    (found,) = clauses([group], n_documents=None)
    assert found == {"dis_max": {"queries": [{"word": "hot", "boost": 1.0}, either], "tie_breaker": 0.1}}


def test_further_spellings_take_no_group_its_place() -> None:
    heiss = WordGroup("hot", 1, (Translation("heiss", 1.0, None, ("heiß", "heiss")),))
    cat = WordGroup("cat", 1, (word("cat"),))
    assert clauses([heiss, cat], max_words=2) == [{"word": "heiß", "boost": 1.0}, {"word": "cat", "boost": 1.0}]
    assert "dis_max" in clauses([heiss, cat], max_words=3)[0]


def test_an_analyzer_that_folds_is_sent_one_spelling() -> None:
    group = WordGroup("hot", 1, (Translation("heiss", 1.0, None, ("heiss", "heiß")),))
    sent = group_clauses([group], lambda word, boost: {word: boost}, None, is_folded=True)
    assert sent == [{"heiss": 1.0}]


def test_of_a_long_query_the_rarest_groups_are_taken() -> None:
    groups = [WordGroup(term, 1, (word(term),)) for term in ("cat", "bread", "car", "dog")]
    assert [one["word"] for one in clauses(groups, max_words=3)] == ["car", "dog", "bread"]
    often = WordGroup("cat", 9, (word("cat"),))  # nine times log(1 + 60.5 / 40.5) is more than log(201)
    assert [one["word"] for one in clauses([*groups[1:], often], max_words=1)] == ["cat"]
    pair = WordGroup("chat", 1, (word("cat"), word("dog")))
    assert len(clauses([pair], max_words=1)) == 1  # one group at least


def test_words_are_counted_by_the_frequencies_of_an_index(embeddings: Embeddings) -> None:
    frequencies = DocumentFrequencies(100, np.array([0, 1, 3], dtype=np.int32), np.array([40, 1, 9], dtype=np.int32))
    group = WordGroup("chat", 1, tuple(Translation(term, 1.0) for term in ("chat", "cat", "dog", "car")))
    (found,) = counted([group], embeddings, "en", frequencies)
    assert [each.n_documents for each in found.translations] == [0, 40, 1, 0]
