"""Turns a query into word groups in the documents' language, by the cosines of the embeddings."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence

import numpy as np

from reranker.embeddings import Embeddings
from reranker.errors import UnknownLanguage
from reranker.idf import IdfTable
from reranker.normalization import normalize_term
from reranker.reranking import Query
from reranker.tokens import LONGEST_CACHED_TOKEN
from reranker.translation.groups import Translation, WordGroup
from reranker.translation.nearest_terms import LanguageRows

# Of each word. More bring in words that are related and no translations.
N_TRANSLATIONS = 5

# A word of half the cosine counts a sixteenth.
_POWER = 4

# An entry holds five short words: some 1 kB.
_MAX_CACHED_WORDS = 20_000


class Translator:
    """Finds the translations of query words; opened once, used from any number of threads."""

    def __init__(self, embeddings: Embeddings, idf: IdfTable | None = None) -> None:
        """
        Args:
            idf: of the index, counted over all its documents: only terms that it holds are taken as translations. None,
                or without the language, all terms of the embeddings may be taken.
        """
        self._embeddings = embeddings
        self._idf = IdfTable() if idf is None else idf
        self._lock = threading.Lock()
        self._rows: dict[str, LanguageRows] = {}
        self._cached: OrderedDict[tuple[str, str, str], tuple[Translation, ...]] = OrderedDict()

    def groups(self, query: Query, language: str) -> tuple[WordGroup, ...]:
        """One group for each distinct token of the query that has a translation, in reading order.

        A token without an embedding (a number, a name) stays as it is, and so does one that the documents' language
        spells alike; the latter has other translations beside.

        Args:
            language: of the documents.

        Raises:
            UnknownLanguage: the embeddings do not hold it.
        """
        if language not in self._embeddings.languages:
            raise UnknownLanguage(
                f"the embeddings hold no {language!r}, only {', '.join(self._embeddings.languages)}; search documents "
                "in one of these languages, or load embeddings that hold it"
            )
        counts = Counter(query.tokens)
        found = self._translations(list(counts), query.language, language)
        return tuple(WordGroup(token, counts[token], found[token]) for token in counts if found[token])

    def _translations(
        self, tokens: Sequence[str], query_language: str, language: str
    ) -> dict[str, tuple[Translation, ...]]:
        found: dict[str, tuple[Translation, ...]] = {}
        with self._lock:
            for token in tokens:
                key = (token, query_language, language)
                if key in self._cached:
                    self._cached.move_to_end(key)
                    found[token] = self._cached[key]
        missing = [token for token in tokens if token not in found]
        if missing:
            made = self._translate(missing, query_language, language)
            found |= made
            with self._lock:
                for token, translations in made.items():
                    if len(token) <= LONGEST_CACHED_TOKEN:
                        self._cached[token, query_language, language] = translations
                while len(self._cached) > _MAX_CACHED_WORDS:
                    self._cached.popitem(last=False)
        return found

    def _translate(
        self, tokens: Sequence[str], query_language: str, language: str
    ) -> dict[str, tuple[Translation, ...]]:
        embeddings = self._embeddings
        term_ids = {token: embeddings.stand_in(query_language, token) for token in tokens}
        known = {token: row for row, token in enumerate(token for token in tokens if term_ids[token] is not None)}
        vectors = embeddings.vectors[np.array([term_ids[token] for token in known], dtype=np.int64)]
        nearest, cosines = self._language_rows(language).nearest(np.asarray(vectors), N_TRANSLATIONS)
        found: dict[str, tuple[Translation, ...]] = {}
        for token in tokens:
            weights = {}
            if token in known:
                row = known[token]
                weights = {
                    embeddings.term(int(term_id))[1]: float(cosine) ** _POWER
                    for term_id, cosine in zip(nearest[row], cosines[row], strict=True)
                    if cosine > 0
                }
            own = normalize_term(token, language)
            if token not in known or embeddings.term_id(language, own) is not None:
                weights[own] = 1.0
            ordered = sorted(weights.items(), key=lambda item: -item[1])
            found[token] = tuple(Translation(term, min(1.0, weight)) for term, weight in ordered)
        return found

    def _language_rows(self, language: str) -> LanguageRows:
        rows = self._rows.get(language)
        if rows is None:
            frequencies = self._idf.languages.get(language)
            held = self._embeddings.vocabulary.term_ids(language)
            if frequencies is not None and len(frequencies.term_ids):
                held = frequencies.term_ids[np.isin(frequencies.term_ids, held)].astype(np.int64)
            rows = self._rows[language] = LanguageRows(self._embeddings.vectors, held)
        return rows
