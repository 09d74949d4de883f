"""Reads from the settings where the engine is, and how the service is known there."""

from __future__ import annotations

from pydantic import SecretStr

from reranker.service.settings import Settings
from reranker.upstream.access import EngineAccess
from reranker.upstream.addresses import EngineAddress, read_address


def engine_address(settings: Settings) -> EngineAddress | None:
    """The address of the engine with the credentials of the settings; None if the store is a folder."""
    address = read_address(settings.store_address)
    if not isinstance(address, EngineAddress):
        return None
    return address.with_credentials(settings.store_username, revealed(settings.store_password))


def engine_access(settings: Settings) -> EngineAccess:
    """Access to an engine, from the settings."""
    return EngineAccess(
        ca_certs=settings.store_ca_certs,
        verify_certs=settings.store_verify_certs,
        client_cert=settings.store_client_cert,
        client_key=settings.store_client_key,
        api_key=revealed(settings.store_api_key),
        aws_region=settings.store_aws_region,
    )


def revealed(secret: SecretStr | None) -> str | None:
    """The text of a secret setting."""
    return None if secret is None else secret.get_secret_value()
