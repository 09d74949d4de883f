"""Opens the proxy in this process, in front of the engine of the settings.

`search`, `explain`, `evaluate`, `tune` and `doctor` use it for an index that Sinkrank did not make.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reranker.base.errors import BadInput, NotFound, NotOurIndex, WrongParameter
from reranker.embeddings import Embeddings
from reranker.service.engine import engine_access, engine_address
from reranker.service.settings import Settings
from reranker.service.settings_sources import LoadedSettings
from reranker.stores.base.protocol import Store
from reranker.stores.engine.fields import text_fields
from reranker.stores.engine.store import EngineStore
from sinkrank.console import output
from sinkrank.evaluation.query_template import QueryTemplate

if TYPE_CHECKING:
    from reranker.proxy import Proxy
    from sinkrank.evaluation.proxy_way import ProxyIndex

# A query over more fields is slow, and most of so many fields are not text that people search.
_MAX_FIELDS = 100

PATIENT_MS = 120_000
"""A time limit of searches for who has no service running: the first one may have to load much."""


def is_foreign(store: Store, index: str | None) -> bool:
    """Whether the index exists and was not made by Sinkrank.

    Raises:
        StoreUnavailable: the engine does not answer.
        WrongParameter: no index is named, and the engine has none that Sinkrank made.
    """
    if not isinstance(store, EngineStore):
        return False
    if index is None:
        if not store.indices():
            raise WrongParameter(f"{store.address} holds no index that Sinkrank made; name yours with --index NAME")
        return False
    try:
        store.open(index)
    except NotOurIndex:
        return True
    except (BadInput, NotFound):
        return False
    return False


def is_proxied(loaded: LoadedSettings, store: Store, template: Path | None) -> bool:
    """Whether the index of the settings is searched through the proxy: a template is given, or Sinkrank did not make
    the index.

    Raises:
        StoreUnavailable, WrongParameter: as `is_foreign`; or an option is for a search that is not.
    """
    if template is None and not is_foreign(store, loaded.settings.index):
        return False
    if loaded.option("first_stage") is not None:
        raise WrongParameter("--first-stage is for an index that Sinkrank made; here it is the engine's own query")
    return True


def opened_index(settings: Settings, store: Store, embeddings: Embeddings, template: Path | None) -> ProxyIndex:
    """The index of the settings behind the proxy, over an open store.

    Args:
        template: file of the query that stands for a text; None: a `multi_match` over the text fields of the index.

    Raises:
        WrongParameter: no index is named, or the store is not an engine.
        BadInput, NotFound, OSError: the template or the index cannot be used.
    """
    from sinkrank.evaluation.proxy_way import ProxyIndex

    if settings.index is None:
        raise WrongParameter("a search through the proxy needs the name of the index; give --index NAME")
    read = None if template is None else QueryTemplate.read(template)
    engine = check_engine(settings, store)
    proxy = proxy_of(settings, engine, embeddings)
    return ProxyIndex(proxy, settings.index, read or _plain_template(engine, settings.index), caller_headers(settings))


def _plain_template(engine: EngineStore, index: str) -> QueryTemplate:
    """A query over all text fields of the index."""
    fields = sorted({name for mappings in engine.mappings(index) for name in text_fields(mappings)})
    if not 0 < len(fields) <= _MAX_FIELDS:
        raise BadInput(
            f"index {index!r} has {len(fields)} text fields; say which to search with --template FILE, the body of a "
            'search with {{text}} in the place of the query: {"query": {"match": {"body": "{{text}}"}}}'
        )
    output.talk().print(f"searching the text fields {', '.join(fields)}; --template asks another way")
    return QueryTemplate.over(fields)


def check_engine(settings: Settings, store: Store) -> EngineStore:
    """The store, if it is an engine that callers reach through the proxy with credentials in a header.

    Raises:
        WrongParameter: otherwise.
    """
    if not isinstance(store, EngineStore):
        raise WrongParameter(
            f"a search through the proxy needs an engine, and the store is {store.address}; give --store "
            f"opensearch://HOST:PORT"
        )
    if settings.store_aws_region is not None:
        raise WrongParameter(
            "searches that are signed for AWS cannot go through the proxy, which changes their bodies; leave out "
            "store_aws_region, and use a user that the domain knows"
        )
    return store


def proxy_of(settings: Settings, store: EngineStore, embeddings: Embeddings | None) -> Proxy:
    """The service's proxy over an open store; without embeddings it takes those of the settings once there are some."""
    from reranker.proxy import Proxy
    from reranker.service.service import Service

    address = engine_address(settings)
    assert address is not None  # noqa: S101 - the store is an engine
    return Proxy(Service.build(settings, store, embeddings), address)


def caller_headers(settings: Settings) -> Mapping[str, str]:
    """The credentials of the settings as headers: the proxy adds none of its own."""
    address = engine_address(settings)
    return {} if address is None else engine_access(settings).headers(address)
