"""Turns two stores of any origins into one: each term's vectors end to end, and of these the principal directions.

Concatenation and reduction is what meta-embeddings take (Yin and Schütze 2016). A term that one store lacks has there
what the other's vector lets expect, by ridge regression over the terms of both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.copying import joint_documents
from ingest.embeddings.spectral import unit_rows
from ingest.embeddings.summary import Summary
from ingest.progress import Progress, no_progress
from reranker.embeddings import Embeddings, EmbeddingsWriter, Precision, check_output
from reranker.errors import BadInput

_BLOCK_ROWS = 8_192
# Of the mean square of a number over the common terms: so much that a regression on few terms does not run wild.
_RIDGE = 1.0
_NO_TERM = -1

Rows = NDArray[np.float32]
Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Half:
    """One of the two stores, seen from the joint vocabulary.

    Attributes:
        ids: (n_terms,) its term id of each joint term, or -1.
        expected: (dim of the other, dim) what the other's vector lets expect of this.
    """

    embeddings: Embeddings
    ids: Ids
    expected: NDArray[np.float64]


def join(
    first: Embeddings,
    second: Embeddings,
    output: Path,
    *,
    dim: int | None = None,
    replace: bool = False,
    precision: Precision = "float32",
    progress: Progress = no_progress,
) -> Summary:
    """Writes a store with the terms of both, those of the first in front.

    Args:
        output: the folder to make.
        dim: of the new store; None: as many as the larger of the two has.

    Raises:
        BadInput: the output exists, the stores have no term in common, or more dimensions are asked for than they have.
    """
    started = time.monotonic()
    check_output(output, replace=replace)
    most = first.dim + second.dim
    dim = max(first.dim, second.dim) if dim is None else dim
    if not 1 <= dim <= most:
        raise BadInput(f"dim is {dim}; give 1 to {most}, which is what both stores have together")
    ids = _joint_ids(first, second)
    common = (ids[0] >= 0) & (ids[1] >= 0)
    if not common.any():
        raise BadInput(
            f"{first.path} ({', '.join(first.languages)}) and {second.path} ({', '.join(second.languages)}) have no "
            "term in common, so nothing says how they lie to each other; use `sinkrank embeddings align`"
        )
    halves = _halves(first, second, ids, common)
    directions = _principal_directions(halves, dim, progress)
    described = {"joined": [first.meta["source"], second.meta["source"]], "n_common": int(common.sum())}
    n_documents = joint_documents(first, second)
    with EmbeddingsWriter(output, dim=dim, source=described, replace=replace, precision=precision) as writer:
        for start, rows in _joined(halves, progress, "writing the joint embeddings"):
            _append(
                writer, first, second, ids[:, start : start + len(rows)], rows @ directions, n_documents is not None
            )
        writer.commit(n_documents)
    return Summary.of(Embeddings.open(output), started)


def _joint_ids(first: Embeddings, second: Embeddings) -> Ids:
    """(2, n_terms): the term ids of each joint term in both stores, -1 where one lacks it."""
    in_second = np.array([_id(second, *first.term(term_id)) for term_id in range(first.n_terms)], dtype=np.int64)
    only_second = np.setdiff1d(np.arange(second.n_terms), in_second)
    return np.stack(
        [
            np.concatenate([np.arange(first.n_terms), np.full(len(only_second), _NO_TERM)]),
            np.concatenate([in_second, only_second]),
        ]
    )


def _id(embeddings: Embeddings, language: str, term: str) -> int:
    return embeddings.vocabulary.find(language, term)


def _halves(first: Embeddings, second: Embeddings, ids: Ids, common: NDArray[np.bool_]) -> tuple[_Half, _Half]:
    products = np.zeros((first.dim + second.dim, first.dim + second.dim))
    places = np.flatnonzero(common)
    for start in range(0, len(places), _BLOCK_ROWS):
        part = places[start : start + _BLOCK_ROWS]
        both = [
            np.asarray(store.vectors[own[part]], np.float64) for store, own in zip((first, second), ids, strict=True)
        ]
        rows = np.concatenate(both, axis=1)
        products += rows.T @ rows
    a, b = slice(0, first.dim), slice(first.dim, None)
    return (
        _Half(first, ids[0], _ridge(products[b, b], products[b, a])),
        _Half(second, ids[1], _ridge(products[a, a], products[a, b])),
    )


def _ridge(squares: NDArray[np.float64], products: NDArray[np.float64]) -> NDArray[np.float64]:
    weight = _RIDGE * np.trace(squares) / len(squares)
    return np.linalg.solve(squares + weight * np.eye(len(squares)), products)


def _principal_directions(halves: tuple[_Half, _Half], dim: int, progress: Progress) -> NDArray[np.float64]:
    """(sum of both dims, dim): the eigenvectors of the largest eigenvalues of the rows' products."""
    size = sum(half.embeddings.dim for half in halves)
    products = np.zeros((size, size))
    for _, rows in _joined(halves, progress, "comparing the dimensions of both stores"):
        products += rows.T @ rows
    return np.linalg.eigh(products)[1][:, ::-1][:, :dim]


def _joined(
    halves: tuple[_Half, _Half], progress: Progress, description: str
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """The rows of both stores end to end, at length 1, block by block, each with its first place."""
    n_terms = len(halves[0].ids)
    for start in range(0, n_terms, _BLOCK_ROWS):
        progress(start, n_terms, description)
        part = slice(start, start + _BLOCK_ROWS)
        own = [_picked(half.embeddings, half.ids[part]) for half in halves]
        filled = [
            np.where((half.ids[part] >= 0)[:, None], mine, other @ half.expected)
            for half, mine, other in zip(halves, own, own[::-1], strict=True)
        ]
        yield start, unit_rows(np.concatenate(filled, axis=1)).astype(np.float64)
    progress(n_terms, n_terms, description)


def _picked(embeddings: Embeddings, ids: Ids) -> NDArray[np.float64]:
    """The rows of some terms, zeros for a term that is not there."""
    rows = np.zeros((len(ids), embeddings.dim))
    rows[ids >= 0] = embeddings.vectors[ids[ids >= 0]]
    return rows


def _append(
    writer: EmbeddingsWriter,
    first: Embeddings,
    second: Embeddings,
    ids: Ids,
    vectors: NDArray[np.float64],
    counted: bool,
) -> None:
    """Adds a block of joint terms language by language, with the document frequencies of the store they come from."""
    terms: dict[str, list[int]] = {}
    names, frequencies = [], np.zeros(len(vectors), np.int32)
    for row, (mine, theirs) in enumerate(ids.T.tolist()):
        store, term_id = (first, mine) if mine >= 0 else (second, theirs)
        language, term = store.term(term_id)
        terms.setdefault(language, []).append(row)
        names.append(term)
        if counted and store.document_frequencies is not None:
            frequencies[row] = store.document_frequencies[term_id]
    for language, rows in terms.items():
        block = [names[row] for row in rows]
        writer.append(language, block, vectors[rows], frequencies[rows] if counted else None)
