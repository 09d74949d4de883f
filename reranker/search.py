"""Searches an index in two stages: a first stage fetches candidates, transport between words re-orders them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from reranker.corrections import CORRECTED_METHOD, NO_CORRECTION, Correction
from reranker.detection import preferred_languages
from reranker.documents import Candidate, Document
from reranker.embeddings import Embeddings
from reranker.errors import BadInput, NotFound, WrongParameter
from reranker.explanation import PAIRS_PER_WORD, Explanation, explain
from reranker.fusion import reciprocal_rank_fusion
from reranker.idf import IdfTable
from reranker.reranking import Observer, Query, Reranker, Reranking
from reranker.scores import falling_scores
from reranker.stores.protocol import Filters, Store, check_index_name, check_versions
from reranker.transport import METHODS, Parameters, check_method
from reranker.transport.cost_cache import CostCache
from reranker.word_places import with_places

FirstStage = Literal["knn", "bm25", "hybrid"]
FIRST_STAGES: tuple[str, ...] = get_args(FirstStage)

# The paper's lists have 1,000 candidates at most; OpenSearch's result window ends at 10,000.
MAX_DEPTH = 1_000
MAX_WINDOW = 10_000

# How long an index's versions and idf are trusted before they are read again.
INDEX_CACHE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for, where, and how.

    Attributes:
        language: of the query; guessed where it is None.
        filters: of the documents, their languages among them.
        depth: candidates that the first stage fetches and the second re-orders.
        method: of `transport.METHODS`; or `none` for the first stage's order.
        offset: hits to leave out at the top; with `size` it pages through the re-ranked window and on through the
            first stage's order, no hit twice.
        race: as `Reranker.rerank`.
        knn_weight: of kNN in the fusion of `hybrid`, 0 to 1; BM25 has the rest.
    """

    text: str
    index: str
    language: str | None = None
    filters: Filters = field(default_factory=Filters)
    first_stage: str = "knn"
    depth: int = 100
    method: str = "auto"
    parameters: Parameters = field(default_factory=Parameters)
    offset: int = 0
    size: int = 10
    race: bool = False
    knn_weight: float = 0.5

    def __post_init__(self) -> None:
        check_index_name(self.index)
        if self.first_stage not in FIRST_STAGES:
            raise WrongParameter(f"first stage {self.first_stage!r} is not known; use one of {', '.join(FIRST_STAGES)}")
        if self.method != "none":
            check_method(self.method)
        for name, value, lowest, highest in (
            ("depth", self.depth, 1, MAX_DEPTH),
            ("from", self.offset, 0, MAX_WINDOW),
            ("size", self.size, 0, MAX_WINDOW),
            ("from + size", self.offset + self.size, 0, MAX_WINDOW),
            ("knn_weight", self.knn_weight, 0, 1),
        ):
            if not lowest <= value <= highest:
                raise WrongParameter(f"{name} is {value}; give {lowest} to {highest}")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A document in its place.

    Attributes:
        distance: of the transport; None for a hit behind the re-ranked window, or without a known word.
        reranked_rank: its place in the answer over all pages, from 1.
        without_known_word: it was to be re-ranked, and no word of it has an embedding: it is the last of the window,
            in first-stage order with others such.
        correction: what moved it besides its distance.
    """

    document: Document
    score: float
    distance: float | None
    reranked_rank: int
    first_stage_score: float
    first_stage_rank: int
    without_known_word: bool = False
    correction: Correction = NO_CORRECTION

    @property
    def order_distance(self) -> float | None:
        """What the order goes by, and what the score falls with: the distance as the correction leaves it."""
        return None if self.distance is None else self.correction.order_distance(self.distance)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """A page of hits, and how it came to be.

    Attributes:
        n_candidates: how many the first stage brought.
        method: the method used; `none` where the first stage's order was
            asked for or is all there is.
        raced: a few iterations chose which candidates were solved: the order is not certainly that of solving all.
        unknown_words: of the query.
        took_ms: by stage.
    """

    hits: tuple[SearchHit, ...]
    n_candidates: int
    language: str
    first_stage: str
    method: str
    precision: str
    n_converged: int
    raced: bool
    unknown_words: tuple[str, ...]
    took_ms: dict[str, float]


class Searcher:
    """Searches the indices of one store with one set of embeddings; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        embeddings: Embeddings,
        n_threads: int = 1,
        clock: Callable[[], float] = time.monotonic,
        observer: Observer | None = None,
        query_language: str | None = None,
    ) -> None:
        """
        Args:
            query_language: taken where a query names none and its words do not tell; None: the index's most frequent.
        """
        self.store = store
        self.embeddings = embeddings
        self.n_threads = n_threads
        self.cost_cache = CostCache()  # one for all indices: what it may hold is a limit for the process
        self._clock = clock
        self._observer = observer
        self._query_language = query_language
        self._lock = threading.Lock()
        self._rerankers: dict[str, tuple[float, Reranker]] = {}

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Runs both stages.

        Raises:
            EmptyQuery, UnknownWords, UnknownLanguage, BadInput: the request is wrong.
            NotFound, NotOurIndex, VersionMismatch, StoreUnavailable: the index cannot be searched.
        """
        started = self._clock()
        reranker = self.reranker(request.index)
        query = self._read_query(reranker, request)
        window = self._candidates(query, request, request.depth)
        rest = self._beyond(window, query, request)
        found = self._clock()
        reranking = self._rerank(reranker, query, window, request)
        hits = [
            SearchHit(
                document=window[ranked.index].document,
                score=ranked.score,
                distance=None if ranked.without_known_word else ranked.distance,
                reranked_rank=ranked.reranked_rank,
                first_stage_score=window[ranked.index].first_stage_score,
                first_stage_rank=window[ranked.index].first_stage_rank,
                without_known_word=ranked.without_known_word,
                correction=ranked.correction,
            )
            for ranked in (reranking.documents if reranking else ())
        ]
        behind = rest if reranking else window + rest
        hits += _in_first_stage_order(behind, lowest=hits[-1].score if hits else 1.0, n_before=len(hits))
        done = self._clock()
        return SearchAnswer(
            hits=tuple(hits[request.offset : request.offset + request.size]),
            n_candidates=len(window) + len(rest),
            language=query.language,
            first_stage=request.first_stage,
            method=reranking.method if reranking else "none",
            precision=reranking.precision if reranking else "none",
            n_converged=reranking.n_converged if reranking else 0,
            raced=reranking.raced if reranking else False,
            unknown_words=query.unknown_words,
            took_ms={
                "first_stage": round((found - started) * 1000, 3),
                "rerank": round((done - found) * 1000, 3),
                "total": round((done - started) * 1000, 3),
            },
        )

    def explain(
        self,
        text: str,
        index: str,
        doc_id: str,
        language: str | None = None,
        method: str = "auto",
        parameters: Parameters = Parameters(),
        pairs_per_word: int = PAIRS_PER_WORD,
    ) -> Explanation:
        """Takes the distance between a query and one document of an index apart, and says what else moves it."""
        reranker = self.reranker(index)
        query = reranker.query(text, language)
        encoded = self.store.fetch(index, doc_id)
        document = encoded.document
        weighted = reranker.idf.weigh(encoded.bag, document.language)
        explained = explain(query.weighted, weighted, self.embeddings, method, parameters, pairs_per_word)
        explained = replace(with_places(explained, document, self.embeddings), unknown_words=query.unknown_words)
        if method != CORRECTED_METHOD:
            return explained
        return replace(explained, correction=reranker.correction(query, encoded.bag, document.language))

    def choose_index(self, index: str | None) -> str:
        """The index that was named, or the store's only one.

        Raises:
            BadInput: none was named, and the store has several.
            NotFound: none was named, and the store has none.
        """
        if index is not None:
            return check_index_name(index)
        names = self.store.indices()
        if len(names) == 1:
            return names[0]
        if not names:
            raise NotFound(
                f"{self.store.address} holds no index yet; make one with "
                f"`sinkrank ingest FILE --index NAME --store {self.store.address}`"
            )
        raise BadInput(
            f"{self.store.address} holds several indices ({', '.join(names)}); name one of them: --index NAME, or the "
            "key index of a request"
        )

    def reranker(self, index: str) -> Reranker:
        """A reranker with the index's idf, its versions checked; languages that the index has no documents of take the
        idf of the embeddings' training texts. It is read again after a while."""
        check_index_name(index)
        now = self._clock()
        with self._lock:
            cached = self._rerankers.get(index)
        if cached is None or now - cached[0] > INDEX_CACHE_SECONDS:
            check_versions(index, self.store.describe(index), self.embeddings, self.store.address)
            idf = IdfTable({**self.embeddings.idf.languages, **self.store.idf(index).languages})
            hubness = self.store.hubness_sample(index)
            preferred = preferred_languages(self.embeddings, self._query_language, self.store.languages(index))
            reranker = Reranker(
                self.embeddings, idf, self.n_threads, hubness, self.cost_cache, self._observer, preferred
            )
            cached = (now, reranker)
            with self._lock:
                self._rerankers[index] = cached
        return cached[1]

    def _read_query(self, reranker: Reranker, request: SearchRequest) -> Query:
        if request.first_stage == "knn":
            return reranker.query(request.text, request.language)
        # BM25 finds words that have no embedding too (names, identifiers); there is nothing to re-rank by, then.
        return reranker.query_with_unknown_words(request.text, request.language)

    def _candidates(self, query: Query, request: SearchRequest, depth: int) -> list[Candidate]:
        runs = []
        vector = self.embeddings.nbow(query.weighted) if request.first_stage != "bm25" else None
        if vector is not None:
            runs.append(self.store.knn(request.index, vector, depth, request.filters))
        # A query whose embeddings cancel out has no direction to search in; its words can still be found.
        if request.first_stage != "knn" or vector is None:
            runs.append(self.store.bm25(request.index, query.text, depth, request.filters))
        if request.first_stage == "hybrid":
            # Where the query has no vector, BM25 is all there is. Both count 1 by default.
            weights = [2 * request.knn_weight, 2 * (1 - request.knn_weight)] if len(runs) == 2 else None
            return reciprocal_rank_fusion(runs, depth, weights)
        return runs[0] if runs else []

    def _beyond(self, window: list[Candidate], query: Query, request: SearchRequest) -> list[Candidate]:
        """What a page behind the window goes on with: the first stage's next candidates, ranked on from the window."""
        if request.offset + request.size <= request.depth or len(window) < request.depth:
            return []
        # A fusion changes with the depth of its runs, and what an engine's graph of vectors finds with the depth of the
        # walk: where it is the same for all pages, they agree.
        n_steps = 1 if request.first_stage == "hybrid" else -(-(request.offset + request.size) // MAX_DEPTH)
        depth = n_steps * MAX_DEPTH
        seen = {candidate.document.doc_id for candidate in window}
        behind = [
            candidate for candidate in self._candidates(query, request, depth) if candidate.document.doc_id not in seen
        ]
        return [
            replace(candidate, first_stage_rank=rank) for rank, candidate in enumerate(behind, start=len(window) + 1)
        ]

    def _rerank(
        self, reranker: Reranker, query: Query, window: list[Candidate], request: SearchRequest
    ) -> Reranking | None:
        if request.method == "none" or not len(query.weighted):
            return None
        return reranker.rerank_bags(
            query,
            [(candidate.bag, candidate.document.language) for candidate in window],
            request.method,
            request.parameters,
            np.array([candidate.first_stage_rank for candidate in window], dtype=np.int64),
            race=request.race,
        )


def _in_first_stage_order(candidates: list[Candidate], lowest: float, n_before: int) -> list[SearchHit]:
    """Hits that were not re-ranked, below those that were: their scores fall from the lowest re-ranked one."""
    return [
        SearchHit(
            document=candidate.document,
            score=score,
            distance=None,
            reranked_rank=rank,
            first_stage_score=candidate.first_stage_score,
            first_stage_rank=candidate.first_stage_rank,
        )
        for rank, (candidate, score) in enumerate(
            zip(candidates, falling_scores(lowest, n_before, len(candidates)), strict=True), start=n_before + 1
        )
    ]


__all__ = ["FIRST_STAGES", "MAX_DEPTH", "METHODS", "SearchAnswer", "SearchHit", "SearchRequest", "Searcher"]
