"""What the routes of one app share: settings, store, embeddings, and what is built of them once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event

from flask import current_app

from reranker.base.errors import BadInput, NoEmbeddings, StoreUnavailable, WrongParameter
from reranker.base.request_context import note
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import preferred_languages
from reranker.ranking.query import Query
from reranker.ranking.ranked import Reranking
from reranker.ranking.reranker import Observer, Reranker
from reranker.search.searcher import Searcher
from reranker.service.integrity import Integrity
from reranker.service.metrics import Metrics
from reranker.service.missing_embeddings import no_embeddings_message
from reranker.service.opened import Opened, Opening
from reranker.service.probe import Probe
from reranker.service.request_fields import MAX_REQUEST_ITERATIONS, MIN_REQUEST_EPSILON
from reranker.service.settings import Settings
from reranker.service.slots import Slots
from reranker.service.text_bags import TextBags
from reranker.stores.base.protocol import Store
from reranker.stores.embedded.store import EmbeddedStore
from reranker.text.idf import IdfTable
from reranker.transport import METHODS, Parameters, check_method

EXTENSION = "sinkrank"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Service:
    """Shared by all threads; nothing in it changes from request to request but caches.

    Without embeddings the proxy passes searches on, and what needs them raises `NoEmbeddings`, until there are some at
    the path of the settings.

    Attributes:
        store: None where the service only re-ranks texts that come with the request.
        metrics: what all of it counts into.
        slots: limits how many requests compute, and how many wait for an engine.
        store_probe: asks the store for `/-/ready`.
        integrity: the checks of the files in the background.
        draining: set once this process was told to stop: balancers are to send no more.
    """

    settings: Settings
    store: Store | None
    metrics: Metrics
    slots: Slots
    _opening: Opening
    integrity: Integrity
    store_probe: Probe = field(default_factory=Probe)
    draining: Event = field(default_factory=Event)

    @classmethod
    def build(cls, settings: Settings, store: Store | None, embeddings: Embeddings | None) -> Service:
        """
        Args:
            embeddings: None where there are none yet.

        Raises:
            BadInput: the settings name a method, parameters or a query language that there are not.
        """
        # What no request could do with is refused before the first one comes.
        if settings.method == "none":
            raise WrongParameter(
                "method is 'none', which keeps the first stage's order; only single searches may use it; give the "
                f"service one of {', '.join(METHODS)}"
            )
        check_method(settings.method)
        Parameters(settings.epsilon, tau=settings.tau)
        metrics = Metrics()
        build = partial(Opened.build, settings, store, metrics.count_bags, _observer(metrics))
        integrity = Integrity(metrics)
        opening = Opening(settings, embeddings, build, partial(_begin, integrity))
        if embeddings is None:
            _log.warning(
                "%s. Until then searches keep the engine's order; re-ranking starts without a restart once there are "
                "embeddings",
                no_embeddings_message(settings),
            )
        slots = Slots(settings.workers, settings.max_engine_calls)
        return cls(settings, store, metrics, slots, opening, integrity)

    @property
    def opened(self) -> Opened | None:
        """What needs embeddings; None where there are none yet, or they are damaged."""
        return None if self.integrity.problem("embeddings") else self._opening.get()

    @property
    def embeddings(self) -> Embeddings:
        """Raises NoEmbeddings, as the properties below."""
        return self._needed().embeddings

    @property
    def reranker(self) -> Reranker:
        return self._needed().reranker

    @property
    def texts(self) -> TextBags:
        return self._needed().texts

    @property
    def searcher(self) -> Searcher:
        """Raises StoreUnavailable where the service has no store."""
        if self.store is None:
            raise StoreUnavailable(
                "this service has no store to search; start it with `sinkrank serve --store ADDRESS`"
            )
        searcher = self._needed().searcher
        assert searcher is not None  # noqa: S101 - there is a store
        return searcher

    def no_embeddings(self) -> str:
        """What to say where there are none: the cure too."""
        damage = self.integrity.problem("embeddings")
        return damage or self._opening.problem or no_embeddings_message(self.settings)

    def _needed(self) -> Opened:
        opened = self.opened
        if opened is None:
            raise NoEmbeddings(self.no_embeddings())
        return opened

    def start(self) -> None:
        """Starts what a process that serves does in the background: loading the query encoders and checking the files.
        Call it after the last fork, which threads do not survive."""
        if isinstance(self.store, EmbeddedStore):
            self.integrity.start("store", self.store.checked_steps)
        if (opened := self.opened) is not None:
            _begin(self.integrity, opened)

    def parameters(
        self, epsilon: float | None = None, n_iterations: int | None = None, tau: float | None = None
    ) -> Parameters:
        """Parameters of a request, the settings and defaults standing in for those that it leaves out.

        Raises:
            BadInput: one is out of its range, or asks for more work than a request may.
        """
        if n_iterations is not None and n_iterations > MAX_REQUEST_ITERATIONS:
            raise BadInput(f"n_iterations is over {MAX_REQUEST_ITERATIONS}, the maximum for a request; 50 is usual")
        least = min(MIN_REQUEST_EPSILON, self.settings.epsilon)
        if epsilon is not None and epsilon < least:
            raise BadInput(
                f"epsilon is {epsilon}; the minimum for a request is {least}; for exact transport use the method 'emd'"
            )
        chosen = Parameters(
            epsilon=self.settings.epsilon if epsilon is None else epsilon, tau=self.settings.tau if tau is None else tau
        )
        return chosen if n_iterations is None else replace(chosen, n_iterations=n_iterations)

    def reranker_of(self, idf: IdfTable, languages: Mapping[str, float]) -> Reranker:
        """As `reranker`, of an index that is not ours.

        Args:
            idf: that was learned of it; the same one where there is none of any language.
            languages: the share of its documents by language.
        """
        if not idf.languages:
            return self.reranker
        idf = IdfTable({**self.embeddings.idf.languages, **idf.languages})
        preferred = preferred_languages(self.embeddings, self.settings.query_language, languages)
        observer = _observer(self.metrics)
        n_threads = self.reranker.n_threads
        return Reranker(self.embeddings, idf, n_threads, observer=observer, preferred_languages=preferred)


def _begin(integrity: Integrity, opened: Opened) -> None:
    """Checks the files of the embeddings, and loads their encoders, so that the first search does not wait."""
    integrity.start("embeddings", opened.embeddings.checked_blocks)
    for encoder in opened.embeddings.query_encoders:
        encoder.begin("", encoder.model.languages[0])


def _observer(metrics: Metrics) -> Observer:
    """Takes each re-ranking, of whichever route, to the metrics, and what the log says of the request."""

    def observe(query: Query, reranking: Reranking, seconds: float) -> None:
        metrics.observe_reranking(query, reranking, seconds)
        note(
            query=query.text,
            language=query.language,
            method=reranking.method,
            n_candidates=reranking.n_candidates,
            rerank_ms=round(seconds * 1000, 1),
        )

    return observe


def current_service() -> Service:
    """The service of the app that handles the request."""
    service: Service = current_app.extensions[EXTENSION]
    return service
