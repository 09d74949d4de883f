"""Reads bilingual dictionaries, in FreeDict's dictd format or in TSV, as pairs of words and as aligned units.

dictd   `freedict-fin-eng.index` with `freedict-fin-eng.dict.dz` beside it, or their folder
TSV     a word, a tab and its translation on each line, plain or compressed; further columns are ignored. In a line
        without a tab the first blank is the separator, as in MUSE's dictionaries.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import regex

from ingest.embeddings.dictd import read_entries
from ingest.embeddings.units import Unit
from ingest.files.lines import lines, open_file
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
        path: a TSV file, a dictd index, or a folder with one dictd index in it.
        language: ISO 639-1 code of the headwords.
        target: ISO 639-1 code of the translations.
    """

    path: Path
    language: str
    target: str

    @property
    def name(self) -> str:
        """The name in a store's `meta.json`."""
        return f"{self.language}-{self.target} {self.path.name}"


class Pair(NamedTuple):
    """A normalised term and its translation, single words, each as (language, term)."""

    source: tuple[str, str]
    target: tuple[str, str]


def read_entries_of(dictionary: Dictionary) -> Iterator[Translations]:
    """The headwords with their translations, as a stream; a headword may occur several times.

    Raises:
        BadInput: the file cannot be opened, is empty or damaged (the message names the line), or is not in one of the
            formats.
    """
    empty = True
    for entry in _entries(dictionary.path):
        empty = False
        yield entry
    if empty:
        raise BadInput(f"{dictionary.path} has no entries; give a dictd dictionary, or TSV: word, tab, translation")


def _entries(path: Path) -> Iterator[Translations]:
    index = _dictd_index(path)
    if index is not None:
        for headword, text in read_entries(index, _dictd_text(index)):
            yield Translations(headword, senses_of(text))
        return
    with open_file(path) as file:
        for number, line, error in lines(file):
            if error is not None:
                raise BadInput(f"{path}, line {number}: {error}")
            if line.strip():
                yield _pair_of_line(line, f"{path}, line {number}")


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


def dictionary_units(dictionary: Dictionary) -> Iterator[Unit]:
    """Texts for training: each sense of a headword is a group of two units that belong to no document.

    Raises:
        BadInput: as `read_entries_of`.
    """
    number = 0
    for headword, senses in read_entries_of(dictionary):
        for sense in senses:
            number += 1
            group = f"{dictionary.name}:{number}"
            source, target = dictionary.language, dictionary.target
            yield Unit(group, source, without_marks(headword, source), None)
            yield Unit(group, target, without_marks("; ".join(sense), target), None)


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


def _dictd_index(path: Path) -> Path | None:
    if not path.is_dir():
        return path if path.suffix == ".index" else None
    found = sorted(path.glob("*.index"))
    if len(found) != 1:
        raise BadInput(f"{path} contains {len(found)} files *.index; name the one of the dictionary, or a TSV file")
    return found[0]


def _dictd_text(index: Path) -> Path:
    for suffix in (".dict.dz", ".dict.gz"):
        if index.with_suffix(suffix).exists():
            return index.with_suffix(suffix)
    raise BadInput(f"{index.with_suffix('.dict.dz')} is missing; {index.name} needs it, since it contains the entries")


def _pair_of_line(line: bytes, place: str) -> Translations:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: {error}; write the dictionary in UTF-8") from error
    fields = [field.strip() for field in (text.split("\t") if "\t" in text else text.split(maxsplit=1))]
    if len(fields) < 2 or not fields[0] or not fields[1]:
        raise BadInput(f"{place}: {text[:40]!r} is not a word, a tab and its translation; correct the line")
    return Translations(fields[0], ((fields[1],),))


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
