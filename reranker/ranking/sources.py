"""Says what the parts `encoder`, `feedback` and `neighbours` of a score came from: which words, and which candidates.

Nothing is computed before it is asked for, of one candidate: a ranking only notes what it would be computed from.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reranker.answers.sources import (
    DocumentShare,
    EncoderSource,
    EncoderWord,
    FeedbackSource,
    GainedWord,
    NeighboursSource,
    ScoreSources,
)
from reranker.embeddings import Embeddings
from reranker.embeddings.query_encoder import Vector
from reranker.ranking.evidence import Evidence
from reranker.ranking.feedback import brought_by, gained_words
from reranker.ranking.neighbours import neighbours_of
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.text.normalization import as_written
from reranker.transport.reference import VANISHING_NORM

N_ENCODER_WORDS = 8
N_GAINED_WORDS = 5
N_DOCUMENTS = 3


class Sources:
    """What n candidates' scores came from.

    Attributes:
        encoded: the encoded query, of length 1; None where it is not encoded.
        moved_query, moved_by: of the feedback, with the scores (n,) that it was made by; None where there is none.
        neighbours_by: the scores (n,) that neighbours speak by; None where they do not count.
    """

    def __init__(self, query: WeightedBag, candidates: WeightedBags, evidence: Evidence) -> None:
        """
        Args:
            evidence: of the candidates.
        """
        self._query = query
        self._candidates = candidates
        self._evidence = evidence
        self.encoded: Vector | None = None
        self.moved_query: WeightedBag | None = None
        self.moved_by: NDArray[np.float64] | None = None
        self.neighbours_by: NDArray[np.float64] | None = None

    def of(self, place: int, embeddings: Embeddings, name: Callable[[int], str]) -> ScoreSources:
        """Of the candidate at a place, with the embeddings that it was ranked by.

        Args:
            name: the id of a candidate, from its place.
        """

        def named(places: NDArray[np.int64], parts: NDArray[np.float64]) -> list[DocumentShare]:
            largest = [k for k in np.argsort(-parts, kind="stable")[:N_DOCUMENTS].tolist() if parts[k] > 0]
            return [DocumentShare(name(int(places[k])), float(parts[k] / parts.sum())) for k in largest]

        feedback = neighbours = None
        if self._gained is not None:
            gained, places, parts = self._gained
            heaviest = zip(gained.term_ids.tolist(), gained.weights.tolist(), strict=True)
            words = [GainedWord(*_word(term, embeddings), weight) for term, weight in list(heaviest)[:N_GAINED_WORDS]]
            feedback = FeedbackSource(words, named(places, parts))
        if self.neighbours_by is not None:
            neighbours = NeighboursSource(named(*neighbours_of(place, self._candidates, self.neighbours_by)))
        return ScoreSources(self._encoder(place, embeddings), feedback, neighbours)

    @cached_property
    def _gained(self) -> tuple[WeightedBag, NDArray[np.int64], NDArray[np.float64]] | None:
        """The words that the moved query gained, and the candidates that brought them: the same for all candidates."""
        if self.moved_query is None or self.moved_by is None:
            return None
        gained = gained_words(self._query, self.moved_query)
        return gained, *brought_by(gained, self._candidates, self.moved_by)

    def _encoder(self, place: int, embeddings: Embeddings) -> EncoderSource | None:
        """The part of a candidate is `slope` · cosine + what moves the cosines of the window, and the cosine is the sum
        over its words of weight · (embedding · query) / ‖mean‖."""
        bag = self._candidates[place]
        if self.encoded is None or not len(bag):
            return None
        rows = np.asarray(embeddings.vectors[bag.term_ids], dtype=np.float64)
        mean = np.einsum("i,ij->j", bag.weights, rows)  # not by BLAS, which may start threads
        norm = float(np.sqrt(mean @ mean))
        products = np.einsum("ij,j->i", rows, self.encoded.astype(np.float64))
        cosines = bag.weights * products / norm if norm > VANISHING_NORM else np.zeros(len(bag))
        slope, without_exact = self._evidence.encoder_scaling(place)
        parts = slope * cosines
        largest = [k for k in np.argsort(-parts, kind="stable")[:N_ENCODER_WORDS].tolist() if parts[k] > 0]
        named = float(parts[largest].sum())
        return EncoderSource(
            cosine=float(cosines.sum()),
            words=[EncoderWord(*_word(int(bag.term_ids[k]), embeddings), float(parts[k])) for k in largest],
            other_words=float(parts.sum()) - named,
            window_offset=without_exact - float(parts.sum()),
            exact_match=float(self._evidence.parts(place).encoder) - without_exact,
        )


def _word(term_id: int, embeddings: Embeddings) -> tuple[str, str]:
    """A term as it is written, and its language."""
    language, term = embeddings.term(term_id)
    return as_written(term, language), language
