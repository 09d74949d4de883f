"""The compiled loops of the transport, called with arrays (README.md; formulas and shapes are in the C sources).

Arrays are contiguous and of the types that the C functions name; callers see to that, and to their sizes. Where a name
ends in a type (`_f32`, `_f64`) there is a function for each, and the type of the first table or rows decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reranker.native.library import LEVEL, LEVELS, address, declare

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Float = NDArray[Any]  # float32 or float64
Ints = NDArray[np.int64]
ShortInts = NDArray[np.int32]

REGISTER_BYTES = 16 << LEVELS.index(LEVEL)
LANES = REGISTER_BYTES // 4
"""float32 numbers of a register: tables of costs have a multiple of this in each row."""
TERMS_TOGETHER = 6
"""Terms of which products are computed together (`TERMS` in products.h): lists of terms go on for twice as many."""
HAS_FIXED_POINT = LEVEL != "base"
"""Whether this processor has an instruction for products in fixed point."""

# What `solve_whole` returns, apart from the place of a term that is not sound (whole_solve.h).
SOLVED, OUT_OF_RANGE = -1, -2
_NO_MEMORY, _NO_MEMORY_TO_SOLVE = -1, -3

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
_fill_cost_table = _by_size("fill_cost_table", "ppqpqpppqppqdipp")
_nearest_words = _by_size("nearest_words", "pqpppqpqppp")
_scale_documents = _by_size("scale_documents", "ppipqdpppqpqppppqiddppp")
_dual_bounds = _double("dual_bounds", "pqpppqpqpdqp")
_fill_bag_means = _single("fill_bag_means", "ppqpppqpp")
_one_less_cosines = _single("one_less_cosines", "pqppqppqp")
_mean_nearest_products = _single("mean_nearest_products", "pqqpqqqp")
_solve_whole = _single("solve_whole", "pqppqqpqppqpppqpqidididdppp", "q")


def distinct_terms(terms: ShortInts, n_terms: int) -> tuple[ShortInts, ShortInts]:
    """The distinct terms of some words, ascending; and for each word its term's place among these.

    Args:
        terms: (n_words,) from 0 to n_terms - 1.
    """
    n_blocks, n_words = n_terms // 64 + 1, len(terms)
    met, before = np.zeros(n_blocks, np.uint64), np.empty(n_blocks, np.int32)
    distinct, places = np.empty(min(n_words, n_terms), np.int32), np.empty(n_words, np.int32)
    n_distinct = _distinct_terms(
        address(terms), n_words, n_terms, address(met), address(before), address(distinct), address(places)
    )
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
        address(term_ids), len(term_ids), address(terms), address(offsets), address(weights), address(best),
        address(counts), len(best), address(query_ids), address(query_weights), len(query_ids), n_words, share,
        address(summed), address(heaviest), address(found), address(moved),
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
    _check(_neighbour_means(
        address(terms), address(offsets), address(roots), n_terms, address(best), len(best), address(scores),
        len(scores), n_nearest, address(means),
    ))  # fmt: skip
    return means


def lay_out_words(words: NDArray[Any]) -> NDArray[Any]:
    """Rows (width, dim) of 4 or 8 bytes a number in the order in which products read them, flat."""
    laid_out = np.empty(words.size, words.dtype)
    _lay_out_words[words.itemsize](address(words), *words.shape, address(laid_out))
    return laid_out


def fill_cost_table(
    counter: Ints,
    embeddings: Single,
    term_ids: ShortInts,
    n_terms: int,
    words: NDArray[Any],
    word_rows: Float,
    word_ids: ShortInts,
    word_norms: Float,
    word_factors: Single | None,
    close: float,
    is_euclidean: bool,
    cost: Float,
    unsound: Ints,
) -> None:
    """Writes the ground costs of terms to query words; threads that call it with the same counter share the work."""
    _check(_fill_cost_table[cost.itemsize](
        address(counter), address(embeddings), embeddings.shape[1], address(term_ids), n_terms, address(words),
        address(word_rows), address(word_ids), len(word_ids), address(word_norms),
        None if word_factors is None else address(word_factors), cost.shape[1], close, is_euclidean, address(cost),
        address(unsound),
    ))  # fmt: skip


def nearest_words(
    cost: Float, index: ShortInts, offsets: Ints, documents: Ints, a: Double, b: Double,
    from_query: Double, to_document: Double,
) -> None:  # fmt: skip
    """Writes what transport costs when one side alone keeps its weights."""
    _check(_nearest_words[cost.itemsize](
        address(cost), cost.shape[1], address(index), address(offsets), address(documents), len(documents), address(a),
        len(a), address(b), address(from_query), address(to_document),
    ))  # fmt: skip


def scale_documents(
    counter: Ints,
    order: Ints,
    is_short: bool,
    cost: Float,
    factor: float,
    index: ShortInts,
    offsets: Ints,
    documents: Ints,
    a: Float,
    b: Float,
    starts: Float,
    powers: Double,
    n_most: Ints,
    over_relaxed: bool,
    stop_below: float,
    smallest: float,
    values: Double,
    errors: Double,
    iterations: ShortInts,
) -> None:
    """Writes the distances, marginal errors and iterations of documents by one or more solves; threads that call it
    with the same counter share the work."""
    _check(_scale_documents[cost.itemsize](
        address(counter), address(order), is_short, address(cost), cost.shape[1], factor, address(index),
        address(offsets), address(documents), len(documents), address(a), len(a), address(b), address(starts),
        address(powers), address(n_most), len(powers), over_relaxed, stop_below, smallest, address(values),
        address(errors), address(iterations),
    ))  # fmt: skip


def dual_bounds(
    cost: Double, index: ShortInts, offsets: Ints, documents: Ints, a: Double, b: Double, epsilon: float, n_most: int,
    bounds: Double,
) -> None:  # fmt: skip
    """Writes lower bounds of exact transport."""
    _check(_dual_bounds(
        address(cost), cost.shape[1], address(index), address(offsets), address(documents), len(documents), address(a),
        len(a), address(b), epsilon, n_most, address(bounds),
    ))  # fmt: skip


def fill_bag_means(
    counter: Ints, embeddings: Single, term_ids: ShortInts, weights: Double, offsets: Ints, means: Single,
    unsound: Ints,
) -> None:  # fmt: skip
    """Writes weighted mean embeddings; threads that call it with the same counter share the work."""
    _check(_fill_bag_means(
        address(counter), address(embeddings), embeddings.shape[1], address(term_ids), address(weights),
        address(offsets), len(means), address(means), address(unsound),
    ))  # fmt: skip


def one_less_cosines(
    embeddings: Single, term_ids: ShortInts, weights: Double, means: Single, offsets: Ints, values: Double
) -> None:
    """Writes 1 - cosine of the mean embedding of a query and of those of bags that have words."""
    _check(_one_less_cosines(
        address(embeddings), embeddings.shape[1], address(term_ids), address(weights), len(weights), address(means),
        address(offsets), len(means), address(values),
    ))  # fmt: skip


def mean_nearest_products(rows: Single, words: Single, width: int, n_words: int, n_nearest: int, means: Double) -> None:
    """Writes the mean of the largest inner products of each row with some words."""
    _check(_mean_nearest_products(
        address(rows), len(rows), rows.shape[1], address(words), width, n_words, n_nearest, address(means)
    ))  # fmt: skip


def solve_whole(
    embeddings: Single,
    word_ids: ShortInts,
    word_weights: Double,
    width: int,
    terms: ShortInts,
    index: ShortInts,
    offsets: Ints,
    weights: Double,
    means: Single | None,
    solves: Double,
    shares: Double,
    is_euclidean: bool,
    close: float,
    is_short: bool,
    factor: float,
    over_relaxed: bool,
    stop_below: float,
    smallest: float,
    values: Double,
    errors: Double,
    iterations: ShortInts,
) -> int:
    """Writes the distances of all candidates by a sum of methods, in one call; the place of a term whose embedding is
    not sound, or `SOLVED`, or `OUT_OF_RANGE`."""
    status: int = _solve_whole(
        address(embeddings), embeddings.shape[1], address(word_ids), address(word_weights), len(word_ids), width,
        address(terms), len(terms), address(index), address(offsets), len(offsets) - 1, address(weights),
        None if means is None else address(means), address(solves), len(solves), address(shares), len(shares),
        is_euclidean, close, is_short, factor, over_relaxed, stop_below, smallest, address(values), address(errors),
        address(iterations),
    )  # fmt: skip
    if status == _NO_MEMORY_TO_SOLVE:
        raise MemoryError
    return status


def _check(status: int) -> None:
    if status == _NO_MEMORY:
        raise MemoryError
