"""Opens the embeddings and stores of the settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from reranker.base.errors import NoEmbeddings
from reranker.embeddings import Embeddings
from reranker.search.searcher import Searcher
from reranker.service.engine import engine_access, revealed
from reranker.service.missing_embeddings import no_embeddings_message
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.protocol import WritableStore
from reranker.upstream.addresses import is_engine


def open_embeddings(settings: Settings, files: Sequence[str] = ()) -> Embeddings:
    """The embedding store.

    Args:
        files: documents for which the error suggests to make embeddings.

    Raises:
        NoEmbeddings: there are no embeddings; the message names the command that makes them.
        NotFound, BadEmbeddings, VersionMismatch: as `Embeddings.open`.
    """
    try:
        return Embeddings.open(settings.embeddings_path)
    except NoEmbeddings:
        raise NoEmbeddings(no_embeddings_message(settings, files)) from None


def embeddings_if_any(settings: Settings) -> Embeddings | None:
    """The embedding store of a service; None if there is none yet, and the proxy can pass searches on until then.

    Raises:
        NoEmbeddings: there are no embeddings, and no engine to pass searches to.
        NotFound, BadEmbeddings, VersionMismatch: as `Embeddings.open`.
    """
    try:
        return open_embeddings(settings)
    except NoEmbeddings:
        if is_engine(settings.store_address):
            return None
        raise


@contextmanager
def opened_store(settings: Settings) -> Iterator[WritableStore]:
    """The store; it connects when it is first used, and is closed at the end."""
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
    embeddings = open_embeddings(settings)
    with opened_store(settings) as store:
        yield Searcher(store, embeddings, settings.n_threads, query_language=settings.query_language)
