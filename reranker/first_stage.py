"""The first stage of a search: chooses how to fetch candidates, fetches them, and joins what kNN and BM25 find."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reranker.documents import Candidate, EncodedDocument
from reranker.embeddings import Embeddings
from reranker.exact_text import exact_key
from reranker.fusion import reciprocal_rank_fusion
from reranker.reranking import Query
from reranker.stores.protocol import Filters, Store

FirstStage = Literal["auto", "knn", "bm25", "hybrid"]
FIRST_STAGES: tuple[str, ...] = get_args(FirstStage)

# The paper's lists have 1,000 candidates at most.
MAX_DEPTH = 1_000


def choose_first_stage(query: Query, languages: Collection[str]) -> str:
    """What `auto` takes: `hybrid` where documents may be in the query's language, else `knn`.

    Args:
        languages: of the documents.
    """
    # A query of unknown words alone has no direction to search in.
    return "hybrid" if query.language in languages or not len(query.weighted) else "knn"


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The candidates of a first stage.

    Attributes:
        bm25: scores by document id, of the documents that BM25 found.
        depth: hits that BM25 was asked for.
    """

    candidates: list[Candidate]
    bm25: Mapping[str, float]
    depth: int

    def lexical_scores(self, language: str) -> NDArray[np.float64] | None:
        """BM25 of each candidate (n,). One that BM25 did not find has the lowest score of those that it did, or 0 where
        it found all that share a word with the query. One in another language than the query's has NaN: BM25 says
        nothing of it. None where it says nothing of any.

        The cosine of kNN is no evidence of its own: it is the `nbow` part of `auto`.
        """
        if not self.bm25:
            return None
        lowest = min(self.bm25.values()) if len(self.bm25) >= self.depth else 0.0
        scores = np.array(
            [
                self.bm25.get(candidate.doc_id, lowest) if candidate.language == language else np.nan
                for candidate in self.candidates
            ]
        )
        return None if np.isnan(scores).all() else scores

    def exact_titles(self, text: str) -> NDArray[np.bool_]:
        """Of which candidates the title is the query, word for word (n,)."""
        key = exact_key(text)
        return np.array([key is not None and exact_key(each.title) == key for each in self.candidates], dtype=bool)

    def with_document(self, encoded: EncodedDocument) -> Window:
        """The same with one more candidate, the last, where it is not among them."""
        document = encoded.document
        if any(candidate.doc_id == document.doc_id for candidate in self.candidates):
            return self
        added = Candidate(
            document.doc_id, document.language, encoded.bag, 0.0, len(self.candidates) + 1, document.title
        )
        return Window([*self.candidates, added], self.bm25, self.depth)


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSearch:
    """A query to an index: fetches candidates for it.

    Attributes:
        first_stage: `knn`, `bm25` or `hybrid`.
        knn_weight: of kNN in the fusion of `hybrid`, 0 to 1; BM25 has the rest.
    """

    store: Store
    embeddings: Embeddings
    index: str
    query: Query
    first_stage: str
    filters: Filters
    knn_weight: float

    def window(self, depth: int) -> Window:
        """The first `depth` candidates."""
        runs = []
        vector = self.embeddings.nbow(self.query.weighted) if self.first_stage != "bm25" else None
        if vector is not None:
            runs.append(self.store.knn(self.index, vector, depth, self.filters))
        bm25: dict[str, float] = {}
        # A query whose embeddings cancel out has no direction to search in; its words can still be found.
        if self.first_stage != "knn" or vector is None:
            runs.append(self.store.bm25(self.index, self.query.text, depth, self.filters))
            bm25 = {candidate.doc_id: candidate.first_stage_score for candidate in runs[-1]}
        if self.first_stage == "hybrid":
            # Where the query has no vector, BM25 is all there is. Both count 1 by default.
            weights = [2 * self.knn_weight, 2 * (1 - self.knn_weight)] if len(runs) == 2 else None
            return Window(reciprocal_rank_fusion(runs, depth, weights), bm25, depth)
        return Window(runs[0], bm25, depth)

    def behind(self, window: Window, depth: int, n_wanted: int) -> list[Candidate]:
        """The candidates after the window, ranked on from it, for a page that ends behind it; none for other pages.

        Args:
            depth: that the window was fetched with.
            n_wanted: where the page ends, from the top of the window.
        """
        n_before = len(window.candidates)
        if n_wanted <= depth or n_before < depth:
            return []
        # A fusion changes with the depth of its runs, and what an engine's graph of vectors finds with the depth of the
        # walk: where it is the same for all pages, they agree.
        n_steps = 1 if self.first_stage == "hybrid" else -(-n_wanted // MAX_DEPTH)
        seen = {candidate.doc_id for candidate in window.candidates}
        found = self.window(n_steps * MAX_DEPTH).candidates
        behind = [candidate for candidate in found if candidate.doc_id not in seen]
        return [replace(candidate, first_stage_rank=rank) for rank, candidate in enumerate(behind, start=n_before + 1)]
