"""Turns published embeddings files, one or several, into one store of the terms that can be looked up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ingest.embeddings.formats import Block, Layout, inspect, read_blocks
from ingest.embeddings.summary import Summary
from ingest.progress import Progress, no_progress
from reranker.embeddings import Embeddings, EmbeddingsWriter, check_output
from reranker.errors import BadEmbeddings, BadInput
from reranker.languages import known_languages, language_code
from reranker.tokens import is_stop_word, normalize_term, tokenize

# A ConceptNet term: https://github.com/commonsense/conceptnet5/wiki/URI-hierarchy
_CONCEPT = "/c/"

NOT_UTF8 = "words that are not UTF-8"
NOT_ONE_WORD = "words that no text holds as one word of letters (phrases, numbers, signs)"
STOP_WORD = "stop words"
DUPLICATE = "words that came before, such as in another case"
OVER_MAX = "words beyond the most frequent ones asked for"
OTHER_LANGUAGE = "words of languages that were not asked for"
UNKNOWN_LANGUAGE = "words of languages that Sinkrank does not know"

# So few words may stand in the order of the alphabet by chance, or because somebody wrote them down so.
_MIN_WORDS_TO_JUDGE_ORDER = 1_000
_SORTED_SHARE = 0.99


@dataclass(frozen=True, slots=True)
class Source:
    """A file to import.

    Attributes:
        path: plain, gzipped, or a zip archive with one file in it.
        language: of all its words; where they name their own (`/c/fr/chat`), the only one to take. None: they name it.
        format: a name in `ingest.embeddings.formats.FORMATS`; None: seen from the contents.
    """

    path: Path
    language: str | None = None
    format: str | None = None


def import_embeddings(
    sources: Sequence[Source],
    output: Path,
    *,
    replace: bool = False,
    max_terms_per_language: int | None = None,
    progress: Progress = no_progress,
) -> Summary:
    """Writes the embeddings of files to a store, which appears whole or not at all.

    Languages in several files must share one space, as aligned fastText, MUSE and Numberbatch do. Terms are normalised
    as the tokenizer does, and those that it can never produce are left out and counted; of equal terms the first stays.

    Args:
        max_terms_per_language: the first so many usable words of each language; files put the frequent ones first.

    Raises:
        NotFound: a file is not there.
        UnknownLanguage: a language that Sinkrank does not know.
        BadInput: the output exists, no file was given, or a language is missing.
        BadEmbeddings: a file cannot be read, with its line and the cure; or files differ in their dimensions.
    """
    started = time.monotonic()
    if not sources:
        raise BadInput("no file was given; name at least one")
    if max_terms_per_language is not None and max_terms_per_language < 1:
        raise BadInput(f"max_terms_per_language is {max_terms_per_language}; give 1 or more, or leave it out")
    check_output(output, replace=replace)
    layouts = [inspect(source.path, source.format) for source in sources]
    _check_same_dim(sources, layouts)
    selection = _Selection(max_terms_per_language)
    total = sum(source.path.stat().st_size for source in sources)
    done = 0
    with EmbeddingsWriter(output, dim=layouts[0].dim, source=_described(sources, layouts), replace=replace) as writer:
        for source, layout in zip(sources, layouts, strict=True):
            selection.begin(source)
            for block in read_blocks(source.path, layout, selection.wants):
                _append(writer, selection.take(), block)
                progress(done + block.position, total, f"importing {source.path.name}")
                if selection.is_full:
                    break
            selection.end()
            done += source.path.stat().st_size
        writer.commit()
    progress(total, total, "imported")
    embeddings = Embeddings.open(output)
    return Summary(
        output=embeddings.path,
        version=embeddings.version,
        dim=embeddings.dim,
        languages=dict(embeddings.meta["languages"]),
        skipped=dict(selection.skipped),
        warnings=tuple(selection.warnings),
        seconds=time.monotonic() - started,
    )


def _check_same_dim(sources: Sequence[Source], layouts: Sequence[Layout]) -> None:
    for source, layout in zip(sources, layouts, strict=True):
        if layout.dim != layouts[0].dim:
            raise BadEmbeddings(
                f"{sources[0].path} has {layouts[0].dim} dimensions and {source.path} has {layout.dim}; all files of a "
                "store must share one space, so give files that were aligned with each other"
            )


def _described(sources: Sequence[Source], layouts: Sequence[Layout]) -> list[dict[str, str | None]]:
    return [
        {"file": source.path.name, "layout": layout.kind, "language": source.language}
        for source, layout in zip(sources, layouts, strict=True)
    ]


def _append(writer: EmbeddingsWriter, taken: Sequence[tuple[str, str]], block: Block) -> None:
    """Adds the block's terms language by language, in the order of the file."""
    rows: dict[str, list[int]] = {}
    for row, (language, _) in enumerate(taken):
        rows.setdefault(language, []).append(row)
    for language, places in rows.items():
        writer.append(language, [taken[row][1] for row in places], block.vectors[np.array(places)])


class _Selection:
    """Chooses the words to import, and remembers the language and term of each until its vector is there.

    Attributes:
        skipped: words left out, by reason.
        warnings: what the user should know of the files, in sentences.
    """

    def __init__(self, max_terms: int | None) -> None:
        self.skipped: Counter[str] = Counter()
        self.warnings: list[str] = []
        self._max_terms = max_terms
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
            if self._language is not None and named != self._language:
                return self._skip(OTHER_LANGUAGE)
            if named not in known_languages():
                return self._skip(UNKNOWN_LANGUAGE)
            language = named
        if language is None:
            raise BadInput(
                f"{place}: the word {key!r} does not say its language, as /c/en/{key} would; give it with --lang, or "
                f"before the file's name: en={self._source.path.name}"
            )
        term = normalize_term(key)
        if not _is_token(term):
            return self._skip(NOT_ONE_WORD)
        if is_stop_word(term, language):
            return self._skip(STOP_WORD)
        seen = self._seen.setdefault(language, set())
        if term in seen:
            return self._skip(DUPLICATE)
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


def _is_token(term: str) -> bool:
    """Whether the tokenizer gives a normalised term back as it is; letters without marks need no second look."""
    return term.isalpha() or tokenize(term, "", max_tokens=None) == [term]
