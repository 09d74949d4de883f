"""Searches an index in two stages: the first stage fetches candidates, transport between words re-orders them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from reranker.base.errors import BadInput, NotFound, WrongParameter
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import preferred_languages
from reranker.ranking.corrections import CORRECTED_METHOD, NO_CORRECTION, Correction
from reranker.ranking.evidence import ScoreParts, check_first_stage_share
from reranker.ranking.explanation import PAIRS_PER_WORD, Explanation, explain
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.ranking.reranker import Observer, Query, Reranker
from reranker.ranking.scores import scores_behind, scores_by_rank
from reranker.ranking.word_places import with_places
from reranker.search.first_stage import DEFAULT_FIRST_STAGE, FIRST_STAGES, MAX_DEPTH, CandidateSearch, Window
from reranker.stores.base.protocol import Filters, Store, check_index_name, check_versions
from reranker.text.documents import Candidate, Document
from reranker.text.idf import IdfTable
from reranker.translation import Translator
from reranker.transport import METHODS, Parameters, check_method
from reranker.transport.cost_cache import CostCache

# OpenSearch's result window ends here.
MAX_WINDOW = 10_000

# How long an index's versions and idf are trusted before they are read again.
INDEX_CACHE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for, where, and how.

    Attributes:
        language: of the query; guessed where it is None.
        filters: of the documents, their languages among them.
        first_stage: `knn`; `bm25`, by the query's words as they are written; `translated`, BM25 by their translations
            in documents of other languages; `hybrid`, kNN and `translated`, which `auto` takes.
        depth: candidates that the first stage fetches and the second re-orders.
        method: of `transport.METHODS`; or `none` for the first stage's order.
        offset: hits to leave out at the top; with `size` it pages through the re-ranked window and on through the
            first stage's order, no hit twice.
        knn_weight: of kNN in the fusion of `hybrid`, 0 to 1; BM25 has the rest.
        feedback, first_stage_share: as `Reranker.rerank_bags`.
    """

    text: str
    index: str
    language: str | None = None
    filters: Filters = field(default_factory=Filters)
    first_stage: str = "auto"
    depth: int = 100
    method: str = "auto"
    parameters: Parameters = field(default_factory=Parameters)
    offset: int = 0
    size: int = 10
    knn_weight: float = 0.5
    feedback: bool = True
    first_stage_share: float | None = None

    def __post_init__(self) -> None:
        check_index_name(self.index)
        if self.first_stage not in FIRST_STAGES:
            raise WrongParameter(f"first stage {self.first_stage!r} is not known; use one of {', '.join(FIRST_STAGES)}")
        if self.method != "none":
            check_method(self.method)
        check_first_stage_share(self.first_stage_share)
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
        without_known_word: it was re-ranked, and no word of it has an embedding: transport says nothing for it.
        correction: what moved it besides its distance.
        parts: what its score is the sum of; None where the order goes by the distance alone, or behind the window.
    """

    document: Document
    score: float
    distance: float | None
    reranked_rank: int
    first_stage_score: float
    first_stage_rank: int
    without_known_word: bool = False
    correction: Correction = NO_CORRECTION
    parts: ScoreParts | None = None

    @property
    def order_distance(self) -> float | None:
        """The distance as the correction leaves it."""
        return None if self.distance is None else self.correction.order_distance(self.distance)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """A page of hits, and how it came to be.

    Attributes:
        hits: fewer than asked for also where documents were deleted while the search ran.
        n_candidates: how many the first stage brought.
        first_stage: what fetched them: `knn`, `bm25`, `translated` or `hybrid`.
        method: the method used; `none` where the first stage's order was
            asked for or is all there is.
        unknown_words: of the query.
        took_ms: of the first stage, of re-ranking, and in total, which adds reading the texts of the hits.
    """

    hits: tuple[SearchHit, ...]
    n_candidates: int
    language: str
    first_stage: str
    method: str
    precision: str
    n_converged: int
    has_feedback: bool
    unknown_words: tuple[str, ...]
    took_ms: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class _OpenedIndex:
    """What is known of an index, read at a time of the clock."""

    read_at: float
    reranker: Reranker
    languages: frozenset[str]
    translator: Translator
    idf_version: str


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
        self._opened: dict[str, _OpenedIndex] = {}

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Runs both stages.

        Raises:
            EmptyQuery, UnknownWords, UnknownLanguage, BadInput: the request is wrong.
            NotFound, NotOurIndex, VersionMismatch, StoreUnavailable: the index cannot be searched.
        """
        started = self._clock()
        reranker = self.reranker(request.index)
        request, query = self._resolved(reranker, request)
        first_stage = self._first_stage(query, request)
        window = first_stage.window(request.depth)
        if not window.candidates and not len(query.weighted):
            reranker.query(request.text, query.language)  # says that none of its words has an embedding
        rest = first_stage.behind(window, request.depth, request.offset + request.size)
        found = self._clock()
        reranking = self._rerank(reranker, query, window, request)
        behind = rest if reranking else window.candidates + rest
        reranked = self._clock()
        hits = self._page(request, _in_order(window, reranking, behind))
        done = self._clock()
        return SearchAnswer(
            hits=hits,
            n_candidates=len(window.candidates) + len(rest),
            language=query.language,
            first_stage=request.first_stage,
            method=reranking.method if reranking else "none",
            precision=reranking.precision if reranking else "none",
            n_converged=reranking.n_converged if reranking else 0,
            has_feedback=reranking.has_feedback if reranking else False,
            unknown_words=query.unknown_words,
            took_ms={
                "first_stage": round((found - started) * 1000, 3),
                "rerank": round((reranked - found) * 1000, 3),
                "total": round((done - started) * 1000, 3),
            },
        )

    def warm_up(self, request: SearchRequest) -> None:
        """Runs a search once, so that the next one finds embeddings, the index's figures and compiled code loaded. The
        costs that it computed are forgotten: the next search computes them too.

        Raises:
            as `search`.
        """
        self.search(request)
        self.cost_cache.clear()

    def explain(self, request: SearchRequest, doc_id: str, pairs_per_word: int = PAIRS_PER_WORD) -> Explanation:
        """Takes the score of one document for a search apart: its evidence, and the transport word by word.

        The search is run again, since evidence is scaled over its candidates; a document that is none of them is scored
        among them, with nothing from the first stage.
        """
        reranker = self.reranker(request.index)
        request, query = self._resolved(reranker, request)
        if not len(query.weighted):
            reranker.query(request.text, request.language)  # raises what is wrong with it
        encoded = self.store.fetch(request.index, doc_id)
        document = encoded.document
        weighted = reranker.idf.weigh(encoded.bag, document.language)
        explained = explain(
            query.weighted, weighted, self.embeddings, request.method, request.parameters, pairs_per_word
        )
        explained = replace(with_places(explained, document, self.embeddings), unknown_words=query.unknown_words)
        if request.method != CORRECTED_METHOD:
            return explained
        window = self._first_stage(query, request).window(request.depth).with_document(encoded)
        reranking = self._rerank(reranker, query, window, request)
        assert reranking is not None  # noqa: S101 - it is by auto, and the query has a known word
        place = next(i for i, each in enumerate(window.candidates) if each.doc_id == doc_id)
        ranked = next(each for each in reranking.documents if each.index == place)
        translations = tuple(window.groups.get(document.language, ()))
        return replace(explained, correction=ranked.correction, parts=ranked.parts, translations=translations)

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
                f"{self.store.address} holds no index that Sinkrank made; make one with "
                f"`sinkrank ingest FILE --index NAME --store {self.store.address}`"
            )
        raise BadInput(
            f"{self.store.address} holds several indices ({', '.join(names)}); name one of them: --index NAME, or the "
            "key index of a request"
        )

    def reranker(self, index: str) -> Reranker:
        """A reranker with the index's idf, its versions checked; languages that the index has no documents of take the
        idf of the embeddings' training texts. It is read again after a while."""
        return self._open(index).reranker

    def languages(self, index: str) -> frozenset[str]:
        """Those that the index has documents in."""
        return self._open(index).languages

    def _open(self, index: str) -> _OpenedIndex:
        check_index_name(index)
        now = self._clock()
        with self._lock:
            opened = self._opened.get(index)
        if opened is None or now - opened.read_at > INDEX_CACHE_SECONDS:
            check_versions(index, self.store.describe(index), self.embeddings, self.store.address)
            own_idf = self.store.idf(index)
            idf = IdfTable({**self.embeddings.idf.languages, **own_idf.languages})
            hubness = self.store.hubness_sample(index)
            languages = self.store.languages(index)
            preferred = preferred_languages(self.embeddings, self._query_language, languages)
            reranker = Reranker(
                self.embeddings, idf, self.n_threads, hubness, self.cost_cache, self._observer, preferred
            )
            version = own_idf.version
            if opened is not None and opened.idf_version == version:
                translator = opened.translator  # with the words that it has translated
            else:
                translator = Translator(self.embeddings, own_idf)
            opened = _OpenedIndex(now, reranker, frozenset(languages), translator, version)
            with self._lock:
                self._opened[index] = opened
        return opened

    def _resolved(self, reranker: Reranker, request: SearchRequest) -> tuple[SearchRequest, Query]:
        """The request with `auto` replaced by a first stage, and its query, read."""
        if request.first_stage == "knn":
            return request, reranker.query(request.text, request.language)
        # BM25 finds words that have no embedding too (names, identifiers); there is nothing to re-rank by, then.
        query = reranker.query_with_unknown_words(request.text, request.language)
        if request.first_stage == "auto":
            request = replace(request, first_stage=DEFAULT_FIRST_STAGE)
        return request, query

    def _first_stage(self, query: Query, request: SearchRequest) -> CandidateSearch:
        opened = self._open(request.index)
        wanted = request.filters.languages
        return CandidateSearch(
            self.store,
            self.embeddings,
            request.index,
            query,
            request.first_stage,
            request.filters,
            request.knn_weight,
            opened.translator,
            opened.languages.intersection(wanted) if wanted else opened.languages,
        )

    def _page(
        self, request: SearchRequest, in_order: list[tuple[Candidate, RankedDocument | None]]
    ) -> tuple[SearchHit, ...]:
        """The hits of the page that was asked for, with their documents. One that was deleted since the first stage
        found it is left out."""
        page = slice(request.offset, request.offset + request.size)
        documents = self.store.documents(request.index, [candidate.doc_id for candidate, _ in in_order[page]])
        is_reranked = bool(in_order) and in_order[0][1] is not None
        hits = []
        for rank, (candidate, ranked) in enumerate(in_order[page], start=request.offset + 1):
            document = documents.get(candidate.doc_id)
            if document is None:
                continue
            if ranked is not None:
                hits.append(_reranked_hit(document, candidate, ranked))
            else:
                (score,) = scores_behind(request.depth, rank, 1) if is_reranked else scores_by_rank(rank, 1)
                hits.append(_hit_by_rank(document, candidate, rank, score))
        return tuple(hits)

    def _rerank(self, reranker: Reranker, query: Query, window: Window, request: SearchRequest) -> Reranking | None:
        if request.method == "none" or not len(query.weighted):
            return None
        lexical = window.lexical_scores(query.language)
        return reranker.rerank_bags(
            query,
            [(candidate.bag, candidate.language) for candidate in window.candidates],
            request.method,
            request.parameters,
            np.array([candidate.first_stage_rank for candidate in window.candidates], dtype=np.int64),
            first_stage_scores=None if lexical is None else lexical.values,
            translated=None if lexical is None else lexical.translated,
            exact=window.exact_titles(query.text),
            feedback=request.feedback,
            first_stage_share=request.first_stage_share,
        )


