"""Says from the settings whether the service may read more of an engine than its callers, and whether it lends that."""

from __future__ import annotations

from reranker.service.settings import Settings
from reranker.stores.base.addresses import is_engine


def has_credentials(settings: Settings) -> bool:
    """Whether the engine may give the service rights that it does not give to everybody."""
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
    """Whether callers without credentials may not read the store."""
    return settings.callers_without_credentials == "refuse" and has_credentials(settings)
