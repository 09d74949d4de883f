"""What is given to a transport: one query, its candidates and the embeddings of their words, checked once.

Whatever takes a `Problem` relies on these checks and makes none of its own. Weights are those of an `IdfTable`. Rows of
embeddings are the exception: they are looked at when they are read, since most of a memory map never is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadEmbeddings, BadInput, EmptyQuery
from reranker.text.bags import WeightedBag, WeightedBags, check_term_ids

# Rows that were rounded to few digits have norms off by 1e-3; rows that nobody normalised are off by far more.
NORM_TOLERANCE = 1e-2


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One query and its candidates.

    Attributes:
        query: at least one word.
        candidates: any number; one without a word is at distance +inf.
        embeddings: (n_terms, dim), the rows of the bags' term ids.
        means: (n_candidates, dim) mean embeddings of the candidates, of length 1 or 0 (`nbow.mean_embeddings`); None
            where they are not known.
    """

    query: WeightedBag
    candidates: WeightedBags
    embeddings: NDArray[np.float32]
    means: NDArray[np.float32] | None = None

    def halves(self) -> tuple[Problem, Problem]:
        """The same query with the first half of the candidates, and with the others."""
        middle = len(self.candidates) // 2
        return self._slice(0, middle), self._slice(middle, len(self.candidates))

    def _slice(self, first: int, last: int) -> Problem:
        means = None if self.means is None else self.means[first:last]
        return Problem(self.query, self.candidates.slice(first, last), self.embeddings, means)


def checked_problem(query: WeightedBag, candidates: WeightedBags, embeddings: NDArray[np.float32]) -> Problem:
    """A query and candidates whose term ids may be of other embeddings.

    Raises:
        EmptyQuery, BadEmbeddings: as `check_query`.
        BadInput: the embeddings are of another form, or have no row for a term id.
    """
    check_embeddings(embeddings)
    check_term_ids(query.term_ids, len(embeddings))
    check_query(query, embeddings)
    check_term_ids(candidates.term_ids, len(embeddings))
    return Problem(query, candidates, embeddings)


def check_query(query: WeightedBag, embeddings: NDArray[np.float32]) -> None:
    """Looks at the embeddings of a query's words for all: few rows tell a store that was not normalised.

    Raises:
        EmptyQuery: the query has no word.
        BadEmbeddings: an embedding of a query word is not finite or not of norm 1.
    """
    if not len(query.term_ids):
        raise EmptyQuery("the query has no known word; give a text with at least one word that has an embedding")
    rows = embeddings[query.term_ids]
    squared = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    if not abs(squared - 1).max() < NORM_TOLERANCE:  # true for NaN too
        check_terms(query.term_ids, embeddings)


def check_embeddings(embeddings: NDArray[np.float32]) -> None:
    """Raises BadInput unless the embeddings are (n_terms, dim) float32, row after row in memory, as compiled loops read
    them; rows are looked at when they are used."""
    if embeddings.ndim != 2 or embeddings.dtype != np.float32:
        raise BadInput(
            f"embeddings are of shape {embeddings.shape} and type {embeddings.dtype};"
            " give (n_terms, dim) float32, one row a term"
        )
    if not embeddings.flags.c_contiguous:
        raise BadInput("embeddings do not lie row after row in memory; give numpy.ascontiguousarray of them")


def check_terms(term_ids: NDArray[np.int32], embeddings: NDArray[np.float32]) -> None:
    """Raises BadEmbeddings if the embedding of a term is not finite or not of norm 1."""
    rows = np.asarray(embeddings[term_ids], dtype=np.float64)
    check_rows(term_ids, rows)
    check_norms(term_ids, rows)


def check_rows(term_ids: NDArray[np.int32], rows: NDArray[np.floating]) -> None:
    """Raises BadEmbeddings if an embedding is not finite; `rows` is (k, dim), the embeddings of the (k,)
    `term_ids`, or any (k, ...) product of them in which NaN would show."""
    finite = np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)
    if not finite.all():
        raise BadEmbeddings(
            f"the embedding of term {int(term_ids[~finite][0])} is not finite;"
            " import the embeddings again from a sound file"
        )


def check_norms(term_ids: NDArray[np.int32], rows: NDArray[np.float64]) -> None:
    """Raises BadEmbeddings if an embedding is not of norm 1; `rows` is (k, dim), the embeddings of the (k,)
    `term_ids`."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    wrong = np.abs(norms - 1) > NORM_TOLERANCE
    if wrong.any():
        raise BadEmbeddings(
            f"the embedding of term {int(term_ids[wrong][0])} has norm {norms[wrong][0]:.4g}, not 1;"
            " divide each row by its norm"
        )
