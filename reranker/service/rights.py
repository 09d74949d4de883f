"""Whether the service has more rights in an engine than its callers, and whether it reads with them for its callers."""

from __future__ import annotations

from reranker.service.settings import Settings
from reranker.upstream.addresses import is_engine


def has_credentials(settings: Settings) -> bool:
    """Whether the service may have rights in the engine that not everybody has."""
    named = (
        settings.store_username,
        settings.store_password,
        settings.store_api_key,
        settings.store_client_cert,
        settings.store_aws_region,
    )
    return is_engine(settings.store_address) and (
        any(each is not None for each in named) or "@" in settings.store_address
    )


def refuses_strangers(settings: Settings) -> bool:
    """Whether callers without credentials are refused."""
    return settings.callers_without_credentials == "refuse" and has_credentials(settings)
