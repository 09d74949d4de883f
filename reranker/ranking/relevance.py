"""Says how likely a re-ranked candidate is to be what was meant: a probability, from what the ranking knows of it.

It is the logistic function of a weighted sum of five features, fitted on judged queries (`papers.studies.relevance`).
It is computed when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import WrongParameter
from reranker.ranking.corrections import CORRECTED_METHOD, Corrections
from reranker.ranking.coverage import Coverage

FindCoverage = Callable[[], Coverage]
"""Finds what the candidates hold of the query, where somebody asks for their relevance."""


class Weights(NamedTuple):
    """Of the features, in their order (`features`), and what is added to their sum."""

    held: float
    cosine: float
    distance: float
    behind: float
    lead: float
    constant: float


# Of queries that a sentence encoder reads, and of others; from `python -m papers.studies.relevance`.
WITH_ENCODER = Weights(3.65, 4.93, -2.14, 2.81, 6.74, -3.66)
WITHOUT_ENCODER = Weights(1.46, 0.0, -8.99, 2.95, 4.82, 3.52)

NO_GOOD_ANSWER = 0.1
"""Below it a first hit is no good answer."""

# No search is surer of a hit than this: the probabilities are right to some hundredths.
_SUREST = 0.99
# The largest there is, for a candidate without a known word.
_FAR = 1.5


def check_min_relevance(least: float | None, method: str) -> None:
    """Raises WrongParameter where it is not None and not 0 to 1, or the method gives no relevance."""
    if least is None:
        return
    if not 0 <= least <= 1:
        raise WrongParameter(f"min_relevance is {least}; give 0 to 1, or leave it out for all hits")
    if method != CORRECTED_METHOD:
        raise WrongParameter(f"min_relevance needs the method {CORRECTED_METHOD!r}, and this is by {method!r}")


class Relevance:
    """The relevance of n candidates of one query, and what it is computed from.

    Args:
        coverage: see `FindCoverage`.
        cosines: (n,) with the encoded query; NaN for a candidate without a known word. None where it is not encoded.
        distances: (n,) of the transport.
        scores: (n,).
    """

    def __init__(
        self,
        coverage: FindCoverage,
        cosines: NDArray[np.float64] | None,
        distances: NDArray[np.float64],
        corrections: Corrections,
        scores: NDArray[np.float64],
    ) -> None:
        self._coverage = coverage
        self._cosines = cosines
        self._distances = distances
        self._corrections = corrections
        self._scores = scores

    def __getstate__(self) -> dict[str, object]:
        """A copy has the values alone: what they are computed from may hold the query with its encoder."""
        return {"values": self.values}

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(n,) from .01 to .99; NaN for one in another language than the query's, which nothing is fitted for."""
        *weights, constant = WITHOUT_ENCODER if self._cosines is None else WITH_ENCODER
        logistic = 1.0 / (1.0 + np.exp(-(self.features() @ np.array(weights) + constant)))
        found: NDArray[np.float64] = np.clip(logistic, 1.0 - _SUREST, _SUREST)
        return found

    def features(self) -> NDArray[np.float64]:
        """(n, 5), the same for all sizes of an index:

        - held: the share of the query's words that the candidate holds, by idf
        - cosine: of the encoded query and the candidate's nBOW embedding; 0 where there is none
        - distance: of the transport, and of the words without an embedding, of which each costs 1 where the candidate
          lacks it; 1.5 without a known word. Hubness is left out, since the proxy knows none of most indices
        - behind: its score, less the best one: 0 or less
        - lead: of the best one, its score less the next; 0 for the others
        """
        n = len(self._scores)
        moves = self._corrections
        distances = (1.0 - moves.unknown_share) * self._distances + moves.added_by_lacking_words
        lead = np.zeros(n)
        if n > 1:
            best = int(np.argmax(self._scores))
            lead[best] = self._scores[best] - np.delete(self._scores, best).max()
        return np.column_stack(
            [
                self._coverage().of_each,
                np.zeros(n) if self._cosines is None else np.nan_to_num(self._cosines),
                np.where(np.isfinite(distances), distances, _FAR),
                self._scores - self._scores.max(initial=0.0),
                lead,
            ]
        )
