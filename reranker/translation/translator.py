"""Turns a query into word groups in the documents' language, by cosines of embeddings."""

from __future__ import annotations

import threading
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from reranker.base.errors import UnknownLanguage
from reranker.embeddings import Embeddings
from reranker.text.idf import IdfTable
from reranker.text.normalization import normalize_term, spellings
from reranker.text.token_places import token_places
from reranker.text.tokens import LONGEST_CACHED_TOKEN, MAX_QUERY_TOKENS, parts_of, with_ascii_digits
from reranker.translation.groups import Translation, WordGroup
from reranker.translation.nearest_terms import nearest_terms

# Of each word, beside itself (papers/results/order.md).
N_TRANSLATIONS = 8

# Of a cosine in float32.
_ROUNDING = 1e-6

# An entry holds some ten short words: some 2 kB.
_MAX_CACHED_WORDS = 10_000


class TokenizedQuery(Protocol):
    """The part of a query that is translated (`reranker.ranking.reranker.Query`)."""

    @property
    def text(self) -> str: ...

    @property
    def language(self) -> str: ...

    @property
    def tokens(self) -> tuple[str, ...]:
        """All of them, in reading order."""
        ...


class Translator:
    """Finds the translations of query words. Open it once; threads can share it."""

    def __init__(self, embeddings: Embeddings, idf: IdfTable | None = None) -> None:
        """
        Args:
            idf: of the index, over all its documents. Only terms of the index become translations. If it is None or
                lacks the language, any term of the embeddings may.
        """
        self._embeddings = embeddings
        self._idf = IdfTable() if idf is None else idf
        self._lock = threading.Lock()
        self._term_ids: dict[str, NDArray[np.int32]] = {}
        self._cached: LRUCache[tuple[str, str, str], tuple[Translation, ...]] = LRUCache(_MAX_CACHED_WORDS)

    def groups(self, query: TokenizedQuery, language: str) -> tuple[WordGroup, ...]:
        """One group for each distinct token of the query, in reading order: the nearest terms of the documents'
        language, and the token itself with weight 1, since names, numbers and loan words are spelled alike. A compound
        that is known by its parts alone becomes a group for each part, with the compound itself in each.

        The weight of a translation is b² · (c / b)⁴, where c is its cosine with the token and b that of the nearest. So
        a token without a near translation counts less, and so does a translation farther than the nearest.

        Args:
            language: language of the documents.

        Raises:
            UnknownLanguage: the embeddings lack it.
        """
        return self.groups_of([query], language)[0]

    def groups_of(self, queries: Sequence[TokenizedQuery], language: str) -> list[tuple[WordGroup, ...]]:
        """The same of each query of one language: all their words are translated together."""
        if language not in self._embeddings.languages:
            raise UnknownLanguage(
                f"the embeddings hold no {language!r}, only {', '.join(self._embeddings.languages)}; search documents "
                "in one of these languages, or load embeddings that hold it"
            )
        if not queries:
            return []
        read = list(map(self._words, queries))
        words = dict.fromkeys(word for counts, compounds in read for word in chain(counts, *compounds.values()))
        found = self._translations(list(words), queries[0].language, language)
        return [
            _groups(counts, compounds, found, _as_typed(query))
            for query, (counts, compounds) in zip(queries, read, strict=True)
        ]

    def _words(self, query: TokenizedQuery) -> tuple[Counter[str], dict[str, list[str]]]:
        """How often each word is to be translated, and the compounds that it is a part of."""
        compounds: dict[str, list[str]] = {}
        counts: Counter[str] = Counter()
        for token in query.tokens:
            parts = self._embeddings.parts(query.language, token)
            counts.update(parts or [token])
            for part in parts:
                compounds.setdefault(part, []).append(token)
        return counts, compounds

    def _translations(
        self, tokens: Sequence[str], query_language: str, language: str
    ) -> dict[str, tuple[Translation, ...]]:
        found: dict[str, tuple[Translation, ...]] = {}
        with self._lock:
            for token in tokens:
                cached = self._cached.get((token, query_language, language))
                if cached is not None:
                    found[token] = cached
        missing = [token for token in tokens if token not in found]
        if missing:
            made = self._translate(missing, query_language, language)
            found |= made
            with self._lock:
                for token, translations in made.items():
                    if len(token) <= LONGEST_CACHED_TOKEN:
                        self._cached[token, query_language, language] = translations
        return found

    def _translate(
        self, tokens: Sequence[str], query_language: str, language: str
    ) -> dict[str, tuple[Translation, ...]]:
        embeddings = self._embeddings
        term_ids = {token: embeddings.stand_ins(query_language, token) for token in tokens}
        known = [token for token in tokens if len(term_ids[token]) == 1]
        words = np.array([term_ids[token][0] for token in known], np.int32)
        nearest, cosines = nearest_terms(embeddings.vectors, self._searched(language), words, N_TRANSLATIONS)
        weights = _weights(cosines.astype(np.float64))
        rows = {token: (nearest[row], weights[row]) for row, token in enumerate(known)}
        nothing = np.empty(0, np.int32), np.empty(0)
        return {token: self._joined(token, language, *rows.get(token, nothing)) for token in tokens}

    def _joined(
        self, token: str, language: str, term_ids: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[Translation, ...]:
        """The token itself and the terms with a weight, the heaviest first."""
        own = normalize_term(token, language)
        own_id = self._embeddings.vocabulary.find(language, own)
        is_other = (weights > 0) & (term_ids != own_id)
        others = term_ids[is_other]
        terms = [own, *(self._embeddings.term(term_id)[1] for term_id in others.tolist())]
        counts = self._n_documents(language, np.concatenate([[own_id], others]))
        written = [spellings(term, language) for term in terms]
        return tuple(map(Translation, terms, [1.0, *weights[is_other].tolist()], counts, written))

    def _n_documents(self, language: str, term_ids: NDArray[np.int32]) -> list[int | None]:
        """How many documents hold each term; None where that is not known, as for a term that is -1."""
        frequencies = self._idf.languages.get(language)
        if frequencies is None:
            return [None] * len(term_ids)
        counts = zip(term_ids.tolist(), frequencies.of(term_ids).tolist(), strict=True)
        return [None if term_id < 0 else int(count) for term_id, count in counts]

    def _searched(self, language: str) -> NDArray[np.int32]:
        """(m,) the terms that may be translations, ascending."""
        if language not in self._term_ids:
            frequencies = self._idf.languages.get(language)
            held: NDArray[np.integer[Any]] = self._embeddings.vocabulary.term_ids(language)
            if frequencies is not None and len(frequencies.term_ids):
                held = frequencies.term_ids[np.isin(frequencies.term_ids, held)]
            self._term_ids[language] = held.astype(np.int32)
        return self._term_ids[language]


def _as_typed(query: TokenizedQuery) -> dict[str, str]:
    """What the text has for its tokens, with ASCII digits and letters of ordinary width."""
    text = next(parts_of(query.text, MAX_QUERY_TOKENS))
    return {
        token: with_ascii_digits(unicodedata.normalize("NFKC", text[start:end]))
        for token, start, end in token_places(text, query.language)
    }


def _groups(
    counts: Mapping[str, int],
    compounds: Mapping[str, list[str]],
    found: Mapping[str, tuple[Translation, ...]],
    typed: Mapping[str, str],
) -> tuple[WordGroup, ...]:
    groups = []
    for word, n_times in counts.items():
        same = [word, *compounds.get(word, ())]
        own = [replace(found[one][0], spellings=(typed[one],)) if one in typed else found[one][0] for one in same]
        groups.append(WordGroup(word, n_times, tuple(dict.fromkeys([*own, *found[word][1:]]))))
    return tuple(groups)


def _weights(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k, n) weights of translations from their cosines, the nearest first in each row; 0 for cosines up to 0, and for
    those above it by rounding alone, which is another for a word that is translated beside others."""
    found = np.where(cosines > _ROUNDING, np.minimum(cosines, 1.0), 0.0)
    nearest = found[:, :1]
    weights: NDArray[np.float64] = np.divide(found**4, nearest**2, out=np.zeros_like(found), where=nearest > 0)
    return weights
