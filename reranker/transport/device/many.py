"""Turns many queries, each with its candidates, into distances on a device: `transport.distances` for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBag, WeightedBags
from reranker.errors import BadInput, WrongParameter
from reranker.transport.device import nbow
from reranker.transport.device.embeddings import DeviceEmbeddings
from reranker.transport.device.pairs import Pairs
from reranker.transport.device.solve import Found, solve
from reranker.transport.methods import check_method, part_shares, parts
from reranker.transport.problem import (
    Distances,
    Parameters,
    checked_candidates,
    checked_query,
    scaling_precision,
)

# Large enough to keep a GPU at work, small beside the memory of any.
MAX_BYTES = 512 * 2**20
_DEFAULTS = Parameters()

Parts = list[tuple[str, Parameters]]  # what a method is the weighted sum of (`methods.parts`)


def distances_many(
    queries: Sequence[WeightedBag],
    candidates: WeightedBags | Sequence[WeightedBags],
    embeddings: NDArray[np.float32] | DeviceEmbeddings,
    method: str = "sinkhorn",
    parameters: Parameters = _DEFAULTS,
    device: str | None = None,
    *,
    max_bytes: int = MAX_BYTES,
) -> list[Distances]:
    """The distances of many queries, each to its own candidates or all to the same ones, computed on a device.

    The same results as one call of `transport.distances` for each query, to rounding: some 1e-6.

    Args:
        queries: at least one word each.
        candidates: of all queries together, or one `WeightedBags` for each.
        embeddings: (n_terms, dim) float32, rows of norm 1; `DeviceEmbeddings` for more than one call, so that they are
            copied once.
        method: any of `transport.METHODS` but `emd`.
        device: where to copy the embeddings: the name of a device (`open_device`); None: "cpu", by NumPy.
        max_bytes: of the device's memory for the work, beside the embeddings (and for `nbow` a vector for each text);
            one pair is solved at least.

    Raises:
        BadInput: as by `transport.distances`, with the place of the query; or as many candidates as queries were not
            given.
        WrongParameter: a device that there is not, or a method that has no form for it.

    >>> table = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> bags = [WeightedBag(np.array([i], np.int32), np.ones(1)) for i in (0, 1)]
    >>> [found.values.round(4) for found in distances_many(bags, WeightedBags.join(bags), table, "rwmd")]
    [array([0.    , 1.4142]), array([1.4142, 0.    ])]
    """
    if check_method(method) == "emd":
        raise WrongParameter(
            "method 'emd' has no form for a device; use reranker.transport.distances, or the method 'sinkhorn'"
        )
    if max_bytes < 1:
        raise BadInput(f"max_bytes is {max_bytes}; give 1 or more ({MAX_BYTES} is usual)")
    held = _held(embeddings, device)
    held.device.check_products()
    checked = [_checked_query(place, query, held.host) for place, query in enumerate(queries)]
    pairs, ends = _pairs(checked, candidates, len(held.host))
    held.check(pairs.documents.term_ids)
    values, errors = np.full(len(pairs.query), np.inf), np.zeros(len(pairs.query))
    known = np.diff(pairs.documents.offsets)[pairs.document] > 0
    wanted = parts(method, parameters)
    shares = np.array([part_shares(method, parameters, len(query)) for query in checked])
    places = np.flatnonzero(known)
    if len(places):
        values[places], errors[places] = _solve(held, pairs.some(places), wanted, shares, max_bytes)
    return [_distances(values[start:end], errors[start:end], method, wanted) for start, end in pairwise(ends)]


def _held(embeddings: NDArray[np.float32] | DeviceEmbeddings, device: str | None) -> DeviceEmbeddings:
    if not isinstance(embeddings, DeviceEmbeddings):
        return DeviceEmbeddings.upload(embeddings, device or "cpu")
    if device not in (None, embeddings.device.name):
        raise WrongParameter(
            f"device is '{device}', and the embeddings lie on '{embeddings.device.name}'; leave the device out, or"
            " upload them there"
        )
    return embeddings


def _checked_query(place: int, query: WeightedBag, embeddings: NDArray[np.float32]) -> WeightedBag:
    try:
        return checked_query(query, embeddings)
    except BadInput as error:
        raise type(error)(f"query {place}: {error}") from error


def _pairs(
    queries: Sequence[WeightedBag], candidates: WeightedBags | Sequence[WeightedBags], n_terms: int
) -> tuple[Pairs, list[int]]:
    """Each query with each of its candidates, in order, and where those of each query begin and end."""
    if isinstance(candidates, WeightedBags):
        documents = checked_candidates(candidates, n_terms)
        counts = np.full(len(queries), len(documents))
        document = np.tile(np.arange(len(documents)), len(queries))
    else:
        documents = _joined(_checked_lists(queries, candidates, n_terms))
        counts = np.array([len(bags) for bags in candidates], dtype=np.int64)
        document = np.arange(len(documents))
    query = np.repeat(np.arange(len(queries)), counts)
    return Pairs(WeightedBags.join(queries), documents, query, document), [0, *np.cumsum(counts).tolist()]


def _checked_lists(
    queries: Sequence[WeightedBag], candidates: Sequence[WeightedBags], n_terms: int
) -> list[WeightedBags]:
    if len(candidates) != len(queries):
        raise BadInput(
            f"{len(candidates)} lists of candidates came with {len(queries)} queries;"
            " give one for each, or one WeightedBags for all"
        )
    found = []
    for place, bags in enumerate(candidates):
        try:
            found.append(checked_candidates(bags, n_terms))
        except BadInput as error:
            raise type(error)(f"candidates of query {place}: {error}") from error
    return found


def _joined(lists: Sequence[WeightedBags]) -> WeightedBags:
    """The bags of all lists, in order."""
    if not lists:
        return WeightedBags.join([])
    lengths = np.concatenate([np.diff(bags.offsets) for bags in lists])
    return WeightedBags(
        np.concatenate([bags.term_ids for bags in lists]),
        np.concatenate([bags.weights for bags in lists]),
        np.concatenate([[0], np.cumsum(lengths)]),
    )


def _solve(held: DeviceEmbeddings, pairs: Pairs, wanted: Parts, shares: NDArray[np.float64], max_bytes: int) -> Found:
    """The weighted sum of what a method consists of; the error of its last part, as in `transport.distances`.

    Args:
        shares: (n_queries, n_parts).
    """
    nothing = np.zeros(len(pairs.query))
    by_cost = iter(solve(held, pairs, [each for each in wanted if each[0] != "nbow"], max_bytes))
    values, errors = nothing.copy(), nothing
    for (part, _), its_shares in zip(wanted, shares.T, strict=True):
        found, errors = (nbow.solve(held, pairs, max_bytes), nothing) if part == "nbow" else next(by_cost)
        values += its_shares[pairs.query] * found
    return values, errors


def _distances(values: NDArray[np.float64], errors: NDArray[np.float64], method: str, wanted: Parts) -> Distances:
    last, parameters = wanted[-1]
    precision = scaling_precision(parameters.epsilon) if last in ("sinkhorn", "relaxed") else "float32"
    converged, not_counted = errors < parameters.converged_below(), np.zeros(len(values), np.int32)
    return Distances(values, method, converged, errors, precision, not_counted)
