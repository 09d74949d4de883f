"""Searches an index in two stages: the first stage fetches candidates, transport between words re-orders them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from reranker.answers.explanation import ExplainAnswer
from reranker.answers.search import Hit, SearchAnswer
from reranker.base.errors import BadInput, NoSuchIndex, NotFound, WrongParameter
from reranker.embeddings import Embeddings
from reranker.ranking.corrections import start_encoding
from reranker.ranking.query import Query
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.ranking.reranker import Observer, Reranker
from reranker.ranking.scores import scores_behind, scores_by_rank
from reranker.search.answers import explain_answer, hit_by_rank, reranked_hit, search_answer
from reranker.search.first_stage import CandidateSearch, CandidateWindow
from reranker.search.opened_indices import OpenedIndex, OpenedIndices
from reranker.search.request import DEFAULT_FIRST_STAGE, SearchRequest
from reranker.stores.base.cures import ingest_command
from reranker.stores.base.names import check_index_name
from reranker.stores.base.protocol import IndexReader, Store
from reranker.text.documents import Candidate, Document
from reranker.transport import check_method

# Read of a page whose bytes are limited: fewer would cost more calls, more would go further beyond the limit.
_DOCUMENTS_AT_A_TIME = 250

_Answer = TypeVar("_Answer")


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
        self._clock = clock
        self._indices = OpenedIndices(store, embeddings, n_threads, clock, observer, query_language)

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Runs both stages.

        Raises:
            EmptyQuery, UnknownWords, UnknownLanguage, BadInput: the request is wrong.
            WrongParameter: the documents of the page are larger than the request allows.
            NotFound, NotOurIndex, VersionMismatch, StoreUnavailable: the index cannot be searched.
        """
        started = self._clock()
        return self._with_index(request.index, lambda opened: self._search(opened, request, started))

    def _search(self, opened: OpenedIndex, request: SearchRequest, started: float) -> SearchAnswer:
        reranker = opened.reranker
        request, query = self._resolved(reranker, request)
        first_stage = CandidateSearch(opened, self.embeddings, query, request)
        window = first_stage.window(request.depth)
        if not window.candidates and not len(query.weighted):
            reranker.query(request.text, query.language)  # says that none of its words has an embedding
        rest = []
        if not request.min_relevance:
            rest = first_stage.behind(window, request.offset + request.size)
        found = self._clock()
        reranking = self._rerank(reranker, query, window, request)
        if reranking is not None:
            reranking = reranking.cut(request.min_relevance)
        behind = rest if reranking else window.candidates + rest
        reranked = self._clock()
        hits = self._page(opened, request, _in_order(window, reranking, behind))
        done = self._clock()
        took_ms = {
            "first_stage": round((found - started) * 1000, 3),
            "rerank": round((reranked - found) * 1000, 3),
            "total": round((done - started) * 1000, 3),
        }
        return search_answer(request, query, hits, len(window.candidates) + len(rest), reranking, took_ms)

    def explain(self, request: SearchRequest, doc_id: str) -> ExplainAnswer:
        """Takes the score of one document for a search apart: its evidence, and the transport word by word.

        The search is run again, since evidence is scaled over its candidates; a document that is none of them is scored
        among them, with nothing from the first stage, and `standing` says where it fell.

        Raises:
            WrongParameter: the method is `none`.
        """
        check_method(request.method)
        return self._with_index(request.index, lambda opened: self._explain(opened, request, doc_id))

    def _explain(self, opened: OpenedIndex, request: SearchRequest, doc_id: str) -> ExplainAnswer:
        reranker = opened.reranker
        request, query = self._resolved(reranker, request)
        if not len(query.weighted):
            reranker.query(request.text, request.language)  # raises what is wrong with it
        encoded = opened.reader.fetch(doc_id, request.rights)
        document = encoded.document
        first_stage = CandidateSearch(opened, self.embeddings, query, request)
        found = first_stage.window(request.depth)
        first_stage_rank = first_stage.rank_of(doc_id, found)
        window = found.with_document(encoded)
        reranking = self._rerank(reranker, query, window, request)
        assert reranking is not None  # noqa: S101 - there is a method, and the query has a known word
        doc_ids = [each.doc_id for each in window.candidates]
        return explain_answer(
            request.index,
            query,
            document,
            reranking,
            doc_ids.index(doc_id),
            first_stage_rank,
            window is found,
            request.parameters,
            doc_ids.__getitem__,
            window.groups.get(document.language, ()),
        )

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
                f"{ingest_command(self.store.address)}"
            )
        raise BadInput(
            f"{self.store.address} holds several indices ({', '.join(names)}); name one of them: --index NAME, or the "
            "key index of a request"
        )

    def open(self, index: str) -> OpenedIndex:
        """The index with what a search needs of it, read again after 30 s."""
        return self._indices.open(index)

    def _with_index(self, index: str, use: Callable[[OpenedIndex], _Answer]) -> _Answer:
        opened = self.open(index)
        try:
            return use(opened)
        except NoSuchIndex:  # an engine's version that was opened was replaced meanwhile, and deleted
            self._indices.forget(index)
            return use(self.open(index))

    def _resolved(self, reranker: Reranker, request: SearchRequest) -> tuple[SearchRequest, Query]:
        """The request with `auto` replaced by a first stage, and its query, read."""
        if request.first_stage == "knn":
            return request, reranker.query(request.text, request.language)
        # BM25 finds words that have no embedding too (names, identifiers); there is nothing to re-rank by, then.
        query = reranker.query_with_unknown_words(request.text, request.language)
        start_encoding(query, request.method)
        if request.first_stage == "auto":
            request = replace(request, first_stage=DEFAULT_FIRST_STAGE)
        return request, query

    def _page(
        self, opened: OpenedIndex, request: SearchRequest, in_order: list[tuple[Candidate, RankedDocument | None]]
    ) -> list[Hit]:
        """The hits of the page that was asked for, with their documents. One that was deleted since the first stage
        found it is left out."""
        page = slice(request.offset, request.offset + request.size)
        doc_ids = [candidate.doc_id for candidate, _ in in_order[page]]
        documents = _read_documents(opened.reader, doc_ids, request)
        is_reranked = bool(in_order) and in_order[0][1] is not None
        hits = []
        for rank, (candidate, ranked) in enumerate(in_order[page], start=request.offset + 1):
            document = documents.get(candidate.doc_id)
            if document is None:
                continue
            if ranked is not None:
                hits.append(reranked_hit(document, candidate, ranked, request.min_relevance is not None))
            else:
                (score,) = scores_behind(request.depth, rank, 1) if is_reranked else scores_by_rank(rank, 1)
                hits.append(hit_by_rank(document, candidate, rank, score))
        return hits

    def _rerank(
        self, reranker: Reranker, query: Query, window: CandidateWindow, request: SearchRequest
    ) -> Reranking | None:
        if request.method == "none" or not len(query.weighted):
            return None
        scores, translated = window.lexical_scores(query.language) or (None, None)
        return reranker.rerank_bags(
            query,
            [(candidate.bag, candidate.language) for candidate in window.candidates],
            request.method,
            request.parameters,
            first_stage_scores=scores,
            translated=translated,
            exact=window.exact_titles(query.text),
            feedback=request.feedback,
            first_stage_share=request.first_stage_share,
        )


