"""Explains a distance word by word: where each query word's mass went, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.ranking.corrections import NO_CORRECTION, Correction
from reranker.ranking.evidence import ScoreParts
from reranker.ranking.scores import score
from reranker.text.bags import WeightedBag
from reranker.text.documents import Document
from reranker.text.normalization import as_written
from reranker.translation.groups import WordGroup
from reranker.transport import Parameters, transport

# How many document words are named for each query word; the rest is summed up, so that nothing is lost.
PAIRS_PER_WORD = 5


@dataclass(frozen=True, slots=True)
class WordPair:
    """Mass that moved from a query word to a document word.

    Attributes:
        mass: of the query's total of 1.
        cost: of moving one unit of mass between the two, 0 or more.
        share: of the whole distance, mass · cost / distance.
        saving: mass · (mean cost of the query word over the document's words − cost): how much nearer this pair brings
            the document than a match by chance would.
    """

    query_word: str
    document_word: str
    mass: float
    cost: float
    share: float
    saving: float


@dataclass(frozen=True, slots=True)
class WordTransport:
    """One query word: its weight, the document words that took most of it, and the sum of the others.

    `distance` is the word's part of the whole: the parts of all words sum to the distance, and the parts of a word's
    pairs and `rest_distance` sum to the word's.
    """

    word: str
    language: str
    mass: float
    distance: float
    share: float
    pairs: tuple[WordPair, ...]
    rest_mass: float
    rest_distance: float


@dataclass(frozen=True, slots=True)
class DocumentWord:
    """One word of the document, as `term_id` of the embeddings: the mass that came to it, and what that cost.

    `distance` is its part of the whole: the parts of all document words sum to the distance.
    `word` is the term whose embedding it takes; where that is another's, the text has another spelling.

    Attributes:
        in_title, in_text: start and end, in characters, of each place where it stands (`reranker.ranking.word_places`).
    """

    word: str
    term_id: int
    mass: float
    distance: float
    in_title: tuple[tuple[int, int], ...] = ()
    in_text: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """A distance taken apart.

    Attributes:
        words: in falling order of their mass; their parts sum to `distance`.
        document_words: those that mass came to, in falling order of it.
        precision: the arithmetic used: float64 or log, whatever a search takes.
        unknown_words: of the query; no mass goes from them.
        correction: what moves the document besides; with the distance it makes `order_distance`.
        parts: what its score among the candidates of the search is the sum of; None where the score is of the distance
            alone.
        document: what was explained, where it was one of an index.
        translations: of the query's words, by which the first stage searched documents in this language; empty where it
            searched by the words themselves.
    """

    method: str
    distance: float
    words: tuple[WordTransport, ...]
    document_words: tuple[DocumentWord, ...]
    precision: str
    unknown_words: tuple[str, ...] = ()
    correction: Correction = NO_CORRECTION
    parts: ScoreParts | None = None
    document: Document | None = None
    translations: tuple[WordGroup, ...] = ()

    @property
    def score(self) -> float:
        """As the search gives it."""
        return score(self.order_distance) if self.parts is None else self.parts.score

    @property
    def order_distance(self) -> float:
        """(1 - unknown_share) · distance and what the correction adds."""
        return self.correction.order_distance(self.distance)

    def telling_pairs(self, n: int) -> list[WordPair]:
        """The pairs that brought the document nearest, by saving."""
        pairs = [pair for word in self.words for pair in word.pairs]
        return sorted(pairs, key=lambda pair: -pair.saving)[:n]


def explain(
    query: WeightedBag,
    document: WeightedBag,
    embeddings: Embeddings,
    method: str = "auto",
    parameters: Parameters = Parameters(),
    pairs_per_word: int = PAIRS_PER_WORD,
) -> Explanation:
    """Takes the distance between a query and a document apart.

    Raises:
        BadInput: the query or the document has no known word.
    """
    if not len(document):
        raise BadInput("the document has no word with an embedding, so no transport can be explained")
    solved = transport(query, document, embeddings.vectors, method, parameters)
    typical_cost = solved.cost @ document.weights
    words = []
    for i, term_id in enumerate(query.term_ids):
        word = _written(int(term_id), embeddings)
        moved = solved.plan[i] * solved.cost[i]
        largest = [int(j) for j in np.argsort(-solved.plan[i], kind="stable")[:pairs_per_word] if solved.plan[i, j] > 0]
        pairs = tuple(
            WordPair(
                query_word=word,
                document_word=_written(int(document.term_ids[j]), embeddings),
                mass=float(solved.plan[i, j]),
                cost=float(solved.cost[i, j]),
                share=_share(moved[j], solved.distance),
                saving=float(solved.plan[i, j] * (typical_cost[i] - solved.cost[i, j])),
            )
            for j in largest
        )
        mass, distance = float(solved.plan[i].sum()), float(moved.sum())
        words.append(
            WordTransport(
                word,
                embeddings.term(int(term_id))[0],
                mass,
                distance,
                _share(distance, solved.distance),
                pairs,
                rest_mass=max(0.0, mass - float(solved.plan[i, largest].sum())),
                rest_distance=distance - float(moved[largest].sum()),
            )
        )
    words.sort(key=lambda word: -word.mass)
    received, parts = solved.plan.sum(axis=0), (solved.plan * solved.cost).sum(axis=0)
    document_words = tuple(
        DocumentWord(_written(term_id, embeddings), term_id, float(received[j]), float(parts[j]))
        for j, term_id in ((int(j), int(document.term_ids[j])) for j in np.argsort(-received, kind="stable"))
        if received[j] > 0
    )
    return Explanation(solved.method, solved.distance, tuple(words), document_words, solved.precision)


def _written(term_id: int, embeddings: Embeddings) -> str:
    language, term = embeddings.term(term_id)
    return as_written(term, language)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 0.0
