"""Decides when a search is asked in translation, and into which languages.

The languages of our own indices are known, those of others are learned in the background (`index_figures`). Until then
a search that finds nothing is tried in all languages of the embeddings.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import unquote

from cachetools import LRUCache

from reranker.base.errors import EmptyQuery
from reranker.proxy.hit_ranking import HitRanker
from reranker.proxy.index_figures import IndexFigures
from reranker.proxy.search_request import ProxySearch
from reranker.proxy.translated_query import TranslatedText, translated_query
from reranker.ranking.reranker import Reranker
from reranker.service.service import Service
from reranker.text.idf import IdfTable
from reranker.translation import Translator, WordGroup
from reranker.translation.engine_query import WordRarity

# Of an index's documents. Fewer may have been taken for that language by chance.
LEAST_SHARE = 0.05
# Each has clauses of its own, and the engines take 1,024 in all.
_MAX_LANGUAGES = 8
_MAX_TRANSLATORS = 20


@dataclass(frozen=True, slots=True)
class _Searched:
    """What is known of the indices that are searched.

    Attributes:
        preferred: languages that a query is likely to be in; None for the re-ranker's own.
        languages: of the documents; empty where they are not known yet.
        vocabulary: the idf of all documents; None where only a sample is known.
    """

    reranker: Reranker
    preferred: Sequence[str] | None
    languages: tuple[str, ...]
    vocabulary: IdfTable | None


class SearchTranslator:
    """Translates searches; safe to share between threads."""

    def __init__(self, service: Service, figures: IndexFigures, ranker: HitRanker) -> None:
        self._service = service
        self._figures = figures
        self._ranker = ranker
        self._translators: LRUCache[str, Translator] = LRUCache(_MAX_TRANSLATORS)
        self._lock = threading.Lock()

    def at_once(self, search: ProxySearch, indices: Sequence[str]) -> ProxySearch | None:
        """The search in translation, where it asks for that; None also where the indices' languages are not known yet.

        Args:
            indices: as the request names them (`searched_indices`).
        """
        if not search.is_translated_at_once:
            return None
        searched = self._searched(search, indices)
        return self._translated(search, searched, search.languages or searched.languages)

    def when_nothing_is_found(self, search: ProxySearch, indices: Sequence[str]) -> ProxySearch | None:
        """The search in translation; None where there is none, or it was asked for at once."""
        if search.translate == "never" or search.languages or search.translations is not None:
            return None
        searched = self._searched(search, indices)
        return self._translated(search, searched, searched.languages, may_guess=True)

    def _translated(
        self, search: ProxySearch, searched: _Searched, languages: Sequence[str], may_guess: bool = False
    ) -> ProxySearch | None:
        """
        Args:
            languages: of the documents; where there are none and it `may_guess`, all of the embeddings.
        """
        reranker = searched.reranker
        language = reranker.query_with_unknown_words(search.text, search.language, searched.preferred).language
        held = self._service.embeddings.languages
        if not languages and may_guess:
            languages = [one for one in held if one != language]
        if language in languages:
            return None
        targets = [one for one in languages if one in held][:_MAX_LANGUAGES]
        translator = self._translator(searched.vocabulary)
        texts: dict[str, list[TranslatedText]] = {}

        def translate(text: str) -> Sequence[TranslatedText]:
            if text not in texts:
                texts[text] = list(_translations(text, language, targets, translator, reranker))
            return texts[text]

        query = translated_query(search.query, translate, search.types)
        if query is None:
            return None
        found: dict[str, dict[str, WordGroup]] = {}
        for text in chain.from_iterable(texts.values()):
            found.setdefault(text.language, {}).update({group.token: group for group in text.groups})
        return search.translated(query, {one: tuple(groups.values()) for one, groups in found.items()})

    def _searched(self, search: ProxySearch, indices: Sequence[str]) -> _Searched:
        reranker, preferred = self._ranker.reranker_of(indices, search.read_fields)
        of_each = [self._languages(index, search.read_fields) for index in indices]
        languages = tuple(dict.fromkeys(one for each in of_each for one in each)) if all(of_each) else ()
        is_ours = len(indices) == 1 and self._ranker.is_ours(indices[0])
        return _Searched(reranker, preferred, languages, reranker.idf if is_ours else None)

    def _languages(self, index: str, fields: Sequence[str]) -> list[str]:
        if self._ranker.is_ours(index):
            return sorted(self._service.searcher.languages(index))
        shares = self._figures.languages(index, fields)
        return [language for language, share in shares.items() if share >= LEAST_SHARE]

    def _translator(self, vocabulary: IdfTable | None) -> Translator:
        key = "" if vocabulary is None else vocabulary.version
        with self._lock:
            found = self._translators.get(key)
            if found is None:
                found = self._translators[key] = Translator(self._service.embeddings, vocabulary)
        return found


def searched_indices(raw_path: str, named: Any = None) -> tuple[str, ...]:
    """The indices that a search names, patterns among them; none where it searches in all.

    Args:
        raw_path: `/{indices}/_search`, percent-encoded.
        named: the `index` of a multi-search's header, which goes before the path.
    """
    names = named if isinstance(named, list) else [named]
    if names and all(isinstance(name, str) and name for name in names):
        return tuple(part for name in names for part in name.split(","))
    parts = raw_path.strip("/").split("/")
    return tuple(part for part in unquote(parts[0]).split(",") if part) if len(parts) > 1 else ()


def _translations(
    text: str, language: str, targets: Sequence[str], translator: Translator, reranker: Reranker
) -> Iterator[TranslatedText]:
    try:
        query = reranker.query_with_unknown_words(text, language)
    except EmptyQuery:
        return
    for target in targets:
        groups = translator.groups(query, target)
        if any(len(group.translations) > 1 for group in groups):  # each has its own word among them
            rarity = WordRarity(reranker.embeddings, target, reranker.idf.languages.get(target))
            yield TranslatedText(target, groups, rarity)