def _read_documents(reader: IndexReader, doc_ids: Sequence[str], request: SearchRequest) -> dict[str, Document]:
    """Documents by id.

    Raises:
        WrongParameter: they are larger than the request allows.
    """
    if request.max_bytes is None:
        return reader.documents(doc_ids, request.rights)
    found: dict[str, Document] = {}
    n_bytes = 0
    for start in range(0, len(doc_ids), _DOCUMENTS_AT_A_TIME):
        read = reader.documents(doc_ids[start : start + _DOCUMENTS_AT_A_TIME], request.rights)
        for document in read.values():
            n_bytes += len(document.full_text.encode("utf-8", "surrogatepass"))
            n_bytes += len(json.dumps(dict(document.metadata)))
        if n_bytes > request.max_bytes:
            raise WrongParameter(
                f"the documents of this page have more than {request.max_bytes:,} bytes; give a smaller size, and read "
                "the rest page by page"
            )
        found |= read
    return found


def _in_order(
    window: CandidateWindow, reranking: Reranking | None, behind: list[Candidate]
) -> list[tuple[Candidate, RankedDocument | None]]:
    """All candidates in the order of the answer, the re-ranked ones with what re-ranking says of them."""
    ranked = reranking.documents if reranking else ()
    first = [(window.candidates[document.index], document) for document in ranked]
    return [*first, *((candidate, None) for candidate in behind)]
