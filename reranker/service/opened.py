"""The objects that a service makes from its embeddings, and the search for embeddings that are made while it runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import preferred_languages
from reranker.embeddings.folder import has_store
from reranker.ranking.reranker import Observer, Reranker
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings
from reranker.service.text_bags import TextBags
from reranker.stores.base.protocol import Store

# Seconds between two checks of the path. A check is one call to the file system.
LOOK_SECONDS = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """The objects that need embeddings.

    Attributes:
        reranker: has the idf of the embeddings' training texts.
        texts: reads the texts of requests and hits.
        searcher: None if the service has no store.
    """

    embeddings: Embeddings
    reranker: Reranker
    texts: TextBags
    searcher: Searcher | None

    @classmethod
    def build(
        cls,
        settings: Settings,
        store: Store | None,
        count_bags: Callable[[int, int], None],
        observer: Observer,
        embeddings: Embeddings,
    ) -> Opened:
        """
        Args:
            count_bags: as of `TextBags`.
        """
        language, n_threads = settings.query_language, settings.n_threads
        preferred = preferred_languages(embeddings, language)
        reranker = Reranker(embeddings, n_threads=n_threads, observer=observer, preferred_languages=preferred)
        searcher = None
        if store is not None:
            searcher = Searcher(store, embeddings, n_threads, observer=observer, query_language=language)
        return cls(embeddings, reranker, TextBags(embeddings, count_bags), searcher)


class Opening:
    """Opens the embeddings of the settings once they exist, and builds what needs them, once. Thread-safe.

    Args:
        embeddings: those that are there already; None to look for them.
        build: makes the objects. Its errors are raised, and the next call tries again.
        on_found: told of the objects of embeddings that were not there at first.

    Attributes:
        problem: why the embeddings cannot be opened; empty if there are none.
    """

    def __init__(
        self,
        settings: Settings,
        embeddings: Embeddings | None,
        build: Callable[[Embeddings], Opened],
        on_found: Callable[[Opened], None],
    ) -> None:
        self._on_found = on_found
        self._settings = settings
        self._build = build
        self._next_look = 0.0
        self._lock = threading.Lock()
        self._opened = None if embeddings is None else build(embeddings)
        self.problem = ""

    def get(self) -> Opened | None:
        """The objects, the same at each call; None if there are no embeddings yet, or the last look was a moment
        ago."""
        if self._opened is None:
            with self._lock:
                if self._opened is None and (embeddings := self._look()) is not None:
                    self._opened = self._build(embeddings)
                    self._on_found(self._opened)
        return self._opened

    def _look(self) -> Embeddings | None:
        now = time.monotonic()
        if now < self._next_look:
            return None
        self._next_look = now + LOOK_SECONDS
        path = self._settings.embeddings_path
        if not has_store(path):
            self.problem = ""
            return None
        try:
            embeddings = Embeddings.open(path)
        except SinkrankError as error:
            if str(error) != self.problem:
                _log.error("the new embeddings cannot be opened: %s", error)
            self.problem = str(error)
            return None
        _log.warning("found embeddings at %s: searches are re-ranked from now on", path)
        return embeddings