def _in_order(
    window: Window, reranking: Reranking | None, behind: list[Candidate]
) -> list[tuple[Candidate, RankedDocument | None]]:
    """All candidates in the order of the answer, the re-ranked ones with what re-ranking says of them."""
    ranked = reranking.documents if reranking else ()
    first = [(window.candidates[document.index], document) for document in ranked]
    return [*first, *((candidate, None) for candidate in behind)]


def _reranked_hit(document: Document, candidate: Candidate, ranked: RankedDocument) -> SearchHit:
    return SearchHit(
        document=document,
        score=ranked.score,
        distance=None if ranked.without_known_word else ranked.distance,
        reranked_rank=ranked.reranked_rank,
        first_stage_score=candidate.first_stage_score,
        first_stage_rank=candidate.first_stage_rank,
        without_known_word=ranked.without_known_word,
        correction=ranked.correction,
        parts=ranked.parts,
    )


def _hit_by_rank(document: Document, candidate: Candidate, rank: int, score: float) -> SearchHit:
    """A hit that was not re-ranked: its score falls with its rank."""
    return SearchHit(
        document=document,
        score=score,
        distance=None,
        reranked_rank=rank,
        first_stage_score=candidate.first_stage_score,
        first_stage_rank=candidate.first_stage_rank,
    )


__all__ = ["FIRST_STAGES", "MAX_DEPTH", "METHODS", "SearchAnswer", "SearchHit", "SearchRequest", "Searcher"]
