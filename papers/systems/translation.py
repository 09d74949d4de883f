"""Translates queries word by word, with one translation for each word, for a system of one language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path

from ingest.embeddings.dictionaries import Translations
from ingest.progress import Progress, no_progress
from papers.base.stopwatch import Stopwatch
from papers.corpora.tasks import SYSTEM_TOKENS, Direction, Task
from papers.systems.dictionary import PLACEHOLDERS, check_direction, licences, read_into
from papers.systems.protocol import Distances, System
from reranker.text.tokens import letter_tokens
from sinkrank.demo.pages import CorpusPage

ReadInto = Callable[
    [
        Direction,
        Path,
        Callable[[Iterable[Translations]], None],
        Callable[[Iterable[Translations]], None],
        Progress,
    ],
    None,
]
"""A function with the signature of `dictionary.read_into`."""


class UnigramTranslator:
    """Takes the translation of a word that is most probable in a unigram language model of the documents' language
    (Balikas et al. 2018, section 4).

    Words are looked up as they are written. The probability of a word is (count + 1) / (tokens + vocabulary + 1), that
    of a translation of several words is the product. Equally probable ones are taken in alphabetical order. A word
    without a translation stays.

    Args:
        counts: number of each token in training text in the documents' language.
    """

    def __init__(self, direction: Direction, counts: Mapping[str, int]) -> None:
        self._direction, self._counts = direction, counts
        self._log_total = log(sum(counts.values()) + len(counts) + 1)
        self._translations: dict[str, set[tuple[str, ...]]] = {}

    def add(self, entries: Iterable[Translations]) -> None:
        """Adds a dictionary in this direction, without headwords of several words."""
        for headword, senses in entries:
            for each in (each for sense in senses for each in sense):
                self._add(headword, each)

    def add_inverted(self, entries: Iterable[Translations]) -> None:
        """Adds a dictionary in the other direction."""
        for headword, senses in entries:
            for each in (each for sense in senses for each in sense):
                self._add(each, headword)

    def translate(self, token: str) -> tuple[str, ...]:
        """The words of the chosen translation."""
        found = self._translations.get(token)
        return min(found, key=lambda words: (-self._log_probability(words), words)) if found else (token,)

    def _add(self, word: str, translation: str) -> None:
        words = letter_tokens(word, self._direction.query_language, None)
        translated = tuple(
            each
            for each in letter_tokens(translation, self._direction.document_language, None)
            if each not in PLACEHOLDERS
        )
        if len(words) == 1 and words[0] not in PLACEHOLDERS and translated:
            self._translations.setdefault(words[0], set()).add(translated)

    def _log_probability(self, words: Sequence[str]) -> float:
        return sum(log(self._counts.get(word, 0) + 1) - self._log_total for word in words)


class Translated:
    """A system in the documents' language, with queries translated by FreeDict's dictionaries.

    Args:
        system: the system in the documents' language.
        directions: directions whose dictionaries `fit` loads.
        folder: where dictionaries are cached.
        read: reads the dictionaries of a direction.

    Raises:
        BadInput: there is no dictionary for a direction.
    """

    def __init__(
        self, name: str, system: System, directions: Iterable[Direction], folder: Path, read: ReadInto = read_into
    ) -> None:
        self.name, self._system = name, system
        self._directions, self._folder, self._read = tuple(directions), folder, read
        self._translators: dict[Direction, UnigramTranslator] = {}
        self.description = (
            "queries translated word by word with FreeDict, of several translations the one most probable by the words "
            f"of the training pages; then: {system.description}"
        )
        self.data = "; ".join(filter(None, (licences(self._directions), system.data)))
        for direction in self._directions:
            check_direction(direction, name)

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        """Reads the dictionaries, counts the words of the training pages, and fits the system.

        Raises:
            BadInput: a dictionary cannot be read.
            FetchFailed: a dictionary is missing and cannot be downloaded.
        """
        counts: dict[str, Counter[str]] = {}
        for direction in self._directions:
            language = direction.document_language
            if language not in counts:
                own = (page for page in pages if page.language == language)
                tokens = (token for page in own for token in letter_tokens(page.text, language, SYSTEM_TOKENS))
                counts[language] = Counter(tokens)
            translator = UnigramTranslator(direction, counts[language])
            self._read(direction, self._folder, translator.add, translator.add_inverted, progress)
            self._translators[direction] = translator
        self._system.fit(pages, progress)

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`. The task is translated first, so the idf of a query is that of the documents."""
        translator = self._translators.get(task.direction)
        if translator is None:
            raise RuntimeError(f"{self.name} has no dictionary for {task.direction} yet; call fit first")
        watch = Stopwatch()
        with watch.running():
            queries = {
                query_id: tuple(word for token in tokens for word in translator.translate(token))
                for query_id, tokens in task.queries.items()
            }
        language = task.direction.document_language
        asked = replace(task, direction=Direction(language, language), queries=queries, query_side=task.documents)
        found = self._system.distances(asked, progress)
        return replace(found, query_s=found.query_s + watch.seconds)
