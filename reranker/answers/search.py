"""The answer of `POST /v1/search` and `sinkrank search --json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Interval

from reranker.answers.answer import Answer

# Higher is better. OpenSearch's rerank processor reads no 0 and no more than 18 characters.
Score = Annotated[float, Interval(gt=0, le=1)]
Rank = Annotated[int, Interval(ge=1)]
Count = Annotated[int, Interval(ge=0)]
Probability = Annotated[float, Interval(ge=0, le=1)]
# The arithmetic of the distances; `none` where nothing was re-ranked.
Precision = Literal["float32", "float64", "log", "none"]
# `engine`: by a query of the engine's own, in an index that Sinkrank did not make (`sinkrank search` alone).
FoundBy = Literal["knn", "bm25", "translated", "hybrid", "engine"]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreParts(Answer):
    """What each kind of evidence adds to a score. The parts sum to the score."""

    window: float
    """0.02, which every re-ranked candidate has."""
    first_stage: float
    """From the score of the first stage, or from BM25 of texts that came without one."""
    words: float
    """From the transport between the words of the query and of the document."""
    lacking_words: float
    """0 or less: taken off for words of the query without an embedding that the document lacks."""
    hubness: float
    """0 or less: taken off because the document is near to every query."""
    feedback: float
    """From the transport between the document and the query moved towards its best candidates."""
    neighbours: float
    """From the scores of the candidates that the document resembles."""
    encoder: float
    """From the cosine of the query, read by a sentence encoder, and the document's nBOW embedding."""
    coverage: float
    """From the part of the query's words that the document holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Hit(Answer):
    """A document in its place."""

    id: str
    title: str
    url: str
    language: str
    """Of the document."""
    text: str
    metadata: dict[str, Any]
    score: Score
    """Scores never rise from hit to hit, over all pages."""
    distance: float | None
    """Of the transport, 0 or more; null for a hit that was not re-ranked or has no word with an embedding."""
    rank: Rank
    """The new rank, over all pages."""
    first_stage_score: float
    first_stage_rank: Rank
    without_known_word: bool
    """The hit was re-ranked, but no word of it has an embedding, so transport says nothing of it."""
    score_parts: ScoreParts | None
    """Null where the order goes by the distance alone, and for a hit that was not re-ranked."""
    order_distance: float | None
    """The distance after lacking words and hubness are added; null where `distance` is."""
    hubness: float | None
    """How near the document is to every query, 0 to 1; null where it is not known."""
    lacking_words: list[str]
    """Words of the query without an embedding that the document lacks."""
    relevance: Probability | None = None
    """How likely the document is to be what was meant, where `min_relevance` asked for it. It is not known with other
    methods than `auto`, for documents in other languages than the query's, and for a hit that was not re-ranked."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchAnswer(Answer):
    """A page of hits, and how it was found."""

    hits: list[Hit]
    """Best first. There may be fewer than asked for where documents were deleted during the search."""
    index: str
    n_candidates: Count
    """Documents that the first stage found."""
    n_reranked: Count
    """Those of them that were re-ranked."""
    language: str
    """Of the query: as given, or as guessed."""
    first_stage: FoundBy
    method: str
    """The method used; `none` for the order of the first stage."""
    precision: Precision
    """The arithmetic of the distances; `none` where nothing was re-ranked."""
    n_converged: Count | None
    """Candidates whose transport met its tolerance; null where the first stage is `engine`."""
    has_feedback: bool
    """The candidates were scored again by the query moved towards the best of them."""
    unknown_words: list[str]
    """Words of the query without an embedding."""
    took_ms: dict[str, float]
    """`first_stage`, `rerank` and `total`; the total includes reading the texts of the hits."""
    no_good_answer: bool | None = None
    """Where `min_relevance` is given: the first hit is probably not what was meant, or there is none."""
    n_cut: Count | None = None
    """Documents of the re-ranked window that `min_relevance` left out."""
