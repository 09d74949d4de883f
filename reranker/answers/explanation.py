"""The answer of `POST /v1/explain` and `sinkrank explain --json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval

from reranker.answers.answer import Answer
from reranker.answers.search import Count, Rank, Score, ScoreParts
from reranker.answers.sources import ScoreSources

# Start and end, in characters.
Place = list[int]
ExplainedPrecision = Literal["float64", "log"]
FellAt = Literal["first_stage", "window", "score"]


@dataclass(frozen=True, slots=True, eq=False)
class WordPair(Answer):
    """Mass that moved from a query word to a document word."""

    query_word: str
    document_word: str
    mass: float
    """Of the query's total of 1."""
    cost: float
    """Of moving one unit of mass between the two words, 0 or more."""
    share: float
    """Of the whole distance: mass · cost / distance."""
    saving: float
    """mass · (mean cost of the query word over the document's words − cost): how much nearer this pair brings the
    document than a match by chance would."""


@dataclass(frozen=True, slots=True, eq=False)
class WordTransport(Answer):
    """A query word, the document words that took most of its mass, with the one of the largest saving, and the sum of
    the others."""

    word: str
    language: str
    mass: float
    """The weight of the word; the weights of all words sum to 1."""
    distance: float
    """The word's part of the whole distance. Its pairs and `rest_distance` sum to it."""
    share: float
    """distance / the whole distance."""
    pairs: list[WordPair]
    rest_mass: float
    """Mass that went to the document words that `pairs` does not name."""
    rest_distance: float


@dataclass(frozen=True, slots=True, eq=False)
class DocumentWord(Answer):
    """A word of the document that mass came to."""

    word: str
    """The term whose embedding the word takes; the text may have another spelling."""
    mass: float
    distance: float
    """The word's part of the whole distance. The parts of all document words sum to the distance."""
    in_title: list[Place]
    """Start and end, in characters, of each place in the title."""
    in_text: list[Place]
    """Start and end, in characters, of each place in the text."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderParts(Answer):
    """What the transport says of the document. The parts sum to `order_distance`."""

    words: float
    """(1 − unknown_share) · distance."""
    lacking_words: float
    hubness: float


@dataclass(frozen=True, slots=True, eq=False)
class WordTranslation(Answer):
    """A word of the documents' language that stands for a query word."""

    term: str
    weight: Score
    """What one occurrence counts."""


@dataclass(frozen=True, slots=True, eq=False)
class TranslatedWord(Answer):
    """A query word with its translations, the heaviest first. The word itself is one of them."""

    word: str
    translations: list[WordTranslation]


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedDocument(Answer):
    """The document that was explained."""

    title: str
    url: str
    language: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class NearWord(Answer):
    """A word of the document that is near to a query word."""

    query_word: str
    word: str
    likeness: Score
    """Cosine of the two embeddings."""


@dataclass(frozen=True, slots=True, eq=False)
class Standing(Answer):
    """Where the document stands in the search, and what keeps it from the first page (10 hits)."""

    fell_at: FellAt | None
    """The first stage does not find it; it finds it after the candidates that are re-ranked; or its score is too low.
    Null on the first page."""
    rank: Rank | None
    """Among the candidates that are re-ranked; null where it is none of them."""
    n_candidates: Count
    """That are re-ranked, without a document that is none of them."""
    first_stage_rank: Rank | None
    """Null where the first stage does not find it."""
    score_behind: float | None
    """By how much its score is lower than that of the last hit of the first page; null on the first page."""
    parts_behind: ScoreParts | None
    """What each part contributes to `score_behind`; null where `score_parts` is, and on the first page."""
    lacking_query_words: list[str]
    """Query words of which the document has neither the word itself nor another form."""
    near_words: list[NearWord]
    """The nearest word of the document for each of these, if one is near."""


@dataclass(frozen=True, slots=True, eq=False)
class ExplainAnswer(Answer):
    """The score of a document, taken apart word by word."""

    id: str
    index: str
    method: str
    precision: ExplainedPrecision
    """The arithmetic of the explanation, whatever a search uses."""
    cost_meaning: str
    """What the costs of the pairs are."""
    distance: float
    """The sum of the distances of all words."""
    order_distance: float
    """(1 − unknown_share) · distance, plus what lacking words and hubness add."""
    order_parts: OrderParts
    unknown_share: Annotated[float, Interval(ge=0, lt=1)]
    """Share of the query's words without an embedding."""
    unknown_words: list[str]
    """Words of the query without an embedding; no mass goes from them."""
    lacking_words: list[str]
    """Those of them that the document lacks."""
    hubness: float | None
    """How near the document is to every query, 0 to 1; null where it is not known."""
    score: Score
    """As the search gives it."""
    score_parts: ScoreParts | None
    """Null where the score is of the distance alone."""
    score_sources: ScoreSources | None
    """Null where `score_parts` is."""
    standing: Standing
    translations: list[TranslatedWord]
    """Of the query's words, by which the first stage searched documents in this language."""
    words: list[WordTransport]
    """The query's words with an embedding, the heaviest first."""
    telling_pairs: list[WordPair]
    """The ten pairs of words that brought the document nearest, the largest saving first; fewer if fewer did."""
    document: ExplainedDocument | None
    document_words: list[DocumentWord]
    """The document words that mass came to, most mass first."""
