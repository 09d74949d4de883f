"""What the parts of a score came from: `score_sources` of `POST /v1/explain` and of the proxy's `details`."""

from __future__ import annotations

from dataclasses import dataclass

from reranker.answers.answer import Answer


@dataclass(frozen=True, slots=True, eq=False)
class EncoderWord(Answer):
    """A word of the document, and what it adds to the part `encoder`."""

    word: str
    language: str
    part: float


@dataclass(frozen=True, slots=True, eq=False)
class EncoderSource(Answer):
    """The part `encoder` as a sum: of the parts of all words, `window_offset` and `exact_match`."""

    cosine: float
    """Of the encoded query with the document's mean embedding: the sum of weight · product over all words, divided by
    the length of the mean."""
    words: list[EncoderWord]
    """The document words that add most, the largest part first."""
    other_words: float
    """Of all other words of the document together; may be below 0."""
    window_offset: float
    """The same for all candidates: the part counts from the least cosine among them."""
    exact_match: float
    """Added where a field of the document is the query word for word, since its part is then full; 0 elsewhere."""


@dataclass(frozen=True, slots=True, eq=False)
class GainedWord(Answer):
    """A word that the moved query has and the query has not."""

    word: str
    language: str
    weight: float
    """In the moved query, whose weights sum to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentShare(Answer):
    """A document, and how much of something came from it."""

    id: str
    share: float
    """The shares of all documents sum to 1, also where only the largest are named."""


@dataclass(frozen=True, slots=True, eq=False)
class FeedbackSource(Answer):
    """How the query was moved towards its best candidates; the same for all hits of a search."""

    words: list[GainedWord]
    """The heaviest words that the query gained."""
    documents: list[DocumentShare]
    """The candidates that the gained words came from, with their share of the gained weight."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighboursSource(Answer):
    """The candidates whose scores are the part `neighbours`."""

    documents: list[DocumentShare]
    """Those that the document resembles most, with their share of the mean; empty where it resembles none."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSources(Answer):
    """What the parts `encoder`, `feedback` and `neighbours` of a score came from."""

    encoder: EncoderSource | None
    """Null where the query was not encoded, and for a document without a word that has an embedding."""
    feedback: FeedbackSource | None
    """Null where the query was not moved."""
    neighbours: NeighboursSource | None
    """Null where neighbours do not count."""
