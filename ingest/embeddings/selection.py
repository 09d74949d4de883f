"""Chooses the words to import from embeddings files: those that a text can contain, and that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ingest.embeddings.streams import open_file
from reranker.base.errors import BadEmbeddings, BadInput
from reranker.text.languages import known_languages, language_code
from reranker.text.normalization import normalize_term
from reranker.text.segmentation import can_split, check_can_split
from reranker.text.tokens import is_stop_word, is_word

# A ConceptNet term: https://github.com/commonsense/conceptnet5/wiki/URI-hierarchy
_CONCEPT = "/c/"

NOT_UTF8 = "words that are not UTF-8"
NOT_ONE_WORD = "words that no text holds as one word of letters (phrases, numbers, signs)"
STOP_WORD = "stop words"
DUPLICATE = "words that came before, such as in another case"
OVER_MAX = "words beyond the most frequent ones asked for"
OTHER_LANGUAGE = "words of languages that were not asked for"
NOT_IN_VOCABULARY = "words that the vocabulary does not hold, or too seldom"
NOT_SPLIT = "words of languages without spaces between words, which need: pip install 'sinkrank[words]'"
UNKNOWN_LANGUAGE = "words of languages that Sinkrank does not know"

# So few words may stand in the order of the alphabet by chance, or because somebody wrote them down so.
_MIN_WORDS_TO_JUDGE_ORDER = 1_000
_SORTED_SHARE = 0.99


@dataclass(frozen=True, slots=True)
class Source:
    """A file to import.

    Attributes:
        path: plain, gzipped, or a zip archive with one file in it.
        member: the file to read of a zip archive with several.
        language: of all its words; where they name their own (`/c/fr/chat`), the only one to take. None: they name it.
        format: a name in `ingest.embeddings.formats.FORMATS`; None: seen from the contents.
        languages: where words name their own, the only ones to take. None: all.
    """

    path: Path
    language: str | None = None
    format: str | None = None
    member: str | None = None
    languages: frozenset[str] | None = None


class Selection:
    """Chooses the words to import, and remembers the language and term of each until its vector is there.

    Attributes:
        skipped: words left out, by reason.
        warnings: what the user should know of the files, in sentences.
    """

    def __init__(self, max_terms: int | None, vocabularies: Mapping[str, Collection[str]] | None = None) -> None:
        """
        Args:
            max_terms: to take of each language.
            vocabularies: the terms to take, by language; a language without one has all of its words taken.
        """
        self.skipped: Counter[str] = Counter()
        self.warnings: list[str] = []
        self._max_terms = max_terms
        self._vocabularies = vocabularies or {}
        self._seen: dict[str, set[str]] = {}
        self._taken: list[tuple[str, str]] = []

    def begin(self, source: Source) -> None:
        """Turns to the next file."""
        self._source = source
        self._language = None if source.language is None else language_code(source.language)
        self._skipped_before = self.skipped.copy()
        self._names_languages = False
        self._n_kept = 0
        self._n_in_order = 0
        self._last = ""

    def end(self) -> None:
        """Judges the file as a whole.

        Raises:
            BadEmbeddings: it gave no term.
        """
        if not self._n_kept:
            reasons = self.skipped - self._skipped_before
            counted = "; ".join(f"{count:,} {reason}" for reason, count in reasons.items()) or "it has no rows"
            raise BadEmbeddings(f"{self._source.path} gave no term ({counted}); check its language and its contents")
        if self._n_kept >= _MIN_WORDS_TO_JUDGE_ORDER and self._n_in_order >= _SORTED_SHARE * self._n_kept:
            self.warnings.append(
                f"{self._source.path.name} is in the order of the alphabet, so a language's first words are not its "
                "most frequent ones" + (", as max_terms_per_language takes them to be" if self._max_terms else "")
            )

    @property
    def is_full(self) -> bool:
        """Whether nothing more can come of this file: it has one language, and that has all the terms asked for."""
        return not self._names_languages and self._language is not None and self._has_all(self._language)

    def take(self) -> list[tuple[str, str]]:
        """The (language, term) of the words wanted since the last call."""
        taken, self._taken = self._taken, []
        return taken

    def wants(self, word: bytes, place: str) -> bool:
        """Whether a word's vector is to be read.

        Raises:
            BadInput: the word's language is not to be known.
        """
        try:
            key = word.decode()
        except UnicodeDecodeError:
            return self._skip(NOT_UTF8)
        language = self._language
        if key.startswith(_CONCEPT):
            self._names_languages = True
            named, _, key = key.removeprefix(_CONCEPT).partition("/")
            if named != (self._language or named) or named not in (self._source.languages or (named,)):
                return self._skip(OTHER_LANGUAGE)
            if named not in known_languages():
                return self._skip(UNKNOWN_LANGUAGE)
            language = named
        if language is None:
            raise BadInput(
                f"{place}: the word {key!r} does not say its language, as /c/en/{key} would; give it with --lang, or "
                f"before the file's name: en={self._source.path.name}"
            )
        if not can_split(language):
            return self._skip(NOT_SPLIT)
        term = normalize_term(key, language)
        if not is_word(term, language):
            return self._skip(NOT_ONE_WORD)
        if is_stop_word(term, language):
            return self._skip(STOP_WORD)
        seen = self._seen.setdefault(language, set())
        if term in seen:
            return self._skip(DUPLICATE)
        if language in self._vocabularies and term not in self._vocabularies[language]:
            return self._skip(NOT_IN_VOCABULARY)
        if self._has_all(language):
            return self._skip(OVER_MAX)
        seen.add(term)
        self._taken.append((language, term))
        self._n_kept += 1
        self._n_in_order += self._last <= term
        self._last = term
        return True

    def _has_all(self, language: str) -> bool:
        return self._max_terms is not None and len(self._seen.get(language, ())) >= self._max_terms

    def _skip(self, reason: str) -> bool:
        self.skipped[reason] += 1
        return False


def read_vocabulary(path: Path, language: str, min_count: int | None = None, max_terms: int | None = None) -> set[str]:
    """The terms of a file with a word a line, and perhaps its count or document frequency after a blank, as word2vec
    and fastText write their vocabularies; counts of words that become one term are added up.

    Args:
        min_count: leave out terms that come less often.
        max_terms: keep so many of the most frequent; of equally frequent ones the first of the file.

    Raises:
        NotFound: there is no such file.
        BadInput: a count is asked for and a line has none, or one that is no number; or no term is left; or the
            language's words cannot be found (`reranker.text.segmentation`).
    """
    check_can_split((language,), f"{path} is in")
    counted = min_count is not None
    counts: Counter[str] = Counter()
    with open_file(path) as file:
        for number, line in file.lines():
            if not line.strip():
                continue
            word, count = _word_and_count(line, f"{path}, line {number}", counted)
            term = normalize_term(word, language)
            if is_word(term, language) and not is_stop_word(term, language):
                counts[term] += count
    kept = most_frequent(counts, min_count, max_terms)
    if not kept:
        raise BadInput(f"{path} leaves no word of language {language!r} to import; check its contents, or ask for more")
    return kept


def most_frequent(counts: Counter[str], min_count: int | None, max_terms: int | None) -> set[str]:
    """The terms that come often enough, and of these so many of the most frequent; of equally frequent ones those that
    were counted first."""
    return {term for term, count in counts.most_common(max_terms) if min_count is None or count >= min_count}


def _word_and_count(line: bytes, place: str, counted: bool) -> tuple[str, int]:
    try:
        word, *rest = line.decode().split()
        return word, int(rest[-1]) if rest else _no_count(counted)
    except ValueError as error:
        raise BadInput(f"{place}: give a word and its count, such as `table 120` ({error})") from error


def _no_count(counted: bool) -> int:
    if counted:
        raise ValueError("there is no count to compare with min_count")
    return 0
