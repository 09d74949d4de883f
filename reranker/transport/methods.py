"""The methods by name, and the public entry to them all: checks what is given, then has it solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import WrongParameter
from reranker.base.suggestions import did_you_mean
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport.candidate_costs import fits
from reranker.transport.parameters import Parameters
from reranker.transport.problem import Problem, checked_problem
from reranker.transport.results import Distances
from reranker.transport.shares import auto_shares
from reranker.transport.solve import solve, table_precision
from reranker.transport.threads import check_n_threads

METHODS: tuple[str, ...] = ("nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto")

# Half the squared Euclidean cost: ahead of the Euclidean one up to 20 words, equal beyond (papers/results/order.md).
AUTO_COST = "cosine"

_DEFAULTS = Parameters()


def distances(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    method: str = "sinkhorn",
    parameters: Parameters = _DEFAULTS,
    n_threads: int = 1,
) -> Distances:
    """Distances of one query to many documents, by optimal transport between their words.

    Args:
        query: n words, as an `IdfTable` weighs them.
        candidates: the documents, weighed so too; one with no word is at +inf.
        embeddings: (n_terms, dim) float32, rows of norm 1; may be a memory map.
        method: one of `METHODS`.
        parameters: of `sinkhorn`, `relaxed` and `auto`.
        n_threads: the most threads that may work; they give the same values bit for bit.

    Raises:
        BadInput: the query is empty, the method unknown, or term ids or embeddings break their contract.

    >>> table = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> bags = [WeightedBag(np.array([i], np.int32), np.ones(1)) for i in (0, 1)]
    >>> distances(bags[0], WeightedBags.join(bags), table, "emd").values.round(4)
    array([0.    , 1.4142])
    """
    check_n_threads(n_threads)
    problem = checked_problem(query, candidates, embeddings)
    return solve_problem(problem, check_method(method), parameters, n_threads)


def solve_problem(
    problem: Problem,
    method: str,
    parameters: Parameters,
    n_threads: int = 1,
    shares: Sequence[float] | None = None,
) -> Distances:
    """`distances` of what was checked before.

    Args:
        shares: what `part_shares` gives; None: for as many words as the query of the problem has.
    """
    parameters = parameters.for_query(len(problem.query))
    shares = shares or part_shares(method, len(problem.query))
    components = parts(method, parameters)
    if not fits(problem, table_precision(*components[-1])):
        halves = problem.halves()
        return Distances.join([solve_problem(half, method, parameters, n_threads, shares) for half in halves])
    return _mixed(shares, solve(problem, components, n_threads, shares))


def _mixed(shares: Sequence[float], solved: Sequence[Distances]) -> Distances:
    """The distances of a method from those of its `parts`, which may be mixed already."""
    last = solved[-1]
    if len(solved) == 1:
        return last
    values = np.zeros(len(last.values))
    for share, found in zip(shares, solved, strict=True):
        values += share * found.values
    return replace(last, values=values)


def part_shares(method: str, n_query_words: int) -> tuple[float, ...]:
    """What each of a method's `parts` has of its distance, in their order; they sum to 1.

    Args:
        n_query_words: distinct words of the query.
    """
    if method != "auto":
        return (1.0,)
    shares = auto_shares(n_query_words)
    return shares.nbow, shares.nearest, shares.sinkhorn


@lru_cache(64)
def parts(method: str, parameters: Parameters) -> tuple[tuple[str, Parameters], ...]:
    """What a method is the weighted sum of: (method, parameters), with the weights that `part_shares` gives.

    `auto` consists of `nbow`, of `relaxed` at tau = 0, which is settled after one iteration (each query word goes to
    its soft nearest words: are the words of the query there?), and of `sinkhorn` (is the document about nothing else?),
    the last two by the cosine cost unless another is asked for. The plan of each has the query's weights, so their
    plans mix as their distances do.
    """
    if method != "auto":
        return ((method, parameters),)
    parameters = replace(parameters, cost=parameters.cost or AUTO_COST)
    nearest = replace(parameters, n_iterations=1, tau=0.0)
    return ("nbow", parameters), ("relaxed", nearest), ("sinkhorn", parameters)


def check_method(method: str, *others: str) -> str:
    """The method's name.

    Args:
        others: names that may stand in the place of a method's.

    Raises:
        WrongParameter: no method has this name; the message gives the nearest.
    """
    known = (*METHODS, *others)
    if method not in known:
        hint = did_you_mean(str(method), known)
        raise WrongParameter(f"method is '{method}'; {hint}{' ' if hint else ''}give one of {', '.join(known)}")
    return method
