"""Reads FreeDict's bilingual dictionaries as pairs of words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import regex

from ingest.embeddings.dictd import read_entries
from reranker.base.errors import BadInput
from reranker.text.tokens import letter_tokens

_SENSE = regex.compile(r"\d+\. (.*)")
# If a sense has several meanings, the number of the first one ends the line of translations.
_MEANING = regex.compile(r"\s\d+\.$")
# A line below a translation, or instead of one: see: {…}, Synonyms: {…}, Note: …, "an example" - its translation
_REMARK = regex.compile(r"\s+(?:see:|Synonyms?:|Note:|\")")
# <masc>, [comp.], (sth.), {see also}
_NOTE = regex.compile(r"<[^>]*>|\[[^\]]*\]|\([^)]*\)|\{[^}]*\}")
_BETWEEN = regex.compile(r"[,;]")
# Marks that only dictionaries write: stress in Cyrillic words, length of Latin vowels.
_ACUTE, _MACRON, _BREVE = "\u0301", "\u0304", "\u0306"
_MARKS = {"bg": _ACUTE, "ru": _ACUTE, "uk": _ACUTE, "la": _MACRON + _BREVE}


class Translations(NamedTuple):
    """A headword with the translations of each of its senses, not normalised."""

    headword: str
    senses: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Dictionary:
    """A dictionary to read.

    Attributes:
        path: folder of the two files, `freedict-fin-eng.index` and `freedict-fin-eng.dict.dz`.
        language: ISO 639-1 code of the headwords.
        target: ISO 639-1 code of the translations.
    """

    path: Path
    language: str
    target: str


class Pair(NamedTuple):
    """A normalised term and its translation, single words, each as (language, term)."""

    source: tuple[str, str]
    target: tuple[str, str]


def read_entries_of(dictionary: Dictionary) -> Iterator[Translations]:
    """The headwords with their translations, as a stream; a headword may occur several times.

    Raises:
        BadInput: a file is missing or damaged; the message names the line.
    """
    for headword, text in read_entries(*_dictd_files(dictionary.path)):
        yield Translations(headword, senses_of(text))


def read_pairs(dictionary: Dictionary) -> Iterator[Pair]:
    """The pairs of single words. Phrases, suffixes (`-ssa`) and words that the tokenizer drops are skipped.

    Raises:
        BadInput: as `read_entries_of`.
    """
    for headword, senses in read_entries_of(dictionary):
        term = _one_term(headword, dictionary.language)
        if term is None:
            continue
        for translation in dict.fromkeys(each for sense in senses for each in sense):
            other = _one_term(translation, dictionary.target)
            if other is not None:
                yield Pair((dictionary.language, term), (dictionary.target, other))


def without_marks(text: str, language: str) -> str:
    """The text without the marks that only dictionaries write.

    >>> without_marks("цикламе́н", "ru"), without_marks("йод", "ru"), without_marks("adumbrātiō", "la")
    ('цикламен', 'йод', 'adumbratio')
    """
    marks = _MARKS.get(language)
    if marks is None:
        return text
    plain = "".join(sign for sign in unicodedata.normalize("NFD", text) if sign not in marks)
    return unicodedata.normalize("NFC", plain)


def _one_term(text: str, language: str) -> str | None:
    tokens = letter_tokens(without_marks(text, language), language, None)
    return tokens[0] if len(tokens) == 1 and not text.startswith("-") else None


def _dictd_files(folder: Path) -> tuple[Path, Path]:
    found = sorted(folder.glob("*.index"))
    if len(found) != 1:
        raise BadInput(f"{folder} contains {len(found)} files *.index, not one; delete it and fetch it again")
    return found[0], found[0].with_suffix(".dict.dz")


def senses_of(entry: str) -> tuple[tuple[str, ...], ...]:
    """The translations in an entry, sense by sense.

    An entry has a line for the headword, then a line of translations for each sense, numbered if there are several.
    Definitions, examples and references follow each sense and are ignored, as are notes in brackets.

    >>> senses_of("solu /solu/ <n>\\n1. cell 2.\\nelävä rakenne\\n 3.\\ntaulukossa\\n2. cell [adm.] , unit <n>")
    (('cell',), ('cell', 'unit'))
    """
    lines = [line for line in entry.split("\n")[1:] if line.strip() and not _REMARK.match(line)]
    numbered = [match.group(1) for line in lines if (match := _SENSE.match(line))]
    unnumbered = [line for line in lines[:1] if not _SENSE.match(line)]
    return tuple(found for line in unnumbered + numbered if (found := _parted(line)))


def _parted(line: str) -> tuple[str, ...]:
    plain = _NOTE.sub(" ", _MEANING.sub("", line))
    return tuple(" ".join(part.split()) for part in _BETWEEN.split(plain) if part.strip())
