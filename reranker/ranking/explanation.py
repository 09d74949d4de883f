"""Explains a distance word by word: where each query word's mass went, and what that cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reranker.answers.explanation import DocumentWord, ExplainedPrecision, WordPair, WordTransport
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.ranking.word_places import WordPlaces, word_places
from reranker.text.bags import WeightedBag
from reranker.text.documents import Document
from reranker.text.normalization import as_written
from reranker.transport import Parameters, Transport, transport
from reranker.transport.shares import LONG_QUERY, SHORT_QUERY

# How many document words are named for each query word; the rest is summed up, so that nothing is lost.
PAIRS_PER_WORD = 5
N_TELLING_PAIRS = 10


@dataclass(frozen=True, slots=True)
class Explanation:
    """The transport between a query and a document, word by word.

    Attributes:
        words: the heaviest first; their distances sum to `distance`.
        telling_pairs: the pairs of words that brought the document nearest, the largest saving first.
        document_words: those that mass came to, most mass first; their distances sum to `distance` too.
        precision: the arithmetic used: float64 or log, whatever a search uses.
    """

    method: str
    precision: ExplainedPrecision
    distance: float
    words: list[WordTransport]
    telling_pairs: list[WordPair]
    document_words: list[DocumentWord]


def explain(
    query: WeightedBag,
    weighted: WeightedBag,
    embeddings: Embeddings,
    method: str = "auto",
    parameters: Parameters = Parameters(),
    document: Document | None = None,
) -> Explanation:
    """Takes the distance between a query and a document apart.

    Args:
        weighted: the document's words.
        document: where to look for the places of its words; None for no places.

    Raises:
        BadInput: the document has no word with an embedding.
    """
    if not len(weighted):
        raise BadInput("the document has no word with an embedding, so no transport can be explained")
    solved = transport(query, weighted, embeddings.vectors, method, parameters)
    places = {} if document is None else word_places(document, embeddings)
    names = [_written(int(term_id), embeddings) for term_id in weighted.term_ids]
    typical_cost = solved.cost @ weighted.weights
    savings = solved.plan * (typical_cost[:, np.newaxis] - solved.cost)
    query_words = [_written(int(term_id), embeddings) for term_id in query.term_ids]

    def pair(row: int, column: int) -> WordPair:
        mass, cost = float(solved.plan[row, column]), float(solved.cost[row, column])
        share, saving = _share(mass * cost, solved.distance), float(savings[row, column])
        return WordPair(query_words[row], names[column], mass, cost, share, saving)

    words = []
    for row, term_id in enumerate(query.term_ids.tolist()):
        pairs = [pair(row, column) for column in _named(solved.plan[row], savings[row])]
        words.append(_word(query_words[row], embeddings.term(term_id)[0], row, solved, pairs))
    telling = np.argsort(-savings, axis=None, kind="stable")[:N_TELLING_PAIRS]
    return Explanation(
        method,
        cast(ExplainedPrecision, solved.precision),
        solved.distance,
        sorted(words, key=lambda word: -word.mass),
        [pair(*divmod(int(place), len(names))) for place in telling if savings.flat[place] > 0],
        _document_words(solved, weighted, names, places),
    )


def cost_meaning(method: str) -> str:
    """What the costs of the pairs are."""
    of_means = "scaled so that all pairs sum to 1 - cosine of the whole texts"
    if method == "auto":
        return (
            "1 - cosine of the two words, 0 (the same) to 2 (opposite); for the part of nbow "
            f"({LONG_QUERY.nbow:.0%} to {SHORT_QUERY.nbow:.0%} of all mass) {of_means}"
        )
    if method == "nbow":
        return f"1 - cosine of the two words, {of_means}"
    return "the Euclidean distance of the two words' embeddings, 0 (the same) to 2 (opposite)"


def _named(masses: NDArray[np.float64], savings: NDArray[np.float64]) -> list[int]:
    """The document words that took most of a query word's mass, most first, with the one of the largest saving."""
    heaviest = [int(j) for j in np.argsort(-masses, kind="stable")[:PAIRS_PER_WORD] if masses[j] > 0]
    best = int(savings.argmax())
    return heaviest if savings[best] <= 0 or best in heaviest else [*heaviest[:-1], best]


def _word(word: str, language: str, row: int, solved: Transport, pairs: list[WordPair]) -> WordTransport:
    """Where the mass of the query word in this row of the plan went."""
    mass, distance = float(solved.plan[row].sum()), float((solved.plan[row] * solved.cost[row]).sum())
    return WordTransport(
        word=word,
        language=language,
        mass=mass,
        distance=distance,
        share=_share(distance, solved.distance),
        pairs=pairs,
        rest_mass=max(0.0, mass - sum(pair.mass for pair in pairs)),
        rest_distance=distance - sum(pair.mass * pair.cost for pair in pairs),
    )


def _document_words(
    solved: Transport, weighted: WeightedBag, names: Sequence[str], places: Mapping[int, WordPlaces]
) -> list[DocumentWord]:
    received, parts = solved.plan.sum(axis=0), (solved.plan * solved.cost).sum(axis=0)
    words = []
    for j in np.argsort(-received, kind="stable").tolist():
        if received[j] > 0:
            found = places.get(int(weighted.term_ids[j]), WordPlaces())
            words.append(DocumentWord(names[j], float(received[j]), float(parts[j]), found.in_title, found.in_text))
    return words


def _written(term_id: int, embeddings: Embeddings) -> str:
    language, term = embeddings.term(term_id)
    return as_written(term, language)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 0.0
