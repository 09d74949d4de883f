"""The answers of the routes as models: for the description of the routes alone, which a test holds the answers to."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reranker.explanation import WordTransport
from reranker.service.errors import Problem


class _Answer(BaseModel):
    """An answer has the keys that are named here, and no others."""

    model_config = ConfigDict(extra="forbid")


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


class SearchAnswer(BaseModel):
    """A page of hits, and how it came to be."""

    hits: list[Hit]
    index: str
    n_candidates: int = Field(ge=0)
    language: str
    first_stage: Literal["knn", "bm25", "hybrid"]
    method: str
    precision: str
    n_converged: int
    unknown_words: list[str]
    took_ms: dict[str, float]


class ExplainAnswer(BaseModel):
    """A distance taken apart; the parts of all words sum to it."""

    id: str
    index: str
    method: str
    distance: float
    score: float = Field(gt=0, le=1)
    words: list[WordTransport]


class RerankResult(BaseModel):
    """One document's place; `document` where it was asked for."""

    index: int = Field(ge=0)
    relevance_score: float = Field(gt=0, le=1)
    document: dict[str, Any] | None = None


class Usage(_Answer):
    """Words, parted by white space: the service has no tokens to charge for."""

    prompt_tokens: int
    total_tokens: int


class RerankAnswer(BaseModel):
    """Cohere's and Jina's answer."""

    id: str
    object: Literal["rerank"]
    model: str
    results: list[RerankResult]
    usage: Usage
    meta: dict[str, Any]


class RankedText(BaseModel):
    """One text's place, as text-embeddings-inference answers it."""

    index: int = Field(ge=0)
    score: float = Field(gt=0, le=1)
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

    status: Literal["ready", "not ready"]
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
