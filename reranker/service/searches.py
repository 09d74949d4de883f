"""Searches with the parameters of the settings."""

from __future__ import annotations

from reranker.search.request import SearchRequest
from reranker.service.settings import Settings
from reranker.stores.base.filters import Filters
from reranker.transport import Parameters


def search_request(settings: Settings, text: str, index: str, language: str | None, filters: Filters) -> SearchRequest:
    """A search with the parameters of the settings."""
    return SearchRequest(
        text=text,
        index=index,
        language=language,
        filters=filters,
        first_stage=settings.first_stage,
        depth=settings.depth,
        method=settings.method,
        parameters=Parameters(epsilon=settings.epsilon, tau=settings.tau),
        feedback=settings.feedback,
        first_stage_share=settings.first_stage_share,
        knn_weight=settings.knn_weight,
    )
