"""The sides of the table: how each ranks the queries of a collection, and its cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from ingest.progress import Progress
from papers.base.machine import cpu_name
from papers.base.stopwatch import Stopwatch
from papers.judged.collection import IndexedCollection
from papers.judged.comparators import Candidates, Cost, bm25_scores, encoder_scores, mixed_with_bm25, rank_by_scores
from papers.judged.encoders import ENCODERS
from papers.judged.indexing import INDEX
from papers.systems.bags_l1 import BagsL1
from papers.systems.rm3 import Rm3
from papers.table.results import EQUAL, KEPT, SideResult
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings
from reranker.stores.embedded.terms import bm25_terms
from sinkrank.evaluation.comparison import Run, Way, measures_of
from sinkrank.evaluation.judgments import JudgedQuery

SHARES = tuple(f"{step / 20:.2f}" for step in range(21))
"""The shares that are tried for a side's own score, or for RM3's expansion; BM25 has the rest."""

PREPARED: Final = "prepared"
GLOVE: Final = "glove"


class Opened:
    """A collection in an index, and what its sides share.

    Args:
        settings: those of `found`, with the first stage BM25.
        prepare_ms: CPU time of `prepare` for each document; None if it is not known.
    """

    def __init__(
        self, found: IndexedCollection, settings: Settings, prepare_ms: float | None, progress: Progress
    ) -> None:
        self.found, self.settings, self.prepare_ms, self.progress = found, settings, prepare_ms, progress

    @cached_property
    def language(self) -> str:
        return self.found.languages[1]

    @cached_property
    def bm25(self) -> tuple[Run, float]:
        """The first stage's own order, and its CPU time (ms) a query."""
        return self.searched("none")

    @cached_property
    def candidates(self) -> Candidates:
        """BM25's best documents of each query, with texts and scores."""
        ranking = self.bm25[0].ranking
        texts = self.found.collection.texts({doc for docs in ranking.values() for doc in docs}, self.language)
        queries = self.found.queries
        scores, _ = bm25_scores(self.found.searcher.store, INDEX, queries, self.settings.depth, self.progress)
        return Candidates(queries, ranking, texts, scores)

    @cached_property
    def terms(self) -> tuple[dict[str, list[str]], float]:
        """The terms of all documents by id, as BM25 sees them, and their CPU time (ms) a document."""
        watch = Stopwatch()
        found: dict[str, list[str]] = {}
        for document in self.found.collection.documents(self.language):
            with watch.running():
                found.setdefault(document.doc_id, bm25_terms(document.full_text, self.language))
        return found, 1000 * watch.seconds / len(found)

    def terms_of(self, query: JudgedQuery) -> list[str]:
        return bm25_terms(query.text, query.language or self.language)

    @cached_property
    def rm3(self) -> tuple[Rm3, float]:
        """The index of all terms, and the CPU time (ms) of a document, its terms included."""
        documents, document_ms = self.terms
        watch = Stopwatch()
        with watch.running():
            made = Rm3(list(documents.values()))
        return made, document_ms + 1000 * watch.seconds / len(documents)

    def searched(self, method: str) -> tuple[Run, float]:
        """Searches with all queries by a method. Returns the CPU time (ms) of a query too."""
        queries = self.found.queries
        # A searcher of its own keeps nothing from other sides. Models are loaded by a search before.
        searcher = Searcher(self.found.searcher.store, self.found.searcher.embeddings, self.settings.n_threads)
        searcher.open(INDEX)
        asked = IndexedCollection(self.found.collection, self.found.languages, queries, self.found.index, searcher)
        asked.run(self.settings, method, queries[-1:], self.progress)
        watch = Stopwatch()
        with watch.running():
            run = asked.run(self.settings, method, queries, self.progress)
        return run, 1000 * watch.seconds / len(queries)


Measured = tuple[Mapping[str, Run], Cost]
"""The run of each share, and the cost."""


@dataclass(frozen=True)
class Side:
    """A row of the table.

    Attributes:
        embeddings: whose index it searches; sides without embeddings take that of `prepare`'s.
        is_prepared: whether `prepare`'s embeddings make its order.
        languages: in which it is measured: MiniLM and GloVe know English only, and e5 stands in for MiniLM elsewhere.
    """

    label: str
    measure: Callable[[Opened], Measured]
    embeddings: Literal["prepared", "glove"] = PREPARED
    is_prepared: bool = False
    languages: Literal["all", "en", "others"] = "all"

    def takes(self, language: str) -> bool:
        """Whether it is measured in this language."""
        return self.languages == "all" or (self.languages == "en") == (language == "en")


