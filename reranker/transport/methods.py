"""Turns names of methods into distances: the public entry; checks what comes in and leaves the arithmetic to others."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process

from reranker.bags import WeightedBag, WeightedBags
from reranker.errors import BadInput, WrongParameter
from reranker.transport import reference
from reranker.transport.problem import (
    Distances,
    Parameters,
    check_embeddings,
    checked_candidates,
    checked_query,
)
from reranker.transport.reference import Implementation

METHODS: tuple[str, ...] = ("nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto")

# What `sinkhorn` has of `auto`; the rest is the cost of each query word's soft nearest words. Chosen on the development
# half of the LibreOffice pages (docs/evaluation.md): from 0.5 to 0.65 no length of query loses to the better of
# `relaxed` and `sinkhorn`, and below 0.6 half pages in search of the other half lose to the first stage.
AUTO_SINKHORN_SHARE = 0.6

# Up to so many distinct words `auto` is `relaxed` alone: titles as queries, which are what people type, have a mean MRR
# of 0.64 by it and of 0.63 by the mixture (docs/evaluation.md).
AUTO_MAX_RELAXED_WORDS = 8

_DEFAULTS = Parameters()
_log = logging.getLogger(__name__)


def distances(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    method: str = "sinkhorn",
    parameters: Parameters = _DEFAULTS,
    n_threads: int = 1,
    *,
    implementation: str = "compiled",
) -> Distances:
    """Distances of one query to many documents, by optimal transport between their words.

    Args:
        query: n words; weights of 0 are left out.
        candidates: the documents; one with no word is at +inf.
        embeddings: (n_terms, dim) float32, rows of norm 1; may be a memory map.
        method: one of `METHODS`.
        parameters: of `sinkhorn`, `relaxed` and `auto`.
        n_threads: the most threads that may work; they give the same values bit for bit.
        implementation: "compiled", or "reference" (slow; what the former is tested against, and used where Numba
        is not).

    Raises:
        BadInput: the query is empty, the method unknown, or weights, term ids or embeddings break their contract.

    >>> table = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> bags = [WeightedBag(np.array([i], np.int32), np.ones(1)) for i in (0, 1)]
    >>> distances(bags[0], WeightedBags.join(bags), table, "emd").values.round(4)
    array([0.    , 1.4142])
    """
    solve = _implementation(implementation)
    if n_threads < 1:
        raise BadInput(f"n_threads is {n_threads}; give 1 or more")
    check_embeddings(embeddings)
    checked = checked_query(query, embeddings)
    documents = checked_candidates(candidates, len(embeddings))
    check_method(method)
    solved = [
        (share, solve(checked, documents, embeddings, part, settings, n_threads))
        for share, part, settings in parts(method, parameters, len(checked))
    ]
    last = solved[-1][1]
    if len(solved) == 1:
        return last
    return replace(last, values=np.sum([share * found.values for share, found in solved], axis=0), method=method)


def parts(method: str, parameters: Parameters, n_query_words: int) -> list[tuple[float, str, Parameters]]:
    """What a method is the weighted sum of: (share, method, parameters), the shares summing to 1.

    `auto` is `relaxed` for a query of at most `AUTO_MAX_RELAXED_WORDS` distinct words. For a longer one it is 1 -
    `AUTO_SINKHORN_SHARE` of `relaxed` at tau = 0, which is settled after one iteration (each query word goes to its
    nearest words: are the words of the query there?), and the rest of `sinkhorn` (is the document about nothing else?).
    Both keep the query's weights, so their plans mix as their distances do.
    """
    if method != "auto":
        return [(1.0, method, parameters)]
    if n_query_words <= AUTO_MAX_RELAXED_WORDS:
        return [(1.0, "relaxed", parameters)]
    nearest = replace(parameters, n_iterations=1, tau=0.0)
    return [(1 - AUTO_SINKHORN_SHARE, "relaxed", nearest), (AUTO_SINKHORN_SHARE, "sinkhorn", parameters)]


def check_method(method: str) -> str:
    """The method's name.

    Raises:
        WrongParameter: no method has this name; the message gives the nearest.
    """
    if method not in METHODS:
        nearest = process.extractOne(method.lower(), METHODS)
        hint = f"did you mean '{nearest[0]}'? " if nearest and nearest[1] else ""
        raise WrongParameter(f"method is '{method}'; {hint}give one of {', '.join(METHODS)}")
    return method


def warm_up() -> None:
    """Compiles every kernel by tiny solves (a minute at the first time, then read from disk); call it before
    forking."""
    table = np.eye(2, dtype=np.float32)
    bag = WeightedBag(np.arange(2, dtype=np.int32), np.full(2, 0.5))
    bags = WeightedBags.join([bag])
    for method in METHODS:
        distances(bag, bags, table, method)
    for epsilon in (0.02, 0.001):  # float64, log
        distances(bag, bags, table, "sinkhorn", Parameters(epsilon=epsilon))


def _implementation(name: str) -> Implementation:
    if name == "reference":
        return reference.distances
    if name != "compiled":
        raise BadInput(f"implementation is '{name}'; give 'compiled' or 'reference'")
    try:
        from reranker.transport import batch
    except ImportError:
        _log.warning("Numba cannot be imported: distances are computed by the slow reference; install numba")
        return reference.distances
    return batch.distances
