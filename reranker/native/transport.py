"""The compiled loops of the transport, called with arrays (README.md; formulas and shapes are in the C sources).

Arrays are of the types that the C functions name; callers see to that, and to their sizes. Where a name ends in a type
in C (`_f32`, `_f64`) there is a function for each, here by the bytes of a number. Threads that call a function with the
same counter share the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.native.library import LEVEL, LEVELS, declare

Double = NDArray[np.float64]
Ints = NDArray[np.int64]
ShortInts = NDArray[np.int32]

REGISTER_BYTES = 16 << LEVELS.index(LEVEL)
LANES = REGISTER_BYTES // 4
"""float32 numbers of a register: tables of costs have a multiple of this in each row."""
TERMS_TOGETHER = 6
"""Terms of which products are computed together (`TERMS` in products.h): lists of terms go on for twice as many."""
HAS_FIXED_POINT = LEVEL != "base"
"""Whether this processor has an instruction for products in fixed point."""

OUT_OF_RANGE = -3
"""What `solve_whole` returns where float32 does not suffice."""

_Function = Callable[..., Any]


def _single(name: str, arguments: str, result: str = "i") -> _Function:
    return declare(f"{name}_f32_{LEVEL}", arguments, result)


def _double(name: str, arguments: str, result: str = "i") -> _Function:
    return declare(f"{name}_f64_{LEVEL}", arguments, result)


def _by_size(name: str, arguments: str, result: str = "i") -> dict[int, _Function]:
    """By the bytes of a number."""
    return {4: _single(name, arguments, result), 8: _double(name, arguments, result)}


_distinct_terms = declare("distinct_terms", "pqqpppp", "q")
_moved_words = declare("moved_words", "pqpppppqppqqdpppp", "q")
_neighbour_means = declare("neighbour_means", "pppqpqpqqp", "i")
_lay_out_words = _by_size("lay_out_words", "pqqp", "")
fill_cost_table = _by_size("fill_cost_table", "ppqpqpppqppqdipp")
nearest_words = _by_size("nearest_words", "pqpppqpqppp")
scale_documents = _by_size("scale_documents", "ppipqdpppqpqppppqiddppp")
dual_bounds = _double("dual_bounds", "pqpppqpqpdqp")
fill_bag_means = _single("fill_bag_means", "ppqpppqpp")
one_less_cosines = _single("one_less_cosines", "pqppqppqp")
mean_nearest_products = _single("mean_nearest_products", "pqqpqqqp")
solve_whole = _single("solve_whole", "pqppqqpqppqpppqpqidididdppp")


def distinct_terms(terms: ShortInts, n_terms: int) -> tuple[ShortInts, ShortInts]:
    """The distinct terms of some words, ascending; and for each word its term's place among these.

    Args:
        terms: (n_words,) from 0 to n_terms - 1.
    """
    n_blocks, n_words = n_terms // 64 + 1, len(terms)
    met, before = np.zeros(n_blocks, np.uint64), np.empty(n_blocks, np.int32)
    distinct, places = np.empty(min(n_words, n_terms), np.int32), np.empty(n_words, np.int32)
    n_distinct = _distinct_terms(terms, n_words, n_terms, met, before, distinct, places)
    return distinct[:n_distinct].copy(), places


def moved_words(
    term_ids: ShortInts,
    terms: ShortInts,
    offsets: Ints,
    weights: Double,
    best: Ints,
    counts: Double,
    query_ids: ShortInts,
    query_weights: Double,
    n_words: int,
    share: float,
) -> tuple[ShortInts, Double]:
    """The words of a query and the heaviest of its best candidates, ascending, and their weights, which sum to 1; the
    query itself where these candidates have no word.

    Args:
        term_ids: (k,) ascending; terms: (n_words,) of all candidates, each a place among these.
        offsets: (n_candidates + 1,); weights: (n_words,).
        best: candidates; counts: by how much the weights of each count.
        query_ids, query_weights: of the query.
        n_words: of the best candidates that are taken, at most; of equally heavy ones the first.
        share: of the weights of these; the query's own have the rest.
    """
    most = n_words + len(query_ids)
    found, moved = np.empty(most, np.int32), np.empty(most)
    summed, heaviest = np.zeros(len(term_ids)), np.zeros(n_words)
    n_found = _moved_words(
        term_ids, len(term_ids), terms, offsets, weights, best, counts, len(best), query_ids, query_weights,
        len(query_ids), n_words, share, summed, heaviest, found, moved,
    )  # fmt: skip
    return (found[:n_found], moved[:n_found]) if n_found else (query_ids, query_weights)


def neighbour_means(
    terms: ShortInts, offsets: Ints, roots: Double, n_terms: int, best: Ints, scores: Double, n_nearest: int
) -> Double:
    """The mean score of each document's nearest neighbours, by the fourth power of their likeness; its own score where
    none of the best shares a word with it.

    The likeness of two documents is the sum of the products of the roots of each term that both have; 0 of a document
    and itself. Equally near neighbours all count.

    Args:
        terms: (n_words,) from 0 to n_terms - 1; offsets: (n_documents + 1,); roots: (n_words,) above 0.
        best: (n_best,) documents among which neighbours are looked for, more than `n_nearest`.
        scores: (n_documents,).
    """
    means = np.empty(len(scores))
    _neighbour_means(terms, offsets, roots, n_terms, best, len(best), scores, len(scores), n_nearest, means)
    return means


def lay_out_words(words: NDArray[Any]) -> NDArray[Any]:
    """Rows (width, dim) of 4 or 8 bytes a number in the order in which products read them, flat."""
    laid_out = np.empty(words.size, words.dtype)
    _lay_out_words[words.itemsize](words, *words.shape, laid_out)
    return laid_out
