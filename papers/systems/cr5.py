"""Cr5: reduced-rank ridge regression from words to concepts, which puts texts in several languages into one space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import SYSTEM_TOKENS, Task
from papers.systems.protocol import Matrix, TimedSystem
from papers.systems.term_counts import idf, scaled, term_counts, vocabulary
from reranker.base.errors import BadInput
from reranker.text.tokens import letter_tokens
from sinkrank.demo.pages import CorpusPage

# The number of dimensions of the word embeddings. The ridge is the best of 0.3, 1 and 3 on development pages (mean MRR
# of en-fr and fi-en, 20 words and whole pages: 0.910, 0.921, 0.912).
RANK = 300
RIDGE = 1.0


@dataclass(frozen=True, eq=False)
class LanguageSpace:
    """The vocabulary and embeddings of one language.

    Attributes:
        columns: the column of each word.
        idf: (n_words,), log((N + 1) / (df + 1)).
        embeddings: (n_words, rank); zeros before the regression.
    """

    columns: Mapping[str, int]
    idf: Matrix
    embeddings: Matrix

    def weights(self, texts: Iterable[Sequence[str]]) -> csr_array:
        """(n_texts, n_words), tf·idf vectors of length 1."""
        return normalize(scaled(term_counts(texts, self.columns), self.idf))


class Cr5(TimedSystem[Matrix]):
    """Josifoski et al. 2019, as compared by Zosa et al. 2020. A page id is a concept, and its language versions are the
    documents of that concept. The distance is 1 - cosine; +inf if one of the two has no word of the training pages.

    Args:
        rank: number of dimensions.
    """

    name = "cr5"

    def __init__(self, rank: int = RANK) -> None:
        self._rank = rank
        self._spaces: dict[str, LanguageSpace] = {}
        self.description = (
            f"Cr5: reduced-rank ridge regression of page ids on tf·idf, rank {rank}, ridge {RIDGE:g}, cosine of summed "
            "word embeddings (Josifoski et al. 2019, Zosa et al. 2020)"
        )

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        """Learns the embeddings of the words of every language of the pages.

        Raises:
            BadInput: there are no pages.
        """
        if not pages:
            raise BadInput("cr5 learns from training pages, and there are none; give some in each language")
        languages = sorted({page.language for page in pages})
        concepts = {page_id: place for place, page_id in enumerate(sorted({page.page_id for page in pages}))}
        prepared = {}
        for done, language in enumerate(languages):
            progress(done, len(languages), f"cr5: counting the words in {language}")
            own = [page for page in pages if page.language == language]
            texts = [letter_tokens(page.text, language, SYSTEM_TOKENS) for page in own]
            space = _counted(texts)
            prepared[language] = space, space.weights(texts), np.array([concepts[page.page_id] for page in own])
        progress(len(languages), len(languages), "cr5: regression")
        weights = regress([(texts, labels) for _, texts, labels in prepared.values()], len(concepts), self._rank, RIDGE)
        self._spaces = {
            language: LanguageSpace(space.columns, space.idf, found)
            for (language, (space, _, _)), found in zip(prepared.items(), weights, strict=True)
        }

    def prepare(self, task: Task) -> Matrix:
        return self._embed(task.documents.values(), task.direction.document_language)

    def compare(self, task: Task, documents: Matrix, progress: Progress) -> Matrix:
        queries = self._embed(task.queries.values(), task.direction.query_language)
        values = 1.0 - queries @ documents.T
        values[~queries.any(axis=1)] = np.inf
        values[:, ~documents.any(axis=1)] = np.inf
        return values

    def _embed(self, texts: Iterable[Sequence[str]], language: str) -> Matrix:
        """(n_texts, rank), rows of length 1 or 0.

        Raises:
            BadInput: no training page had the language.
        """
        if not self._spaces:
            raise RuntimeError("cr5 has no embeddings yet; call fit first")
        space = self._spaces.get(language)
        if space is None:
            raise BadInput(f"cr5 learned from no page in {language!r}; it knows {', '.join(self._spaces)}")
        return np.asarray(normalize(space.weights(texts) @ space.embeddings))


def regress(
    languages: Sequence[tuple[csr_array, np.ndarray[tuple[int], np.dtype[np.int64]]]],
    n_concepts: int,
    rank: int,
    ridge: float,
) -> list[Matrix]:
    """The word embeddings of each language.

    With X the documents' weights, Y their one-hot concepts, and W = A B' of rank r, the least
    ‖Y - X W‖² + ridge ‖W‖² has B the r first eigenvectors of Y' X (X'X + ridge I)^-1 X' Y, and
    A = (X'X + ridge I)^-1 X' Y B, whose rows embed the words. No two languages share a column, so X'X falls into one
    block a language, and each is solved in the space of its documents: (X'X + ridge I)^-1 X' = X' (XX' + ridge I)^-1.

    Args:
        languages: for each language (n_documents, n_words) weights and (n_documents,) concepts.

    Returns:
        For each language (n_words, r), where r is the rank, or the number of concepts if that is less.
    """
    explained = np.zeros((n_concepts, n_concepts))
    solved = []
    for weights, labels in languages:
        concepts = np.zeros((len(labels), n_concepts))
        concepts[np.arange(len(labels)), labels] = 1.0
        kernel = (weights @ weights.T).toarray()
        dual = cho_solve(cho_factor(kernel + ridge * np.eye(len(labels))), concepts)
        explained += concepts.T @ kernel @ dual
        solved.append(dual)
    rank = min(rank, n_concepts)
    _, vectors = eigh((explained + explained.T) / 2, subset_by_index=[n_concepts - rank, n_concepts - 1])
    return [weights.T @ (dual @ vectors) for (weights, _), dual in zip(languages, solved, strict=True)]


def _counted(texts: Sequence[Sequence[str]]) -> LanguageSpace:
    columns = vocabulary(texts)
    return LanguageSpace(columns, idf(term_counts(texts, columns)), np.empty((len(columns), 0)))
