"""Writes word groups as clauses of an engine's query. Each group counts approximately as one term."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reranker.embeddings import Embeddings
from reranker.text.idf import DocumentFrequencies
from reranker.translation.groups import Translation, WordGroup

Clause = dict[str, Any]

# The engines refuse a query of more than 1,024 clauses; the caller's query has some of its own.
MAX_CLAUSES = 600
# The part of the other translations' scores that counts; nearest to the true sum (papers/results/order.md).
_TIE_BREAKER = 0.1
# Frequencies come from a sample and are of words, while the engine counts stems. This limits the error of a boost.
_LARGEST_RATIO = 3.0
_LEAST_IDF = 1e-6


def counted(
    groups: Iterable[WordGroup], embeddings: Embeddings, language: str, frequencies: DocumentFrequencies
) -> list[WordGroup]:
    """The groups with how many documents contain each translation, by the frequencies of their language."""

    def of_group(group: WordGroup) -> WordGroup:
        term_ids = [embeddings.term_id(language, each.term) for each in group.translations]
        counts = frequencies.of(np.array([-1 if one is None else one for one in term_ids], dtype=np.int32))
        pairs = zip(group.translations, counts.tolist(), strict=True)
        return replace(group, translations=tuple(replace(each, n_documents=int(count)) for each, count in pairs))

    return list(map(of_group, groups))


def group_clauses(
    groups: Sequence[WordGroup],
    clause: Callable[[str, float], Clause],
    n_documents: int | None,
    max_words: int = MAX_CLAUSES,
    is_folded: bool = False,
) -> list[Clause]:
    """One clause for each group, for the `should` of a `bool` query.

    A group scores as its best translation (`dis_max`), plus a tenth of the others; a translation scores as its best
    spelling. If there are more than `max_words` translations, the groups with the highest idf times occurrences are
    kept, at least one; if there are fewer, further spellings take the rest.

    Args:
        clause: makes the engine's clause for a word and its boost.
        n_documents: of the index in the language of the translations; None: not known, all words have the same idf. A
            word whose documents are not known, such as a name, counts as rarest.
        is_folded: the analyzer makes one word of all spellings of a translation, so that the first is enough.
    """
    weighed = [(group, *_boosts(group, n_documents)) for group in groups]
    chosen: list[list[tuple[Translation, float]]] = []
    left = max_words
    for group, _, boosts in sorted(weighed, key=lambda one: -one[1]):
        if chosen and len(boosts) > left:
            break
        left -= len(boosts)
        chosen.append(list(zip(group.translations, boosts, strict=True)))
    left = 0 if is_folded else left
    clauses = []
    for pairs in chosen:
        words = []
        for each, boost in pairs:
            written = (each.spellings or (each.term,))[: 1 + max(0, left)]
            left -= len(written) - 1
            words.append(_any_of([clause(word, boost) for word in written], tie_breaker=0.0))
        clauses.append(_any_of(words))
    return clauses


def _boosts(group: WordGroup, n_documents: int | None) -> tuple[float, list[float]]:
    """The value of the group (its idf times its occurrences), and the boost of each of its translations.

    BM25 of a group would add the weighted occurrences of all translations, and weight the sum by the idf of the group.
    An engine weights each word by its own idf. The boost replaces that idf; otherwise a wrong, rare translation would
    outweigh the right one. The boost has the square root of the weight: BM25 is concave, so a word of half the weight
    scores more than half.
    """
    counts = [float(each.n_documents or 0) for each in group.translations]
    # Pirkola's document frequency: documents with any translation; those of small weight count less.
    n_with = max(each.weight * count for each, count in zip(group.translations, counts, strict=True))
    idf = _idf(n_documents, n_with)
    boosts = [
        group.n_occurrences * math.sqrt(each.weight) * min(_LARGEST_RATIO, idf / _idf(n_documents, count))
        for each, count in zip(group.translations, counts, strict=True)
    ]
    return idf * group.n_occurrences, boosts


def _idf(n_documents: int | None, n_with: float) -> float:
    """BM25's idf of a term that this many documents contain, ln(1 + (N - df + 0.5) / (df + 0.5))."""
    if n_documents is None:
        return 1.0
    return max(_LEAST_IDF, math.log(1 + (n_documents - min(n_with, n_documents) + 0.5) / (n_with + 0.5)))


def _any_of(clauses: list[Clause], tie_breaker: float = _TIE_BREAKER) -> Clause:
    return clauses[0] if len(clauses) == 1 else {"dis_max": {"queries": clauses, "tie_breaker": tie_breaker}}
