"""Decides when a search is asked in translation, and into which languages.

The languages of our own indices are known, those of others are learned in the background (`index_statistics`). Until
then a search that finds nothing is tried in all languages of the embeddings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain

from reranker.base.errors import EmptyQuery
from reranker.proxy.indices import Indices
from reranker.proxy.search import Search, TranslatedQuery
from reranker.proxy.window import Window
from reranker.query_dsl.translated_query import TranslatedText, translated_query
from reranker.ranking.query import Query
from reranker.ranking.reranker import Reranker
from reranker.service.service import Service
from reranker.translation import Translator, WordGroup
from reranker.translation.engine_query import counted
from reranker.upstream.calls import Deadline, out_of_time

# Each has clauses of its own, and the engines take 1,024 in all.
_MAX_LANGUAGES = 8
# Of all texts of a search. A text has at most 500 words (and as many numbers); the translated query has 600.
_MAX_TOKENS = 1_000


class SearchTranslator:
    """Translates searches; safe to share between threads."""

    def __init__(self, service: Service, indices: Indices) -> None:
        self._service = service
        self._indices = indices
        self._of_others = Translator(service.embeddings)

    def at_once(self, search: Search, deadline: Deadline) -> TranslatedQuery | None:
        """The search in translation, where it asks for that; None also where the indices' languages are not known
        yet.

        Raises:
            Fallback: there is no time left.
        """
        return self._translated(search, deadline, search.languages) if search.is_translated_at_once else None

    def when_nothing_is_found(self, window: Window, deadline: Deadline) -> TranslatedQuery | None:
        """The search of an empty window in translation; None where there is none, or it was asked for at once.

        Raises:
            Fallback: there is no time left.
        """
        search = window.search
        if search.translate == "never" or search.languages or window.translation is not None:
            return None
        return self._translated(search, deadline, may_guess=True)

    def _translated(
        self, search: Search, deadline: Deadline, languages: Sequence[str] = (), may_guess: bool = False
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
        embeddings = reranker.embeddings
        texts: dict[str, list[TranslatedText]] = {}

        def translate(given: Sequence[str]) -> Mapping[str, Sequence[TranslatedText]]:
            queries = _queries(given, language, reranker)
            texts.update({text: [] for text in queries})
            for target in targets:
                if not deadline.left_s:
                    raise out_of_time()  # nobody waits any more
                frequencies = reranker.idf.languages.get(target)
                n_documents = None if frequencies is None else frequencies.n_documents
                groups_of = translator.groups_of(list(queries.values()), target)
                for text, groups in zip(queries, groups_of, strict=True):
                    if any(len(group.translations) > 1 for group in groups):  # each has its own word among them
                        found = groups if frequencies is None else counted(groups, embeddings, target, frequencies)
                        texts[text].append(TranslatedText(target, found, n_documents))
            return texts

        translated = translated_query(search.clause, translate, search.types)
        if translated is None:
            return None
        of_languages: dict[str, dict[str, WordGroup]] = {}
        for text in chain.from_iterable(texts.values()):
            of_languages.setdefault(text.language, {}).update({group.token: group for group in text.groups})
        return TranslatedQuery(translated, {one: tuple(groups.values()) for one, groups in of_languages.items()})


def _queries(texts: Sequence[str], language: str, reranker: Reranker) -> dict[str, Query]:
    """The words of the texts, as far as they are translated."""
    queries: dict[str, Query] = {}
    n_tokens = 0
    for text in texts:
        with suppress(EmptyQuery):
            queries[text] = reranker.query_with_unknown_words(text, language)
            n_tokens += len(queries[text].tokens)
        if n_tokens >= _MAX_TOKENS:
            break
    return queries
