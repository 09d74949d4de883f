"""The first stage of a search: fetches candidates by kNN, by BM25 and by translations of the query's words, and joins
what they find."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.ranking.query import Query
from reranker.search.fusion import reciprocal_rank_fusion
from reranker.search.opened_indices import OpenedIndex
from reranker.search.request import MAX_DEPTH, SearchRequest
from reranker.stores.base.filters import Filters
from reranker.text.documents import Candidate, EncodedDocument
from reranker.text.exact_text import exact_key
from reranker.translation import WordGroup


@dataclass(frozen=True, slots=True, eq=False)
class CandidateWindow:
    """The candidates of a first stage.

    Attributes:
        bm25: scores by document id, of the documents that BM25 found by the query's words as they are written.
        depth: hits that BM25 was asked for.
        translated: scores by document id, of the documents that BM25 found by translations of the query's words.
        groups: these translations, by the documents' language.
    """

    candidates: list[Candidate]
    bm25: Mapping[str, float]
    depth: int
    translated: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, Sequence[WordGroup]] = field(default_factory=dict)

    def lexical_scores(self, language: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
        """BM25 of each candidate (n,), NaN where it says nothing, and whether it is BM25 by translations (n,).

        One that it did not find has the lowest score of those that it did, or 0 where it found all that share a word
        with the query or its translations. BM25 by the query's own words says nothing of documents in other languages.
        None where nothing is said of any candidate.

        The cosine of kNN is no evidence of its own: it is the `nbow` part of `auto`.
        """
        translated = np.array([candidate.language in self.groups for candidate in self.candidates], dtype=bool)
        as_written = np.array([candidate.language == language for candidate in self.candidates], dtype=bool)
        values = np.full(len(self.candidates), np.nan)
        for scores, is_meant in (
            (self.bm25, as_written & ~translated),
            (self.translated, translated),
        ):
            if scores:
                lowest = min(scores.values()) if len(scores) >= self.depth else 0.0
                for place in np.flatnonzero(is_meant).tolist():
                    values[place] = scores.get(self.candidates[place].doc_id, lowest)
        return None if np.isnan(values).all() else (values, translated & ~np.isnan(values))

    def exact_titles(self, text: str) -> NDArray[np.bool_]:
        """Of which candidates the title is the query, word for word (n,)."""
        key = exact_key(text)
        return np.array([key is not None and each.title_key == key for each in self.candidates], dtype=bool)

    def with_document(self, encoded: EncodedDocument) -> CandidateWindow:
        """The same with one more candidate, the last, where it is not among them."""
        document = encoded.document
        if any(candidate.doc_id == document.doc_id for candidate in self.candidates):
            return self
        added = Candidate(
            document.doc_id, document.language, encoded.bag, 0.0, len(self.candidates) + 1, exact_key(document.title)
        )
        return replace(self, candidates=[*self.candidates, added])


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSearch:
    """A query to an index: fetches candidates for it.

    Attributes:
        request: whose first stage is not `auto`.
    """

    index: OpenedIndex
    embeddings: Embeddings
    query: Query
    request: SearchRequest

    def window(self, depth: int) -> CandidateWindow:
        """The first `depth` candidates; of a fusion also all others that BM25 found, so that it finds no less than
        BM25 alone."""
        runs: list[list[Candidate]] = []
        weights: list[float] = []
        request, reader = self.request, self.index.reader
        vector = self._query_vector() if request.first_stage in ("knn", "hybrid") else None
        if vector is not None:
            runs.append(reader.knn(vector, depth, request.filters, request.rights))
            weights.append(2 * request.knn_weight)  # both count 1 by default
        bm25: dict[str, float] = {}
        translated: dict[str, float] = {}
        groups: dict[str, tuple[WordGroup, ...]] = {}
        # A query whose embeddings cancel out has no direction to search in; its words can still be found.
        if request.first_stage != "knn" or vector is None:
            groups = self._groups()
            if (as_written := self._searched_as_written(groups)) is not None:
                runs.append(reader.bm25(self.query.text, depth, as_written, request.rights))
                bm25 = _scores(runs[-1])
            if groups:
                runs.append(reader.translated(groups, depth, request.filters, request.rights))
                translated = _scores(runs[-1])
            weights += [2 * (1 - request.knn_weight)] * (len(runs) - len(weights))
        if len(runs) == 1:  # what is all there is counts, whatever its weight
            found = runs[0]
        else:
            found = reciprocal_rank_fusion(runs, depth, weights if vector is not None else None, also=bm25)
        return CandidateWindow(found, bm25, depth, translated, groups)

    def _query_vector(self) -> NDArray[np.float32] | None:
        """What kNN compares with the documents' nBOW embeddings; None where nothing points anywhere."""
        if not len(self.query.weighted):  # an encoder gives any text a direction, also one without a known word
            return None
        encoding = self.query.encoding
        encoded = None if encoding is None else encoding().result()
        return self.embeddings.nbow(self.query.weighted) if encoded is None else encoded

    def _groups(self) -> dict[str, tuple[WordGroup, ...]]:
        """The translations of the query's words into the languages of documents that the embeddings hold."""
        if self.request.first_stage == "bm25":
            return {}
        others = self._languages & set(self.embeddings.languages) - {self.query.language}
        return {language: self.index.translator.groups(self.query, language) for language in sorted(others)}

    @property
    def _languages(self) -> frozenset[str]:
        """Of the documents that the filters leave."""
        return self.index.languages.intersection(self.request.filters.languages or self.index.languages)

    def _searched_as_written(self, translated: Collection[str]) -> Filters | None:
        """The documents that BM25 searches by the query's own words: those in its language, and in languages that it
        cannot be translated to. None where there are none."""
        if not translated:
            return self.request.filters
        languages = tuple(sorted(self._languages.difference(translated)))
        return replace(self.request.filters, languages=languages) if languages else None

    def rank_of(self, doc_id: str, window: CandidateWindow) -> int | None:
        """The rank of a document, in the window or behind it; None where it is not found."""
        in_window = (one.first_stage_rank for one in window.candidates if one.doc_id == doc_id)
        rank = next(in_window, None)
        if rank is not None:
            return rank
        behind = self.behind(window, MAX_DEPTH)
        return next((one.first_stage_rank for one in behind if one.doc_id == doc_id), None)

    def behind(self, window: CandidateWindow, n_asked: int) -> list[Candidate]:
        """The candidates after the window, ranked on from it, for a page that ends behind it; none for other pages.

        Args:
            n_asked: where the page ends, from the top of the window.
        """
        n_before = len(window.candidates)
        if n_asked <= n_before or n_before < self.request.depth:
            return []
        # A fusion changes with the depth of its runs, and what an engine's graph of vectors finds with the depth of the
        # walk: where it is the same for all pages, they agree.
        n_steps = 1 if self.request.first_stage in ("translated", "hybrid") else -(-n_asked // MAX_DEPTH)
        seen = {candidate.doc_id for candidate in window.candidates}
        found = self.window(n_steps * MAX_DEPTH).candidates
        behind = [candidate for candidate in found if candidate.doc_id not in seen]
        return [replace(candidate, first_stage_rank=rank) for rank, candidate in enumerate(behind, start=n_before + 1)]


def _scores(run: Sequence[Candidate]) -> dict[str, float]:
    return {candidate.doc_id: candidate.first_stage_score for candidate in run}
