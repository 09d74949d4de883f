"""Re-orders candidates by the transport distance between their words and the query's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reranker.bags import BagOfWords, WeightedBag, WeightedBags
from reranker.detection import guess_language
from reranker.embeddings import Embeddings
from reranker.errors import BadInput, EmptyQuery, UnknownWords
from reranker.idf import IdfTable
from reranker.languages import language_code
from reranker.scores import order_by_distance, score
from reranker.tokens import tokenize
from reranker.transport import Parameters, distances


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A query's words, weighed.

    Attributes:
        weighted: the known words.
        unknown_words: the tokens that take no embedding, in reading order.
    """

    text: str
    language: str
    weighted: WeightedBag
    unknown_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """One candidate in its new place.

    Attributes:
        index: its place among the candidates as they were given, from 0.
        reranked_rank: from 1.
        distance: the transport distance; `inf` without a known word.
        score: in (0, 1], higher is better.
    """

    index: int
    reranked_rank: int
    distance: float
    score: float


@dataclass(frozen=True, slots=True)
class Reranking:
    """Candidates in their new order, and how it was reached.

    Attributes:
        method: the method used; for `auto` with a short query that is `relaxed`.
        precision: the arithmetic used: float32, float64 or log.
        n_converged: candidates whose iteration met its tolerance.
    """

    documents: tuple[RankedDocument, ...]
    method: str
    precision: str
    n_converged: int


class Reranker:
    """Re-ranks texts by the transport between their words; opened once, used from any number of threads.

    >>> reranker = Reranker.open("embeddings")                                            # doctest: +SKIP
    >>> reranker.rerank("chat noir", ["a black cat", "a red car"], language="fr")         # doctest: +SKIP
    """

    def __init__(self, embeddings: Embeddings, idf: IdfTable | None = None, n_threads: int = 1) -> None:
        self.embeddings = embeddings
        self.idf = embeddings.idf if idf is None else idf
        self.n_threads = n_threads

    @classmethod
    def open(cls, path: str | Path, n_threads: int = 1) -> Reranker:
        """Opens an embedding store; idf comes from the texts it was trained on, where it was."""
        return cls(Embeddings.open(Path(path)), n_threads=n_threads)

    def query(self, text: str, language: str | None = None) -> Query:
        """Reads a query; without a language the one that knows most of its words is taken.

        Raises:
            EmptyQuery: no letter in the text.
            UnknownWords: no word of it has an embedding.
            UnknownLanguage: the language is not a code.
        """
        query = self.query_with_unknown_words(text, language)
        if not len(query.weighted):
            held = ", ".join(self.embeddings.languages)
            where = f"language {query.language!r}" if language is not None else f"any language here ({held})"
            raise UnknownWords(
                f"none of the query's words ({', '.join(query.unknown_words[:5])}) has an embedding in {where}; use "
                f"other words, name the language they are in (of {held}), or load embeddings that know them"
            )
        return query

    def query_with_unknown_words(self, text: str, language: str | None = None) -> Query:
        """The same, but a query of unknown words alone is read too: its weighted bag is empty."""
        language = guess_language(text, self.embeddings) if language is None else language_code(language)
        # A query of nothing but stop words is taken at its word.
        tokens = tokenize(text, language) or tokenize(text, "und")
        if not tokens:
            raise EmptyQuery("the query has no word; give it at least one")
        unknown = tuple(token for token in tokens if self.embeddings.stand_in(language, token) is None)
        bag = self.embeddings.bag_of_tokens(tokens, language)
        return Query(text, language, self.idf.weigh(bag, language), unknown)

    def rerank_bags(
        self,
        query: WeightedBag,
        candidates: Sequence[tuple[BagOfWords, str]],
        method: str = "auto",
        parameters: Parameters = Parameters(),
        first_stage_ranks: NDArray[np.int64] | None = None,
    ) -> Reranking:
        """Re-ranks bags of words, each with its language; ties keep the first-stage order, which is the given one
        unless ranks (n_candidates,) say otherwise."""
        bags = WeightedBags.join([self.idf.weigh(bag, language) for bag, language in candidates])
        solved = distances(query, bags, self.embeddings.vectors, method, parameters, self.n_threads)
        ranks = np.arange(len(bags), dtype=np.int64) if first_stage_ranks is None else first_stage_ranks
        ranked = tuple(
            RankedDocument(int(index), rank, float(solved.values[index]), score(float(solved.values[index])))
            for rank, index in enumerate(order_by_distance(solved.values, ranks), start=1)
        )
        return Reranking(ranked, solved.method, solved.precision, int(np.count_nonzero(solved.converged)))

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        language: str | None = None,
        document_languages: Sequence[str] | str | None = None,
        method: str = "auto",
        parameters: Parameters = Parameters(),
    ) -> Reranking:
        """Re-ranks texts.

        Args:
            language: the query's; guessed where it is None.
            document_languages: one for all, or one each; guessed where it is None.

        Raises:
            EmptyQuery, UnknownWords, UnknownLanguage, BadInput: as `query` and the method say.
        """
        read = self.query(query, language)
        if document_languages is None:
            languages = [guess_language(text, self.embeddings) for text in documents]
        elif isinstance(document_languages, str):
            languages = [language_code(document_languages)] * len(documents)
        else:
            languages = [language_code(code) for code in document_languages]
            if len(languages) != len(documents):
                raise BadInput(
                    f"{len(languages)} languages came for {len(documents)} documents; give one for all or one for each"
                )
        candidates = [(self.embeddings.bag(text, code), code) for text, code in zip(documents, languages, strict=True)]
        return self.rerank_bags(read.weighted, candidates, method, parameters)
