"""Opens the embeddings, stores and indices of the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from ingest.documents import Layout
    from ingest.files import Source
    from ingest.from_index import IndexSource
    from ingest.progress import Progress
    from reranker.embeddings import Embeddings
    from reranker.search.searcher import Searcher, SearchRequest
    from reranker.service.settings import Settings
    from reranker.stores import EngineAccess
    from reranker.stores.base.filters import Filters
    from reranker.stores.base.protocol import WritableStore
    from reranker.transport import Parameters


def open_embeddings(settings: Settings, files: Sequence[str] = ()) -> Embeddings:
    """The embedding store.

    Args:
        files: documents for which the error suggests to make embeddings.

    Raises:
        NoEmbeddings: there are no embeddings; the message names the command that makes them.
        NotFound, BadEmbeddings, VersionMismatch: as `Embeddings.open`.
    """
    from reranker.base.errors import NoEmbeddings
    from reranker.embeddings import Embeddings
    from reranker.service.missing_embeddings import no_embeddings_message

    try:
        return Embeddings.open(settings.embeddings_path)
    except NoEmbeddings:
        raise NoEmbeddings(no_embeddings_message(settings, files)) from None


def index_to_read(url: str, layout: Layout, query: str | None = None) -> IndexSource:
    """The index that `URL/INDEX` names, with the user and password that `~/.netrc`, or the file of the variable NETRC,
    has for its host if the URL has none.

    Raises:
        WrongParameter, BadInput: as `ingest.from_index.read_index_source`; or the file cannot be read.
    """
    from dataclasses import replace
    from netrc import NetrcParseError, netrc

    from ingest.from_index import read_index_source
    from reranker.base.errors import WrongParameter

    source = read_index_source(url, layout, query)
    if source.address.username is not None:
        return source
    try:
        found = netrc(os.environ.get("NETRC")).hosts.get(source.address.nodes[0].host)
    except FileNotFoundError:
        return source
    except NetrcParseError as error:
        raise WrongParameter(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    return source if found is None else replace(source, address=source.address.with_credentials(found[0], found[2]))


def opened_copy(
    source: IndexSource, folder: Path, settings: Settings, progress: Progress, access: EngineAccess | None = None
) -> AbstractContextManager[Source]:
    """`opened_index` of an index that `index_to_read` names; with access to the store, of one of the store."""
    from ingest.from_index import opened_index
    from reranker.stores import EngineAccess

    # The API key and the client certificate are only for the store.
    access = access or EngineAccess(ca_certs=settings.store_ca_certs, verify_certs=settings.store_verify_certs)
    return opened_index(source, folder, access=access, timeout_s=settings.store_timeout_s, progress=progress)


@contextmanager
def opened_store(settings: Settings) -> Iterator[WritableStore]:
    """The store; it connects when it is first used, and is closed at the end."""
    from reranker.service.engine import engine_access, revealed
    from reranker.stores import open_store

    store = open_store(
        settings.store_address,
        username=settings.store_username,
        password=revealed(settings.store_password),
        access=engine_access(settings),
        timeout_s=settings.store_timeout_s,
    )
    with closing(store):
        yield store


@contextmanager
def opened_searcher(settings: Settings) -> Iterator[Searcher]:
    """A searcher of the store with the embeddings."""
    from reranker.search.searcher import Searcher

    embeddings = open_embeddings(settings)
    with opened_store(settings) as store:
        yield Searcher(store, embeddings, settings.n_threads, query_language=settings.query_language)


def parameters_of(settings: Settings) -> Parameters:
    """The parameters of the methods, from the settings."""
    from reranker.transport import Parameters

    return Parameters(epsilon=settings.epsilon, tau=settings.tau)


def search_request(settings: Settings, text: str, index: str, language: str | None, filters: Filters) -> SearchRequest:
    """A search with the parameters of the settings."""
    from reranker.search.searcher import SearchRequest

    return SearchRequest(
        text=text,
        index=index,
        language=language,
        filters=filters,
        first_stage=settings.first_stage,
        depth=settings.depth,
        method=settings.method,
        parameters=parameters_of(settings),
        feedback=settings.feedback,
        first_stage_share=settings.first_stage_share,
        knn_weight=settings.knn_weight,
    )


def without_credentials(address: str) -> str:
    """A store's address without credentials: `https://user:secret@host` → `https://***@host`.

    >>> without_credentials("https://me:secret@search.example:9200"), without_credentials(".sinkrank/store")
    ('https://***@search.example:9200', '.sinkrank/store')
    """
    parts = urlsplit(address)
    if "@" not in parts.netloc:
        return address
    return parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}").geturl()
