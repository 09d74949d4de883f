"""What comes of ordering candidates: each in its new place, and how the order was reached."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reranker.answers import ScoreParts
from reranker.answers.search import Precision
from reranker.ranking.corrections import NO_CORRECTION, Correction, Corrections


@dataclass(frozen=True, slots=True, eq=False)
class Reasons:
    """Why n candidates stand where they stand: what is only looked at for those that are shown.

    Attributes:
        corrections: of the candidates.
        columns: (8, n) the values of `ScoreParts`; None where the order goes by the distance alone.
    """

    corrections: Corrections
    columns: NDArray[np.float64] | None = None


@dataclass(slots=True)  # a frozen one takes three times as long to make, and each search makes hundreds
class RankedDocument:
    """One candidate in its new place.

    Attributes:
        index: its place among the candidates as they were given, from 0.
        reranked_rank: from 1.
        distance: the transport distance; `inf` without a known word.
        score: in (0, 1]. Where `parts` is None it falls with `order_distance`.
        without_known_word: no word of the document has an embedding, so transport says nothing for it.
        reasons: of all candidates; `place`: its own place among them.
    """

    index: int
    reranked_rank: int
    distance: float
    score: float
    without_known_word: bool
    reasons: Reasons | None = field(default=None, compare=False, repr=False)
    place: int = 0

    @property
    def correction(self) -> Correction:
        """What moves it besides its distance."""
        return NO_CORRECTION if self.reasons is None else self.reasons.corrections[self.place]

    @property
    def parts(self) -> ScoreParts | None:
        """What the score is the sum of; None where the order goes by the distance alone."""
        if self.reasons is None or self.reasons.columns is None:
            return None
        return ScoreParts(*self.reasons.columns[:, self.place].tolist())

    @property
    def order_distance(self) -> float:
        """The distance with what the correction adds: what transport says of the candidate."""
        return self.correction.order_distance(self.distance)


@dataclass(frozen=True, slots=True)
class Reranking:
    """Candidates in their new order, and how it was reached.

    Attributes:
        method: the method used.
        precision: the arithmetic used: float32, float64 or log.
        n_converged: of `documents`, those whose iteration met its tolerance.
        n_iterations: of `documents` together.
        n_solved: candidates whose transport was solved to the end (`transport.Nearest`).
        n_candidates: all that came, of which `documents` are the best `top_n`.
        n_without_known_word: of these, those without a known word.
        has_feedback: the query was moved towards its best candidates for a second solve.
    """

    documents: tuple[RankedDocument, ...]
    method: str
    precision: Precision
    n_converged: int
    n_iterations: int
    n_solved: int
    n_candidates: int
    n_without_known_word: int
    has_feedback: bool = False
