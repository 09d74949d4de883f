"""What the routes of one app share: settings, store, embeddings, and what is built of them once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from flask import current_app

from reranker.embeddings import Embeddings
from reranker.errors import StoreUnavailable
from reranker.reranking import Reranker
from reranker.search import Searcher
from reranker.settings import Settings
from reranker.stores.protocol import Store
from reranker.transport import Parameters, warm_up

EXTENSION = "sinkrank"


@dataclass(frozen=True, slots=True)
class Service:
    """Shared by all threads; nothing in it changes from request to request but caches.

    Attributes:
        store: None where the service only re-ranks texts that come with the request.
        reranker: with the idf of the embeddings' training texts.
        warm: set once the kernels are compiled.
    """

    settings: Settings
    store: Store | None
    embeddings: Embeddings
    reranker: Reranker
    _searcher: Searcher | None = None
    warm: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def build(cls, settings: Settings, store: Store | None, embeddings: Embeddings) -> Service:
        n_threads = settings.n_threads
        searcher = None if store is None else Searcher(store, embeddings, n_threads)
        return cls(settings, store, embeddings, Reranker(embeddings, n_threads=n_threads), searcher)

    @property
    def searcher(self) -> Searcher:
        """Raises StoreUnavailable where the service has no store."""
        if self._searcher is None:
            raise StoreUnavailable(
                "this service has no store to search; start it with `sinkrank serve --store ADDRESS`"
            )
        return self._searcher

    def parameters(
        self, epsilon: float | None = None, n_iterations: int | None = None, tau: float | None = None
    ) -> Parameters:
        """Parameters of a request, the settings standing in for those that it leaves out.

        Raises:
            BadInput: one is out of its range.
        """
        return Parameters(
            epsilon=self.settings.epsilon if epsilon is None else epsilon,
            n_iterations=self.settings.n_iterations if n_iterations is None else n_iterations,
            tau=self.settings.tau if tau is None else tau,
        )

    def warm_up(self) -> None:
        """Compiles the kernels; call it before the service takes requests, and before it forks."""
        warm_up()
        self.warm.set()


def current_service() -> Service:
    """The service of the app that handles the request."""
    service: Service = current_app.extensions[EXTENSION]
    return service
