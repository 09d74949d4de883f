"""Re-orders candidates by the transport distance between their words and the query's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reranker.base.errors import BadInput, WrongParameter
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import guess_language, guess_languages
from reranker.embeddings.hubness import Hubness, HubnessSample
from reranker.ranking.candidate_cache import CandidateCache
from reranker.ranking.corrections import CORRECTED_METHOD, Corrections, find_corrections, start_encoding
from reranker.ranking.coverage import find_coverage
from reranker.ranking.evidence import check_first_stage_share
from reranker.ranking.feedback import is_worth_it
from reranker.ranking.lexical import lexical_scores
from reranker.ranking.ordering import Ordering
from reranker.ranking.query import Query, check_known_words, read_query
from reranker.ranking.ranked import Reranking
from reranker.ranking.windows import best_windows
from reranker.text.bags import BagOfWords
from reranker.text.idf import IdfTable
from reranker.text.languages import language_code
from reranker.transport import Parameters, check_method
from reranker.transport.problem import Problem
from reranker.transport.threads import check_n_threads

_Number = TypeVar("_Number", np.float64, np.bool_)

# The largest float32, as Java writes it: scores of an engine are float32. Between larger ones a difference may be
# infinite.
_MOST = 3.4028235e38

Observer = Callable[[Query, Reranking, float], None]
"""Told of each re-ranking: the query, the result, and the seconds that it took."""


class Reranker:
    """Re-ranks texts by the transport between their words; opened once, used from any number of threads.

    >>> reranker = Reranker.open("embeddings")                                            # doctest: +SKIP
    >>> reranker.rerank("chat noir", ["a black cat", "a red car"], language="fr")         # doctest: +SKIP
    """

    def __init__(
        self,
        embeddings: Embeddings,
        idf: IdfTable | None = None,
        n_threads: int = 1,
        hubness: HubnessSample = HubnessSample(),
        observer: Observer | None = None,
        preferred_languages: Sequence[str] = (),
    ) -> None:
        """
        Args:
            idf: of the documents; None takes that of the embeddings' training texts.
            hubness: the queries that the documents' hubness is measured by; without one it is left out.
            observer: told of each re-ranking.
            preferred_languages: codes of those of queries, the likeliest first; they decide where a query names none
                and several know as many of its words (`detection.guess_language`).

        Raises:
            BadInput: `n_threads` is below 1, `preferred_languages` is a text, or `embeddings` is something else.
        """
        if not isinstance(embeddings, Embeddings):
            raise BadInput(
                f"embeddings is of type {type(embeddings).__name__}; give Embeddings, or a path to Reranker.open"
            )
        check_n_threads(n_threads)
        self._arguments = (embeddings, idf, n_threads, hubness, observer, preferred_languages)
        self.embeddings = embeddings
        self.idf = embeddings.idf if idf is None else idf
        self.n_threads = n_threads
        self._candidates = CandidateCache(self.idf, embeddings, Hubness(hubness, self.idf, embeddings))
        self._observer = observer
        self.preferred_languages = _listed(preferred_languages)

    @classmethod
    def open(cls, path: str | Path, n_threads: int = 1, preferred_languages: Sequence[str] = ()) -> Reranker:
        """Opens an embedding store; idf comes from the texts it was trained on, where it was.

        Raises:
            NotFound, BadEmbeddings, VersionMismatch: as `Embeddings.open`.
            UnknownLanguage, BadInput: a preferred language is no code; as the class.
        """
        codes = [language_code(name) for name in _listed(preferred_languages)]
        return cls(Embeddings.open(Path(path)), n_threads=n_threads, preferred_languages=codes)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled or deep copy opens the embeddings again by their path, and caches anew."""
        return type(self), self._arguments

    def query(self, text: str, language: str | None = None) -> Query:
        """Reads a query; without a language the one that knows most of its words is taken.

        Raises:
            EmptyQuery: no letter or digit in the text.
            UnknownWords: no word of it has an embedding.
            UnknownLanguage: the language is not a code.
        """
        query = self.query_with_unknown_words(text, language)
        check_known_words(query, self.embeddings, has_language=language is not None)
        return query

    def query_with_unknown_words(self, text: str, language: str | None = None) -> Query:
        """The same, but a query of unknown words alone is read too: it weighs nothing."""
        return read_query(text, language, self.embeddings, self.idf, self.preferred_languages)

    def weigh_again(self, query: Query, language: str | None = None) -> Query:
        """A query as `query` reads its text, where another re-ranker of the same embeddings has read it: its words are
        weighed by these document frequencies. It stays in its language if that of the other reading knows no word of
        it.

        Args:
            language: as `query_with_unknown_words` takes it.
        """
        may_differ = language is None and query.is_tie
        if may_differ and guess_language(query.text, self.embeddings, self.preferred_languages) != query.language:
            other = self.query_with_unknown_words(query.text)
            if len(other.unknown_words) < len(other.tokens):
                return other
        return replace(query, idf=self.idf)

    def rerank_bags(
        self,
        query: Query,
        candidates: Iterable[tuple[BagOfWords, str]],
        method: str = "auto",
        parameters: Parameters = Parameters(),
        *,
        first_stage_scores: ArrayLike | None = None,
        translated: ArrayLike | None = None,
        exact: ArrayLike | None = None,
        feedback: bool = True,
        first_stage_share: float | None = None,
        top_n: int | None = None,
    ) -> Reranking:
        """Re-ranks bags of words, each with its language; ties keep the given order, that of the first stage.

        Args:
            first_stage_scores: (n_candidates,), higher is better, NaN where the first stage says nothing of a
                candidate. `auto` adds them to what transport says (`ranking.evidence`); other methods ignore them.
                None: `auto` goes by transport alone. Where no first stage gave any, give `lexical_scores`.
            translated: (n_candidates,) whether the score of a candidate is by translations of the query's words
                (`reranker.translation`): it counts less by default. None for none of them.
            exact: (n_candidates,) whether a field of the candidate, such as its title, is the query word for word;
                by `auto` with first-stage scores it is then at distance 0.
            feedback: solve again with the query moved towards its best candidates (`ranking.feedback`), where `auto`
                has first-stage scores that are not by translations, and the query is long enough.
            first_stage_share: how much the first-stage scores count, 0 (not at all) to 1 (nothing else does); None
                for the default shares (`ranking.evidence`).
            top_n: as `rerank`; `auto` with first-stage scores solves for all candidates all the same.

        Raises:
            BadInput: scores, `translated` or `exact` are not one number for each candidate, or a score is infinite.
        """
        check_first_stage_share(first_stage_share)
        _check_top_n(top_n)
        if not isinstance(parameters, Parameters):
            raise BadInput(f"parameters is of type {type(parameters).__name__}; give sinkrank.Parameters(…)")
        candidates = list(candidates)
        started = time.perf_counter()
        scores = _of_each("first_stage_scores", first_stage_scores, len(candidates), np.float64)
        by_translations = _of_each("translated", translated, len(candidates), np.bool_)
        is_exact = _of_each("exact", exact, len(candidates), np.bool_)
        if scores is not None and len(candidates):
            start_encoding(query, method)
        frequencies = self.idf.languages.get(query.language)
        if method == CORRECTED_METHOD:
            whole, candidates = candidates, best_windows(query, candidates, frequencies)
            problem, hubness = self._candidates.problem(query.checked, query.language, candidates, self.n_threads)
            corrections = find_corrections(query, whole, hubness, self.embeddings)
        else:
            vectors = self.embeddings.vectors
            bags = self.idf.weigh_all(candidates, len(vectors))
            problem = Problem(query.checked, bags, vectors)
            corrections = Corrections.make(len(candidates))
        coverage = partial(find_coverage, query, candidates, frequencies)
        ordering = Ordering(problem, corrections, check_method(method), parameters, self.n_threads)
        if method == CORRECTED_METHOD and scores is not None and len(candidates):
            n_translated = 0 if by_translations is None else int(np.count_nonzero(by_translations))
            learns = is_worth_it(query.n_words, len(candidates) - n_translated, query.encoding is not None)
            reranking = ordering.by_evidence(
                scores,
                with_feedback=learns and feedback,
                with_neighbours=learns,
                encoding=query.encoding,
                exact=is_exact,
                first_stage_share=first_stage_share,
                coverage=coverage(scores),
                translated=by_translations,
                top_n=top_n,
            )
        else:
            reranking = ordering.by_distance(top_n, coverage if method == CORRECTED_METHOD else None)
        if self._observer is not None:
            self._observer(query, reranking, time.perf_counter() - started)
        return reranking

    def lexical_scores(
        self, query: Query, candidates: Sequence[tuple[BagOfWords, str]], method: str = "auto"
    ) -> NDArray[np.float64] | None:
        """BM25 of the candidates (n,): what `rerank_bags` takes as scores where no first stage gave any
        (`ranking.lexical`). None for methods other than `auto`, which ignore them."""
        if method != CORRECTED_METHOD:
            return None
        frequencies = self.idf.languages.get(query.language)
        return lexical_scores(query, candidates, frequencies)

    def rerank(
        self,
        query: str,
        documents: Iterable[str],
        *,
        language: str | None = None,
        document_languages: Iterable[str] | str | None = None,
        method: str = "auto",
        parameters: Parameters = Parameters(),
        top_n: int | None = None,
    ) -> Reranking:
        """Re-ranks texts. `auto` adds BM25 of the texts in the query's language (`lexical_scores`) to transport.

        Args:
            language: the query's; guessed where it is None.
            document_languages: one for all, or one each; guessed where it is None.
            top_n: how many of the best are wanted; None: all. They are the first of all, with the same distances.
                By `emd` most of the others need not be solved for.

        Raises:
            EmptyQuery, UnknownWords, UnknownLanguage, BadInput: as `query` and the method say.
            WrongParameter: top_n is below 1.
        """
        # Before the query: a caller may go on without the words that it lacks.
        check_method(method)
        _check_top_n(top_n)
        read = self.query(query, language)
        candidates = self.read_documents(documents, document_languages, read.language)
        scores = self.lexical_scores(read, candidates, method)
        return self.rerank_bags(read, candidates, method, parameters, first_stage_scores=scores, top_n=top_n)

    def read_documents(
        self,
        documents: Iterable[str],
        document_languages: Iterable[str] | str | None = None,
        likely: str | None = None,
    ) -> list[tuple[BagOfWords, str]]:
        """Each text's bag of words and its language: what `rerank_bags` takes.

        Args:
            document_languages: one for all, or one each; guessed where it is None.
            likely: the language of the query: of texts that fit several languages as well (`guess_language`).

        Raises:
            UnknownLanguage: one is no code.
            BadInput: there are more or fewer of them than documents, or a document is no text.
        """
        if isinstance(documents, str):  # its letters would be read as documents
            raise BadInput("documents is a text; give a list of texts")
        # Of a dictionary the keys would be read, and of a table the names of its columns.
        if not isinstance(documents, Iterable) or isinstance(documents, Mapping) or getattr(documents, "ndim", 1) != 1:
            raise BadInput(f"documents is of type {type(documents).__name__}; give a list of texts")
        documents = list(documents)
        for place, text in enumerate(documents):
            if not isinstance(text, str):
                raise BadInput(f"document {place} is of type {type(text).__name__}; give texts")
        if document_languages is None:
            codes = guess_languages(documents, self.embeddings, () if likely is None else (likely,))
        elif isinstance(document_languages, str):
            codes = [language_code(document_languages)] * len(documents)
        else:
            codes = [language_code(code) for code in document_languages]
            if len(codes) != len(documents):
                raise BadInput(
                    f"{len(codes)} languages came for {len(documents)} documents; give one for all or one for each"
                )
        return list(zip(self.embeddings.bags(documents, codes), codes, strict=True))


def _listed(languages: Sequence[str]) -> Sequence[str]:
    if isinstance(languages, str):  # its letters would be read as languages
        raise BadInput(f"preferred_languages is {languages!r}; give a list: [{languages!r}]")
    return languages


def _of_each(name: str, values: ArrayLike | None, n: int, dtype: type[_Number]) -> NDArray[_Number] | None:
    """What was given of each of n candidates (n,), by their places: not by the labels that a Series of pandas has.

    Raises:
        BadInput: it is of another shape or no numbers, or one of them is infinite or near to it.
    """
    if values is None:
        return None
    try:
        found = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{name} cannot be read as an array of {dtype.__name__} ({error}); give numbers") from error
    if found.shape != (n,):
        raise BadInput(f"{name} has the shape {found.shape}; give one value for each candidate: ({n},)")
    if (np.abs(found) > _MOST).any():
        raise BadInput(f"{name} has a value beyond {_MOST:.1e}; give NaN where nothing is known of a candidate")
    return found


def _check_top_n(top_n: int | None) -> None:
    if top_n is not None and (not isinstance(top_n, int | np.integer) or top_n < 1):
        raise WrongParameter(f"top_n is {top_n!r}; give 1 or more, or leave it out for all")
