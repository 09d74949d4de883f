"""The service's answers as types, as they come in JSON; `/-/openapi.json` says what each field means.

More keys than these may come from a later service: what is read by name goes on working.
"""

from typing import Any, Literal, NotRequired, TypedDict

Precision = Literal["float32", "float64", "log", "none"]


class ScoreParts(TypedDict):
    """What each kind of evidence adds to a score; the parts sum to it."""

    window: float
    first_stage: float
    words: float
    lacking_words: float
    hubness: float
    feedback: float
    neighbours: float


class Hit(TypedDict):
    """A document in its place."""

    id: str
    title: str
    url: str
    language: str
    text: str
    metadata: dict[str, Any]
    score: float
    distance: float | None
    rank: int
    first_stage_score: float
    first_stage_rank: int
    without_known_word: bool
    score_parts: ScoreParts | None
    order_distance: float | None
    hubness: float | None
    lacking_words: list[str]


class SearchAnswer(TypedDict):
    """A page of hits, and how it came to be."""

    hits: list[Hit]
    index: str
    n_candidates: int
    language: str
    first_stage: Literal["knn", "bm25", "translated", "hybrid"]
    method: str
    precision: Precision
    n_converged: int
    has_feedback: bool
    unknown_words: list[str]
    took_ms: dict[str, float]


class OrderParts(TypedDict):
    """What transport says of the document, in parts that sum to `order_distance`."""

    words: float
    lacking_words: float
    hubness: float


class WordPair(TypedDict):
    """Mass that moved from a query word to a document word."""

    query_word: str
    document_word: str
    mass: float
    cost: float
    share: float
    saving: float


class WordTransport(TypedDict):
    """One query word, the document words that took most of its mass, and the sum of the others."""

    word: str
    language: str
    mass: float
    distance: float
    share: float
    pairs: list[WordPair]
    rest_mass: float
    rest_distance: float


class DocumentWord(TypedDict):
    """One word of the document: the mass that came to it, its part of the distance, and its places (start, end)."""

    word: str
    mass: float
    distance: float
    in_title: list[list[int]]
    in_text: list[list[int]]


class ExplainedDocument(TypedDict):
    """The document that was explained."""

    title: str
    url: str
    language: str
    text: str


class Translation(TypedDict):
    """A word of the documents' language that stands for a query word, and what an occurrence of it counts."""

    term: str
    weight: float


class TranslatedWord(TypedDict):
    """A query word with its translations, the heaviest first; the word itself is one of them."""

    word: str
    translations: list[Translation]


class ExplainAnswer(TypedDict):
    """A score taken apart. The parts of all `words` sum to the distance, and so do those of all `document_words`."""

    id: str
    index: str
    method: str
    precision: Literal["float64", "log"]
    cost_meaning: str
    distance: float
    order_distance: float
    order_parts: OrderParts
    unknown_share: float
    unknown_words: list[str]
    lacking_words: list[str]
    hubness: float | None
    score: float
    score_parts: ScoreParts | None
    translations: list[TranslatedWord]
    words: list[WordTransport]
    document: ExplainedDocument | None
    document_words: list[DocumentWord]


class RerankResult(TypedDict):
    """One document's place; `document` where it was asked for, `without_known_word` where it is true."""

    index: int
    relevance_score: float
    without_known_word: NotRequired[bool | None]
    document: NotRequired[dict[str, Any] | None]


class Usage(TypedDict):
    """Words, parted by white space."""

    prompt_tokens: int
    total_tokens: int


class ApiVersion(TypedDict):
    """Of Cohere's API."""

    version: Literal["1", "2"]


class RerankMeta(TypedDict):
    """How the order came to be; `warnings` where there are any."""

    api_version: ApiVersion
    method: str
    precision: Precision
    n_solved: int
    warnings: NotRequired[list[str] | None]


class RerankAnswer(TypedDict):
    """Documents in their new order, best first."""

    id: str
    object: Literal["rerank"]
    model: str
    results: list[RerankResult]
    usage: Usage
    meta: RerankMeta


class Check(TypedDict):
    """The state of a part; `message` says what is wrong with it."""

    ready: bool
    message: NotRequired[str | None]


class Readiness(TypedDict):
    """Whether each part can do its work."""

    status: Literal["ready", "degraded", "not ready"]
    checks: dict[str, Check]