def _bm25(opened: Opened) -> Measured:
    run, query_ms = opened.bm25
    return {EQUAL: run}, Cost(query_ms, opened.rm3[1])


def _by_rm3(opened: Opened) -> Measured:
    """Searches all documents again with an expanded query, by an index of its own, which is not as costly as the
    store's; so the CPU time is that of BM25's search, and of all of this."""
    (rm3, document_ms), queries, depth = opened.rm3, opened.found.queries, opened.settings.depth
    doc_ids = list(opened.terms[0])
    rankings: dict[str, dict[str, tuple[str, ...]]] = {share: {} for share in SHARES}
    watch = Stopwatch()
    for query in queries:
        with watch.running():
            asked, expanded = rm3.scores(opened.terms_of(query))
        for share in SHARES:
            scores = (1 - float(share)) * asked + float(share) * expanded
            best = np.argsort(-scores, kind="stable")[:depth]
            rankings[share][query.query_id] = tuple(doc_ids[row] for row in best if scores[row] > 0)
    runs = {share: Run(Way("rm3", "rm3"), found, measures_of(queries, found)) for share, found in rankings.items()}
    return runs, Cost(opened.bm25[1] + 1000 * watch.seconds / len(queries), document_ms)


def _bags(is_idf: bool) -> Callable[[Opened], Measured]:
    def measure(opened: Opened) -> Measured:
        documents, terms_ms = opened.terms
        making, comparing = Stopwatch(), Stopwatch()
        with comparing.running():
            asked = {each.query_id: opened.terms_of(each) for each in opened.found.queries}
        with making.running():
            bags = BagsL1(list(documents.values()), list(asked.values()), is_idf)
        rows = {doc_id: row for row, doc_id in enumerate(documents)}
        scores: dict[str, NDArray[np.float64]] = {}
        for query_id, docs in opened.candidates.ranking.items():
            with comparing.running():
                scores[query_id] = -bags.distances(asked[query_id], np.array([rows[doc] for doc in docs], np.intp))
        run = rank_by_scores("bags", opened.candidates, scores)
        query_ms = opened.bm25[1] + 1000 * comparing.seconds / len(asked)
        return {EQUAL: run}, Cost(query_ms, terms_ms + 1000 * making.seconds / len(documents))

    return measure


def _encoder(name: str) -> Callable[[Opened], Measured]:
    def measure(opened: Opened) -> Measured:
        folder, candidates = opened.settings.home / "evaluation", opened.candidates
        encoder = ENCODERS[name](folder / "models", opened.settings.n_threads)
        scores, cost = encoder_scores(name, encoder, candidates, folder, opened.progress)
        runs = {share: mixed_with_bm25(name, candidates, scores, float(share)) for share in SHARES}
        return runs, Cost(opened.bm25[1] + (cost.query_ms or 0.0), cost.document_ms)

    return measure


def _method(method: str) -> Callable[[Opened], Measured]:
    def measure(opened: Opened) -> Measured:
        run, query_ms = opened.searched(method)
        return {EQUAL: run}, Cost(query_ms, opened.found.index.document_ms)

    return measure


SIDES: Mapping[str, Side] = MappingProxyType(
    {
        "bm25": Side("BM25", _bm25),
        "rm3": Side("BM25 with RM3", _by_rm3),
        "bags": Side("bags of words, L1", _bags(is_idf=False)),
        "tfidf": Side("tf·idf, L1", _bags(is_idf=True)),
        "wordllama": Side("wordllama + BM25", _encoder("wordllama"), languages="en"),
        "minilm": Side("MiniLM of documents + BM25", _encoder("minilm"), languages="en"),
        "e5": Side("e5-small of documents + BM25", _encoder("e5-small"), languages="others"),
        "transport": Side("transport alone, `prepare`", _method("sinkhorn"), is_prepared=True),
        "ours": Side("Sinkrank, `prepare`", _method("auto"), is_prepared=True),
        "glove-transport": Side("transport alone, GloVe", _method("sinkhorn"), GLOVE, languages="en"),
        "glove": Side("Sinkrank, GloVe", _method("auto"), GLOVE, languages="en"),
    }
)
"""By name, in the order of the table. The first is the baseline."""


def measured(opened: Opened, side: str) -> SideResult:
    """Measures a side."""
    runs, cost = SIDES[side].measure(opened)
    return SideResult(
        opened.found.collection.name,
        side,
        opened.language,
        opened.found.index.n_documents,
        {share: {name: run.values[name] for name in KEPT} for share, run in runs.items()},
        cost.query_ms,
        cost.document_ms,
        cpu_name(),
        opened.prepare_ms if SIDES[side].is_prepared else None,
    )
