"""The answers of the routes as models: for the description of the routes alone, which a test holds the answers to."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reranker.ranking.explanation import WordTransport
from reranker.service.errors import Problem

# The arithmetic of the distances; `none` where the order given stays.
Precision = Literal["float32", "float64", "log", "none"]


class _Answer(BaseModel):
    """An answer has the keys that are named here, and no others."""

    model_config = ConfigDict(extra="forbid")


class ScoreParts(_Answer):
    """What each kind of evidence adds to a score; the parts sum to it."""

    window: float
    first_stage: float
    words: float
    lacking_words: float
    hubness: float
    feedback: float
    neighbours: float


class Hit(BaseModel):
    """A document in its place; more keys than these may come."""

    id: str
    title: str
    url: str
    language: str
    text: str
    metadata: dict[str, Any]
    score: float = Field(gt=0, le=1)
    distance: float | None
    rank: int = Field(ge=1)
    first_stage_score: float
    first_stage_rank: int = Field(ge=1)
    without_known_word: bool
    score_parts: ScoreParts | None
    order_distance: float | None
    hubness: float | None
    lacking_words: list[str]


class SearchAnswer(BaseModel):
    """A page of hits, and how it came to be."""

    hits: list[Hit]
    index: str
    n_candidates: int = Field(ge=0)
    language: str
    first_stage: Literal["knn", "bm25", "translated", "hybrid"]
    method: str
    precision: Precision
    n_converged: int
    has_feedback: bool
    unknown_words: list[str]
    took_ms: dict[str, float]


class Match(_Answer):
    """A word of a text that matches a query word; start and end in characters."""

    start: int = Field(ge=0)
    end: int
    query_word: str
    word: str
    likeness: float = Field(gt=0, le=1)


class MatchedText(_Answer):
    """Where the matches of one text stand, in reading order."""

    language: str
    matches: list[Match]


class MatchesAnswer(_Answer):
    """The matches of each text, in the order of the texts."""

    language: str
    unknown_words: list[str]
    texts: list[MatchedText]


class OrderParts(_Answer):
    """What transport says of the document, in parts that sum to `order_distance`."""

    words: float
    lacking_words: float
    hubness: float


class ExplainedDocument(_Answer):
    """The document that was explained."""

    title: str
    url: str
    language: str
    text: str


class DocumentWord(_Answer):
    """A word of the document: the mass that came to it, its part of the distance, and its places (start, end)."""

    word: str
    mass: float
    distance: float
    in_title: list[list[int]]
    in_text: list[list[int]]


class Translation(_Answer):
    """A word of the documents' language that stands for a query word, and what an occurrence of it counts."""

    term: str
    weight: float = Field(gt=0, le=1)


class TranslatedWord(_Answer):
    """A query word with its translations, the heaviest first; the word itself is one of them."""

    word: str
    translations: list[Translation]


class ExplainAnswer(BaseModel):
    """A score taken apart. The parts of all words sum to the distance, and so do those of all document words."""

    id: str
    index: str
    method: str
    precision: Literal["float64", "log"]
    cost_meaning: str
    distance: float
    order_distance: float
    order_parts: OrderParts
    unknown_share: float = Field(ge=0, lt=1)
    unknown_words: list[str]
    lacking_words: list[str]
    hubness: float | None
    score: float = Field(gt=0, le=1)
    score_parts: ScoreParts | None
    translations: list[TranslatedWord]
    words: list[WordTransport]
    document: ExplainedDocument | None
    document_words: list[DocumentWord]


class RerankResult(BaseModel):
    """One document's place; `document` where it was asked for, `without_known_word` where it is true."""

    index: int = Field(ge=0)
    relevance_score: float = Field(gt=0, le=1)
    without_known_word: bool | None = None
    document: dict[str, Any] | None = None


class Usage(_Answer):
    """Words, parted by white space: the service has no tokens to charge for."""

    prompt_tokens: int
    total_tokens: int


class ApiVersion(_Answer):
    """Whose answer it is: Cohere's v1 or v2."""

    version: Literal["1", "2"]


class RerankMeta(_Answer):
    """How the order came to be; `warnings` where there are any."""

    api_version: ApiVersion
    method: str
    precision: Precision
    n_solved: int = Field(ge=0)
    warnings: list[str] | None = None


class RerankAnswer(BaseModel):
    """Cohere's and Jina's answer."""

    id: str
    object: Literal["rerank"]
    model: str
    results: list[RerankResult]
    usage: Usage
    meta: RerankMeta


class RankedText(BaseModel):
    """One text's place, as text-embeddings-inference answers it; `without_known_word` where it is true."""

    index: int = Field(ge=0)
    score: float = Field(gt=0, le=1)
    without_known_word: bool | None = None
    text: str | None = None


class RankedTexts(_Answer):
    """Never sent: it holds the list that `/rerank` answers with."""

    texts: list[RankedText]


class CohereError(_Answer):
    """An error as Cohere's clients expect it."""

    id: str
    message: str


class TextsError(_Answer):
    """An error as the clients of text-embeddings-inference expect it."""

    error: str
    error_type: Literal["empty", "validation", "backend"]


class Alive(_Answer):
    """The process answers."""

    status: Literal["alive"]


class Check(BaseModel):
    """The state of a part; `message` says what is wrong with it."""

    ready: bool
    message: str | None = None


class Readiness(_Answer):
    """Whether each part can do its work."""

    status: Literal["ready", "degraded", "not ready"]
    checks: dict[str, Check]


__all__ = [
    "Alive",
    "CohereError",
    "ExplainAnswer",
    "Problem",
    "RankedText",
    "Readiness",
    "RerankAnswer",
    "SearchAnswer",
    "TextsError",
]
