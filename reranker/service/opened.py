"""The objects that a service makes from its embeddings, and the search for embeddings that are made while it runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import preferred_languages
from reranker.embeddings.folder import has_store
from reranker.ranking.reranker import Observer, Reranker
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings
from reranker.service.text_bags import BagCache, TextBags
from reranker.stores.base.protocol import Store

# Seconds between two checks of the path. A check is one call to the file system.
LOOK_SECONDS = 2.0

Made = TypeVar("Made")

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
        cls, settings: Settings, store: Store | None, embeddings: Embeddings, cache: BagCache, observer: Observer
    ) -> Opened:
        language, n_threads = settings.query_language, settings.n_threads
        preferred = preferred_languages(embeddings, language)
        reranker = Reranker(embeddings, n_threads=n_threads, observer=observer, preferred_languages=preferred)
        searcher = None
        if store is not None:
            searcher = Searcher(store, embeddings, n_threads, observer=observer, query_language=language)
        return cls(embeddings, reranker, TextBags(embeddings, cache), searcher)


class Looking:
    """Opens the embeddings of the settings once they exist. Only one thread at a time may call it.

    Attributes:
        problem: why the embeddings cannot be opened; empty if there are none.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._next_look = clock()
        self.problem = ""

    @property
    def path(self) -> Path:
        return self._settings.embeddings_path

    def look(self) -> Embeddings | None:
        """The embeddings; None if there are none yet, or the last check was a moment ago."""
        now = self._clock()
        if now < self._next_look:
            return None
        self._next_look = now + LOOK_SECONDS
        if not has_store(self.path):
            self.problem = ""
            return None
        try:
            embeddings = Embeddings.open(self.path, with_query_encoder=self._settings.query_encoder)
        except SinkrankError as error:
            if str(error) != self.problem:
                _log.error("the new embeddings cannot be opened: %s", error)
            self.problem = str(error)
            return None
        _log.warning("found embeddings at %s: searches are re-ranked from now on", self.path)
        return embeddings


class Late(Generic[Made]):
    """Makes an object once, as soon as it can be made. Thread-safe.

    Args:
        make: returns None while the object cannot be made. Its errors are raised, and the next call tries again.
    """

    def __init__(self, make: Callable[[], Made | None]) -> None:
        self._make = make
        self._made: Made | None = None
        self._lock = threading.Lock()

    def get(self) -> Made | None:
        """The object, which is the same at each call."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made
