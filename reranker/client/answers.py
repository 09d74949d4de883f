"""The answers of the service, as the client gives them: `hit.title` and `hit["title"]` are the same.

`reranker.answers` declares them and says what each field means.
"""

from reranker.answers import (
    ApiVersion,
    Check,
    DocumentWord,
    ExplainAnswer,
    ExplainedDocument,
    Hit,
    OrderParts,
    Readiness,
    RerankAnswer,
    RerankMeta,
    RerankResult,
    ScoreParts,
    SearchAnswer,
    TranslatedWord,
    Translation,
    Usage,
    WordPair,
    WordTransport,
)

__all__ = [
    "ApiVersion",
    "Check",
    "DocumentWord",
    "ExplainAnswer",
    "ExplainedDocument",
    "Hit",
    "OrderParts",
    "Readiness",
    "RerankAnswer",
    "RerankMeta",
    "RerankResult",
    "ScoreParts",
    "SearchAnswer",
    "TranslatedWord",
    "Translation",
    "Usage",
    "WordPair",
    "WordTransport",
]
