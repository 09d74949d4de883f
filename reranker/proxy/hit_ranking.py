"""Re-ranks an engine's hits, with the idf of their index: the stored one where it is ours, else a learned one."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadInput, NotFound, NotOurIndex, SinkrankError, VersionMismatch
from reranker.embeddings.detection import preferred_languages
from reranker.proxy.answer import Ordering
from reranker.proxy.hits import Hit
from reranker.proxy.index_figures import IndexFigures
from reranker.proxy.search_request import ProxySearch
from reranker.proxy.window import RankedHit
from reranker.ranking.reranker import Reranker
from reranker.search.searcher import INDEX_CACHE_SECONDS
from reranker.service.bag_cache import Bag
from reranker.service.service import Service
from reranker.text.exact_text import exact_key

_MAX_KNOWN_INDICES = 10_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HitRanking:
    """A window of hits in its new order.

    Attributes:
        hits: best first.
    """

    hits: list[RankedHit]
    ordering: Ordering


def _scores(hits: Sequence[Hit]) -> NDArray[np.float64] | None:
    """The engine's score of each hit; None where it gave none."""
    scores = [hit.get("_score") for hit in hits]
    if not all(isinstance(score, int | float) and math.isfinite(score) for score in scores):
        return None
    return np.array(scores, dtype=np.float64)


def _exact(text: str, bags: Sequence[Bag]) -> NDArray[np.bool_]:
    """Of which hits a field is the query, word for word (n,)."""
    key = exact_key(text)
    return np.array([key in bag.exact_keys for bag, _ in bags], dtype=bool)


class HitRanker:
    """Ranks hits; safe to share between threads.

    Args:
        figures: of indices that are not ours.
    """

    def __init__(self, service: Service, figures: IndexFigures, clock: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._figures = figures
        self._clock = clock
        self._foreign: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_ours(self, index: str) -> bool:
        """Whether an index holds bags of words of the service's embeddings."""
        return self._reranker(index) is not None

    def rank(self, search: ProxySearch, hits: Sequence[Hit], bags: Sequence[Bag]) -> HitRanking | None:
        """The hits in their new order; None if no hit has a known word.

        Args:
            bags: of each hit.
        """
        if not any(len(bag) for bag, _ in bags):
            return None
        indices = {str(hit.get("_index")) for hit in hits}
        reranker, languages = self.reranker_of(indices, search.read_fields)
        query = reranker.query(search.text, search.language, languages)
        ranking = reranker.rerank_bags(
            query,
            bags,
            search.method,
            search.parameters,
            first_stage_scores=_scores(hits),
            translated=None if search.translations is None else np.ones(len(hits), dtype=bool),
            exact=_exact(search.text, bags),
            feedback=search.feedback,
            first_stage_share=search.first_stage_share,
        )
        return HitRanking(
            [
                RankedHit(ranked.index, ranked.score, ranked.parts, ranked.without_known_word)
                for ranked in ranking.documents
            ],
            Ordering(ranking.method, ranking.precision, ranking.has_feedback),
        )

    def reranker_of(
        self, indices: Collection[str], read_fields: Sequence[str]
    ) -> tuple[Reranker, Sequence[str] | None]:
        """With the idf of the hits' index, and the languages that a query is likely to be in; None for the re-ranker's
        own. Hits of several indices are weighed alike: by the idf of all together where none is ours, else by that of
        the embeddings."""
        ours = [reranker for index in indices if (reranker := self._reranker(index)) is not None]
        if ours:
            return (ours[0] if len(indices) == 1 else self._service.reranker), None
        idf = self._figures.joined_idf(indices, read_fields)
        if idf is None:
            return self._service.reranker, None
        return self._service.reranker_with(idf), self._languages(indices, read_fields)

    def _languages(self, indices: Collection[str], read_fields: Sequence[str]) -> Sequence[str] | None:
        """The languages of an index that is not ours, the most frequent first; None for several indices."""
        if len(indices) != 1:
            return None
        shares = self._figures.languages(next(iter(indices)), read_fields)
        return preferred_languages(self._service.embeddings, self._service.settings.query_language, shares)

    def _reranker(self, index: str) -> Reranker | None:
        """The reranker of one of our indices; None for any other, which is remembered for a while."""
        if self._service.store is None:
            return None
        now = self._clock()
        with self._lock:
            if now < self._foreign.get(index, 0.0):
                return None
        try:
            return self._service.searcher.reranker(index)
        except (BadInput, NotFound, NotOurIndex):
            pass
        except VersionMismatch as error:
            _log.warning("the proxy reads the texts of index %r, not its bags of words: %s", index, error)
        except SinkrankError as error:
            _log.warning("the proxy cannot tell whose index %r is, and reads its texts: %s", index, error)
        with self._lock:
            if len(self._foreign) >= _MAX_KNOWN_INDICES:
                self._foreign.clear()
            self._foreign[index] = now + INDEX_CACHE_SECONDS
        return None
