"""The answers of the rerank routes, in the shapes of Cohere, Jina and text-embeddings-inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from reranker.answers.answer import Answer
from reranker.answers.search import Count, Precision, Probability, Score


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RankedText(Answer):
    """A text in its new place, as text-embeddings-inference answers."""

    index: Count
    """The text's place in the request, from 0."""
    text: str | None = None
    """Where `return_text` asked for it."""
    score: Score
    without_known_word: bool = False
    """No word of the text has an embedding, so it is ranked last."""
    relevance: Probability | None = None
    """How likely the text is to be what was meant, where `min_relevance` asked for it and it is known."""


@dataclass(frozen=True, slots=True, eq=False)
class RerankResult(Answer):
    """A document in its new place, as Cohere and Jina answer."""

    index: Count
    """The document's place in the request, from 0."""
    relevance_score: Score
    without_known_word: bool = False
    """No word of the document has an embedding, so it is ranked last."""
    document: dict[str, Any] | None = None
    """Where `return_documents` asked for it."""
    relevance: Probability | None = None
    """How likely the document is to be what was meant, where `min_relevance` asked for it and it is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Usage(Answer):
    """Words of the query and all documents, split at white space."""

    prompt_tokens: Count
    total_tokens: Count


@dataclass(frozen=True, slots=True, eq=False)
class ApiVersion(Answer):
    """The version of Cohere's API."""

    version: Literal["1", "2"]


@dataclass(frozen=True, slots=True, eq=False)
class RerankMeta(Answer):
    """How the order was made."""

    api_version: ApiVersion
    method: str
    """The method used; `none` where the documents stay in the order given."""
    precision: Precision
    n_solved: Count
    """Documents whose transport was solved to the end."""
    warnings: list[str] | None = None
    no_good_answer: bool | None = None
    """Where `min_relevance` is given: the first result is probably not what was meant, or there is none; left out where
    the relevance of the first is not known."""
    n_cut: Count | None = None
    """Documents that `min_relevance` left out."""


@dataclass(frozen=True, slots=True, eq=False)
class RerankAnswer(Answer):
    """Documents in their new order, best first."""

    id: str
    object: Literal["rerank"]
    model: str
    """As the request named it."""
    results: list[RerankResult]
    usage: Usage
    meta: RerankMeta
