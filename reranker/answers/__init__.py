"""What the service answers: each JSON object is declared once, here.

Search and ranking make these objects, the routes write them as JSON, and OpenAPI is made from their fields.
"""

from reranker.answers.answer import Answer
from reranker.answers.errors import CohereError, Problem, TextsError
from reranker.answers.explanation import (
    DocumentWord,
    ExplainAnswer,
    ExplainedDocument,
    NearWord,
    OrderParts,
    Standing,
    TranslatedWord,
    WordPair,
    WordTranslation,
    WordTransport,
)
from reranker.answers.matches import Match, MatchedText, MatchesAnswer
from reranker.answers.operations import Alive, Check, Readiness
from reranker.answers.page import ExampleQuery, ExamplesAnswer
from reranker.answers.rerank import ApiVersion, RankedText, RerankAnswer, RerankMeta, RerankResult, Usage
from reranker.answers.search import Hit, ScoreParts, SearchAnswer
from reranker.answers.sources import (
    DocumentShare,
    EncoderSource,
    EncoderWord,
    FeedbackSource,
    GainedWord,
    NeighboursSource,
    ScoreSources,
)
from reranker.answers.traffic import ChangedQuery, ClicksAnswer, InterleavedVotes, TrafficAnswer

__all__ = [
    "Alive",
    "Answer",
    "ApiVersion",
    "ChangedQuery",
    "Check",
    "ClicksAnswer",
    "CohereError",
    "DocumentShare",
    "DocumentWord",
    "EncoderSource",
    "EncoderWord",
    "ExampleQuery",
    "ExamplesAnswer",
    "ExplainAnswer",
    "ExplainedDocument",
    "FeedbackSource",
    "GainedWord",
    "Hit",
    "InterleavedVotes",
    "Match",
    "MatchedText",
    "MatchesAnswer",
    "NearWord",
    "NeighboursSource",
    "OrderParts",
    "Problem",
    "RankedText",
    "Readiness",
    "RerankAnswer",
    "RerankMeta",
    "RerankResult",
    "ScoreParts",
    "ScoreSources",
    "SearchAnswer",
    "Standing",
    "TextsError",
    "TrafficAnswer",
    "TranslatedWord",
    "Usage",
    "WordPair",
    "WordTranslation",
    "WordTransport",
]
