"""Decides when a search is asked in translation, and into which languages.

The languages of our own indices are known, those of others are learned in the background (`index_statistics`). Until
then a search that finds nothing is tried in all languages of the embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from reranker.base.errors import EmptyQuery
from reranker.proxy.indices import Indices
from reranker.proxy.search import Search, TranslatedQuery
from reranker.proxy.window import Window
from reranker.query_dsl.translated_query import TranslatedText, translated_query
from reranker.ranking.reranker import Reranker
from reranker.service.service import Service
from reranker.translation import Translator, WordGroup
from reranker.translation.engine_query import counted

# Each has clauses of its own, and the engines take 1,024 in all.
_MAX_LANGUAGES = 8


class SearchTranslator:
    """Translates searches; safe to share between threads."""

    def __init__(self, service: Service, indices: Indices) -> None:
        self._service = service
        self._indices = indices
        self._of_others = Translator(service.embeddings)

    def at_once(self, search: Search) -> TranslatedQuery | None:
        """The search in translation, where it asks for that; None also where the indices' languages are not known
        yet."""
        return self._translated(search, search.languages) if search.is_translated_at_once else None

    def when_nothing_is_found(self, window: Window) -> TranslatedQuery | None:
        """The search of an empty window in translation; None where there is none, or it was asked for at once."""
        search = window.search
        if search.translate == "never" or search.languages or window.translation is not None:
            return None
        return self._translated(search, may_guess=True)

    def _translated(
        self, search: Search, languages: Sequence[str] = (), may_guess: bool = False
    ) -> TranslatedQuery | None:
        """
        Args:
            languages: of the documents; those of the searched indices where there are none, and where these are not
                known and it `may_guess`, all of the embeddings.
        """
        reranker, query = self._indices.weighed(search, search.indices)
        if not languages:
            of_each = [self._indices.languages(index, search.read_fields) for index in search.indices]
            languages = list(dict.fromkeys(one for each in of_each for one in each)) if all(of_each) else []
        language = query.language
        held = self._service.embeddings.languages
        if not languages and may_guess:
            languages = [one for one in held if one != language]
        if language in languages:
            return None
        targets = [one for one in languages if one in held][:_MAX_LANGUAGES]
        is_ours = len(search.indices) == 1 and self._indices.is_ours(search.indices[0])
        translator = self._service.searcher.open(search.indices[0]).translator if is_ours else self._of_others
        texts: dict[str, list[TranslatedText]] = {}

        def translate(text: str) -> Sequence[TranslatedText]:
            if text not in texts:
                texts[text] = list(_translations(text, language, targets, translator, reranker))
            return texts[text]

        translated = translated_query(search.clause, translate, search.types)
        if translated is None:
            return None
        found: dict[str, dict[str, WordGroup]] = {}
        for text in chain.from_iterable(texts.values()):
            found.setdefault(text.language, {}).update({group.token: group for group in text.groups})
        return TranslatedQuery(translated, {one: tuple(groups.values()) for one, groups in found.items()})


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
            frequencies = reranker.idf.languages.get(target)
            found = groups if frequencies is None else counted(groups, reranker.embeddings, target, frequencies)
            yield TranslatedText(target, found, None if frequencies is None else frequencies.n_documents)
