"""Opens the proxy in this process, in front of the engine of the settings.

`evaluate`, `tune` and `doctor` use it for an index that Sinkrank did not make.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sinkrank.console import resources

if TYPE_CHECKING:
    from flask import Flask

    from reranker.embeddings import Embeddings
    from reranker.service.settings import Settings
    from reranker.stores.base.protocol import Store
    from reranker.stores.engine.store import EngineStore


def engine_of(store: Store) -> EngineStore | None:
    """The store if it is an engine. Otherwise None, because Sinkrank made every index of a folder."""
    from reranker.stores.engine.store import EngineStore

    return store if isinstance(store, EngineStore) else None


def is_foreign(settings: Settings) -> bool:
    """Whether the index of the settings exists and was not made by Sinkrank.

    Raises:
        StoreUnavailable: the engine does not answer.
        WrongParameter: no index is named, and the engine has none that Sinkrank made.
    """
    from reranker.base.errors import BadInput, NotFound, NotOurIndex, WrongParameter

    with resources.opened_store(settings) as store:
        if engine_of(store) is None:
            return False
        if settings.index is None:
            if not store.indices():
                raise WrongParameter(f"{store.address} holds no index that Sinkrank made; name yours with --index NAME")
            return False
        try:
            store.describe(settings.index)
        except NotOurIndex:
            return True
        except (BadInput, NotFound):
            return False
    return False


@contextmanager
def opened_proxy(settings: Settings) -> Iterator[tuple[Flask, EngineStore]]:
    """The service's app with compiled kernels, and its store.

    Raises:
        WrongParameter: the store is not an engine.
    """
    from reranker.api.app import stop, warm_up

    embeddings = resources.open_embeddings(settings)
    with resources.opened_store(settings) as store:
        engine = check_engine(settings, store)
        app = app_of(settings, engine, embeddings)
        warm_up(app)
        try:
            yield app, engine
        finally:
            stop(app)


def check_engine(settings: Settings, store: Store) -> EngineStore:
    """The store, if it is an engine that callers reach through the proxy with credentials in a header.

    Raises:
        WrongParameter: otherwise.
    """
    from reranker.base.errors import WrongParameter

    engine = engine_of(store)
    if engine is None:
        raise WrongParameter(
            f"a search through the proxy needs an engine, and the store is {store.address}; give --store "
            f"opensearch://HOST:PORT"
        )
    if settings.store_aws_region is not None:
        raise WrongParameter(
            "searches that are signed for AWS cannot go through the proxy, which changes their bodies; leave out "
            "store_aws_region, and use a user that the domain knows"
        )
    return engine


def app_of(settings: Settings, store: EngineStore, embeddings: Embeddings) -> Flask:
    """The service's app over an open store, without logging slow searches."""
    from reranker.api.app import create_app

    return create_app(settings.model_copy(update={"slow_query_ms": 0}), store, embeddings)


def caller_headers(settings: Settings) -> Mapping[str, str]:
    """The credentials of the settings as headers: the proxy adds none of its own."""
    from reranker.stores.engine.client import credential_headers

    address = resources.engine_address(settings)
    return {} if address is None else credential_headers(address, resources.engine_access(settings))
