"""What comes of ordering candidates: each in its new place, and how the order was reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from reranker.answers.search import Precision, ScoreParts
from reranker.answers.sources import ScoreSources
from reranker.embeddings import Embeddings
from reranker.ranking.corrections import Correction, Corrections
from reranker.ranking.evidence import Evidence
from reranker.ranking.relevance import NO_GOOD_ANSWER, Relevance
from reranker.ranking.scores import rounded
from reranker.ranking.sources import Sources
from reranker.text.bags import WeightedBag, WeightedBags

# Of a probability that is right to some hundredths.
_RELEVANCE_DECIMALS = 3


class Reasons:
    """Why n candidates stand where they stand: what is only looked at for those that are shown.

    Args:
        corrections: of the candidates.
        bags: the words that they were ranked by.
        evidence: of the candidates; None where the order goes by the distance alone.
        sources: what this evidence came from; None where `evidence` is.
        relevance: of the candidates; None with other methods than `auto`.
    """

    def __init__(
        self,
        corrections: Corrections,
        bags: WeightedBags,
        evidence: Evidence | None = None,
        sources: Sources | None = None,
        relevance: Relevance | None = None,
    ) -> None:
        self.corrections = corrections
        self.bags = bags
        self.evidence = evidence
        self.sources = sources
        self.relevance = relevance

    def __deepcopy__(self, _: object) -> Reasons:
        """The same: they never change, and `dataclasses.asdict` copies them for each of their documents."""
        return self


@dataclass(slots=True)  # a frozen one takes three times as long to make
class RankedDocument:
    """One candidate in its new place.

    Attributes:
        index: its place among the candidates as they were given, from 0.
        reranked_rank: from 1.
        distance: the transport distance; `inf` without a known word.
        score: in (0, 1]. Where `parts` is None it falls with `order_distance`.
        without_known_word: no word of the document has an embedding, so transport says nothing for it.
        reasons: of all candidates.
    """

    index: int
    reranked_rank: int
    distance: float
    score: float
    without_known_word: bool
    reasons: Reasons = field(compare=False, repr=False)

    @property
    def weighted(self) -> WeightedBag:
        """The words that it was ranked by."""
        return self.reasons.bags[self.index]

    @property
    def correction(self) -> Correction:
        """What moves it besides its distance."""
        return self.reasons.corrections[self.index]

    @property
    def parts(self) -> ScoreParts | None:
        """What the score is the sum of; None where the order goes by the distance alone."""
        return None if self.reasons.evidence is None else self.reasons.evidence.parts(self.index)

    @property
    def relevance(self) -> float | None:
        """How likely it is to be what was meant, .01 to .99, to 3 decimals; None where nothing was fitted for that:
        other methods than `auto`, and other languages than the query's."""
        if self.reasons.relevance is None:
            return None
        value = float(self.reasons.relevance.values[self.index])
        return None if math.isnan(value) else round(value, _RELEVANCE_DECIMALS)

    def sources(self, embeddings: Embeddings, name: Callable[[int], str] = str) -> ScoreSources | None:
        """What the parts came from, word by word and document by document; None where there are no parts.

        Args:
            embeddings: those that it was ranked by.
            name: the id of a candidate, from its `index`.
        """
        if self.reasons.sources is None:
            return None
        return self.reasons.sources.of(self.index, embeddings, name)

    @property
    def order_distance(self) -> float:
        """The distance with what the correction adds: what transport says of the candidate."""
        return self.correction.order_distance(self.distance)


@dataclass(frozen=True, slots=True, eq=False)
class RankedDocuments(Sequence[RankedDocument]):
    """Candidates in their new order, each made when it is asked for: a page shows a few of hundreds.

    Attributes:
        order: (n,) places of the candidates, the best first.
        distances, scores: (n,) in this order; the scores are rounded when a document is made.
        reasons: of all candidates.
    """

    order: NDArray[np.int64]
    distances: NDArray[np.float64]
    scores: NDArray[np.float64]
    reasons: Reasons

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, rank: int) -> RankedDocument: ...

    @overload
    def __getitem__(self, rank: slice) -> tuple[RankedDocument, ...]: ...

    def __getitem__(self, rank: int | slice) -> RankedDocument | tuple[RankedDocument, ...]:
        """The document of a rank, from 0, or those of some ranks."""
        if isinstance(rank, slice):
            return tuple(map(self.__getitem__, range(len(self))[rank]))
        rank = range(len(self))[rank]
        place, distance = int(self.order[rank]), float(self.distances[rank])
        score = rounded(float(self.scores[rank]))
        is_without = math.isinf(distance)
        return RankedDocument(place, rank + 1, distance, score, is_without, self.reasons)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)


@dataclass(frozen=True, slots=True)
class Reranking:
    """Candidates in their new order, and how it was reached.

    Attributes:
        method: the method used.
        precision: the arithmetic used: float32, float64 or log.
        n_converged: of `documents`, those whose iteration met its tolerance.
        n_iterations: of `documents` together. Both stay where `cut` leaves out some of them.
        n_solved: candidates whose transport was solved to the end: all with a known word, unless bounds spared some
            (`emd`).
        n_candidates: all that came, of which `documents` are the best `top_n`.
        n_without_known_word: of these, those without a known word.
        has_feedback: the query was moved towards its best candidates for a second solve.
        n_cut: documents that were left out, since their relevance was too low.
    """

    documents: Sequence[RankedDocument]
    method: str
    precision: Precision
    n_converged: int
    n_iterations: int
    n_solved: int
    n_candidates: int
    n_without_known_word: int
    has_feedback: bool = False
    n_cut: int = 0

    @property
    def has_no_good_answer(self) -> bool | None:
        """Whether the first document is not relevant enough for an answer, or there is none; None where its relevance
        is not known."""
        if not self.documents:
            return True
        first = self.documents[0].relevance
        return None if first is None else first < NO_GOOD_ANSWER

    def cut(self, least: float | None) -> Reranking:
        """Leaves out the documents with less relevance, and ranks the others anew; those of which nothing is known
        stay.

        Args:
            least: 0 to 1; 0 and None leave out none.
        """
        if not least:
            return self
        relevant = [each for each in self.documents if each.relevance is None or each.relevance >= least]
        ranked = [replace(each, reranked_rank=rank) for rank, each in enumerate(relevant, start=1)]
        return replace(self, documents=ranked, n_cut=len(self.documents) - len(relevant))
