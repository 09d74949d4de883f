"""Writes word groups as clauses of an engine's query, so that each group counts as one term, as nearly as can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reranker.embeddings import Embeddings
from reranker.idf import DocumentFrequencies
from reranker.translation.groups import Translation, WordGroup

Clause = dict[str, Any]

# The engines refuse a query of more than 1,024 clauses. A caller's query may have some of its own, and a word may be
# searched in several fields.
MAX_WORDS = 300
# Document frequencies of a sample, and of words where the engine counts stems, are rough: no boost is off by more.
_MOST_RAISED = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class WordRarity:
    """How rare the words of one language are in an index: BM25's idf.

    Attributes:
        frequencies: of the documents in that language; None where nothing is known: all words are then alike.
    """

    embeddings: Embeddings
    language: str
    frequencies: DocumentFrequencies | None

    def idf(self, translations: Sequence[Translation]) -> list[float]:
        """Of each term, ln(1 + (N - df + 0.5) / (df + 0.5))."""
        if self.frequencies is None:
            return [1.0] * len(translations)
        term_ids = [self.embeddings.term_id(self.language, each.term) for each in translations]
        counts = self.frequencies.of(np.array([-1 if one is None else one for one in term_ids], dtype=np.int32))
        return [self._idf(float(count)) for count in counts]

    def _idf(self, n_with: float) -> float:
        n_documents = 0 if self.frequencies is None else self.frequencies.n_documents
        return math.log(1 + (n_documents - n_with + 0.5) / (n_with + 0.5))


def group_clauses(
    groups: Sequence[WordGroup], clause: Callable[[str, float], Clause], rarity: WordRarity
) -> list[Clause]:
    """One clause for each group, to stand in a `bool` query's `should`: the most informative groups, `MAX_WORDS` words
    together.

    A group scores as its best translation does (`dis_max`). The boost of a translation is its weight, times the idf of
    the group over its own: else a wrong translation that is rare would outweigh the right one.

    Args:
        clause: writes the clause of one word: the word, its boost.
    """
    chosen = []
    n_words = 0
    weighed = [(group, boosts(group, rarity)) for group in groups]
    for group, (worth, each) in sorted(weighed, key=lambda one: -one[1][0]):
        if chosen and n_words + len(each) > MAX_WORDS:
            break
        n_words += len(each)
        chosen.append((group, each))
    return [_clause(group, each, clause) for group, each in chosen]


def boosts(group: WordGroup, rarity: WordRarity) -> tuple[float, list[float]]:
    """What a group is worth (its idf times its occurrences), and the boost of each of its translations."""
    idf = rarity.idf(group.translations)
    # The group is as frequent as the most frequent of its translations that weigh much.
    of_group = max(min(one / each.weight for one, each in zip(idf, group.translations, strict=True)), 1e-6)
    ratios = [min(_MOST_RAISED, of_group / max(one, 1e-6)) for one in idf]
    weights = [
        group.n_occurrences * each.weight * ratio for each, ratio in zip(group.translations, ratios, strict=True)
    ]
    return group.n_occurrences * of_group, weights


def _clause(group: WordGroup, weights: Sequence[float], clause: Callable[[str, float], Clause]) -> Clause:
    clauses = [clause(each.term, weight) for each, weight in zip(group.translations, weights, strict=True)]
    return clauses[0] if len(clauses) == 1 else {"dis_max": {"queries": clauses}}
