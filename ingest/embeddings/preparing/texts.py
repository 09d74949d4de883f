"""Reads documents once, copies them into a file for the later steps, chooses the languages to use, and counts the words
of these languages."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import orjson

from ingest.documents import Layout, Record
from ingest.embeddings.preparing.unusable import Unusable
from ingest.embeddings.units import Unit
from ingest.embeddings.word_frequencies import WordFrequencies
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.text.documents import Document
from reranker.text.language_detection import UNKNOWN_LANGUAGE, main_script
from reranker.text.segmentation import can_split, check_can_split
from reranker.text.tokens import letter_tokens

TEXTS = "texts.jsonl.gz"

# A language detected in fewer documents is not used: a few pages, or a wrong detection, as is common for short texts.
_LEAST_DETECTED_SHARE = 0.05
# With more terms in a language (some 100 bytes each), terms that occurred once are dropped.
_MAX_TERMS = 1_000_000
# Number of groups that are checked for translations.
_MAX_GROUPS = 200_000
_DOCUMENTS_A_REPORT = 1_000
# Default name of the field whose value translations share.
_GROUP_FIELD = "group"
_ID_FIELD = "id"


@dataclass(frozen=True, slots=True)
class UsedLanguages:
    """The languages of the documents that are used.

    Attributes:
        n_documents: number of used documents by language, the most frequent first.
        not_used: number of other documents by language, the most frequent first.
        needs_words: languages in `not_used` that are left out only because their words cannot be found without the
            extra `words`.
        main: the most frequent language.
        script: the script of most documents in `main`.
    """

    n_documents: dict[str, int]
    not_used: dict[str, int]
    needs_words: list[str]
    main: str
    script: str

    def language_of(self, language: str, script: str) -> str | None:
        """The language to read a document in; None: it is not used.

        A wrong detection mostly confuses languages of one script (an English title is taken for Dutch): a document
        whose language is not used belongs to the main language if it has the script of that language, or no letters.
        """
        if language in self.n_documents:
            return language
        return self.main if script in ("", self.script) else None


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """Documents in a file, and their counts.

    Attributes:
        used: the languages; documents in others are not counted in what follows.
        collection: the words of each language with their document frequencies.
        n_aligned: number of groups in two or more languages, among the first 200,000 groups.
    """

    path: Path
    used: UsedLanguages
    collection: WordFrequencies
    n_aligned: int
    unusable: Unusable

    @property
    def is_aligned(self) -> bool:
        """Whether groups are translations of each other. Where no more than one is in several languages, the field
        means something else, such as a group of products."""
        return self.n_aligned > 1

    @property
    def languages(self) -> dict[str, int]:
        """Number of documents by language, the most frequent first."""
        return self.used.n_documents

    @property
    def n_documents(self) -> int:
        return sum(self.languages.values())

    @property
    def n_pairs(self) -> int:
        """Sum of the numbers of distinct words of the documents."""
        return sum(counter.total() for counter in self.collection.document_frequencies.values())

    def units(self, share: float = 1.0) -> Iterator[Unit]:
        """The documents, or a random share of them, the same in every run; of translations of each other, all or none.
        Where there are no translations each document is a group of its own."""
        for number, (unit, is_grouped) in enumerate(_units(self.path, self.used)):
            if is_grouped and not self.is_aligned:
                unit = replace(unit, group=f"#{number}", document=f"#{number}")
            if share >= 1 or _draw(unit) < share:
                yield unit


def _draw(unit: Unit) -> float:
    """A random number from 0 to 1."""
    return int.from_bytes(blake2b(unit.group.encode(), digest_size=8).digest()) / 2**64


def read_texts(
    records: Iterable[Record],
    layout: Layout,
    folder: Path,
    group_field: str | None = None,
    progress: Progress = no_progress,
) -> DocumentFile:
    """Writes the documents into a folder.

    Args:
        layout: the layout that the records were read with.
        group_field: field of `metadata` with the group's id, or `id`; None: `group`, if a document has it.

    Raises:
        BadInput: no document has words, none has a known language or the given `group_field`, or the words of the most
            frequent language cannot be found.
    """
    folder.mkdir(parents=True, exist_ok=True)
    n_documents: Counter[_Kind] = Counter()
    unusable = Unusable()
    n_grouped = 0
    path = folder / TEXTS
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for number, record in enumerate(records):
            if number % _DOCUMENTS_A_REPORT == 0:
                progress(number, None, "reading documents")
            document = record.document
            if document is None:
                unusable.add(record.row, record.reason)
                continue
            group = _group(document, group_field or _GROUP_FIELD)
            n_grouped += group is not None
            script = main_script(document.full_text)
            row = [document.doc_id, document.language, document.full_text, group, script]
            stream.write(orjson.dumps(row) + b"\n")
            n_documents[document.language, _names_language(record, layout), script] += 1
    n = n_documents.total()
    progress(n, n, "read documents")
    if group_field is not None and n and not n_grouped:
        raise BadInput(
            f"none of the {n:,} documents has a field {group_field!r} with a string or a whole number; name the field "
            "that translations share with --group-field, or leave the option out"
        )
    used = _used_languages(n_documents, unusable)
    frequencies, n_aligned = _count_words(_units(path, used), n, progress)
    if not any(frequencies.values()):
        raise _no_words(n, unusable)
    return DocumentFile(
        path=path,
        used=used,
        collection=WordFrequencies(frequencies, used.n_documents),
        n_aligned=n_aligned,
        unusable=unusable,
    )


_Kind = tuple[str, bool, str]
"""The language of a document, whether the document names it, and the script."""


def _used_languages(n_documents: Mapping[_Kind, int], unusable: Unusable) -> UsedLanguages:
    """Uses each language that documents name, or that is detected in enough of them, if its words can be found.

    Raises:
        BadInput: there is no document in a known language, or the words of the most frequent one cannot be found.
    """
    n = sum(n_documents.values())
    known, named = Counter[str](), set[str]()
    for (language, is_named, _), count in n_documents.items():
        if language != UNKNOWN_LANGUAGE:
            known[language] += count
            if is_named:
                named.add(language)
    if not known:
        raise _no_words(n, unusable)
    ((main, n_main),) = known.most_common(1)
    check_can_split([main], f"{n_main:,} of {n:,} documents are in")
    enough = _LEAST_DETECTED_SHARE * n
    candidates = [code for code, count in known.items() if code == main or code in named or count >= enough]
    used = [code for code in candidates if can_split(code)]
    scripts: Counter[str] = Counter()
    for (language, _, script), count in n_documents.items():
        if language == main:
            scripts[script] += count
    chosen = UsedLanguages(dict.fromkeys(used, 0), {}, [], main, scripts.most_common(1)[0][0])
    as_read: Counter[str] = Counter()
    not_used: Counter[str] = Counter()
    for (language, _, script), count in n_documents.items():
        code = chosen.language_of(language, script)
        (not_used if code is None else as_read)[code or language] += count
    return replace(
        chosen,
        n_documents=dict(as_read.most_common()),
        not_used=dict(not_used.most_common()),
        needs_words=[code for code in candidates if code in not_used],
    )


def _no_words(n_documents: int, unusable: Unusable) -> BadInput:
    if not n_documents and not unusable.n:
        return BadInput("there are no documents; check the file or the index that you named")
    if not n_documents:
        return BadInput(
            f"there is no document to read: {unusable}; if the text is in another field, name it with --text-field"
        )
    reason = f". {unusable}" if unusable.n else ""
    return BadInput(
        f"none of {n_documents:,} documents has words in a known language; name the field of the text with "
        f"--text-field, and the default language with --lang{reason}"
    )


def _units(path: Path, used: UsedLanguages) -> Iterator[tuple[Unit, bool]]:
    """The documents of a file that are used, and whether each has a group."""
    with gzip.open(path) as stream:
        for line in stream:
            doc_id, detected, text, group, script = orjson.loads(line)
            language = used.language_of(detected, script)
            if language is not None:
                # The same id in two languages does not mean that the texts are translations.
                own = f"{language}\0{doc_id}" if group is None else group
                yield Unit(own, language, text, own), group is not None


def _count_words(units: Iterable[tuple[Unit, bool]], n: int, progress: Progress) -> tuple[dict[str, Counter[str]], int]:
    """The words of documents by language with their frequencies, and the number of groups in several languages."""
    frequencies: dict[str, Counter[str]] = {}
    languages_of_groups: dict[str, str] = {}
    aligned: set[str] = set()
    for number, (unit, is_grouped) in enumerate(units):
        if number % _DOCUMENTS_A_REPORT == 0:
            progress(number, n, "counting words")
        counter = frequencies.setdefault(unit.language, Counter())
        counter.update(dict.fromkeys(letter_tokens(unit.text, unit.language, None)).keys())
        if len(counter) > _MAX_TERMS:
            frequencies[unit.language] = Counter({word: count for word, count in counter.items() if count > 1})
        if is_grouped and len(languages_of_groups) < _MAX_GROUPS:
            first = languages_of_groups.setdefault(unit.group, unit.language)
            if first != unit.language:
                aligned.add(unit.group)
    progress(n, n, "counted words")
    return frequencies, len(aligned)


def _names_language(record: Record, layout: Layout) -> bool:
    """Whether the row names its language, or the caller named it for all rows."""
    if layout.default_language not in (None, "auto"):
        return True
    values = record.row.values or {}
    return any(values.get(name) for name in (*layout.language_fields, "language"))


def _group(document: Document, field: str) -> str | None:
    """The group of a document in a field of `metadata`, or its id if the field is `id`; None if it has none."""
    if field == _ID_FIELD:
        return document.doc_id
    # `--from-index` copies the nested field `page.group` as `page_group`.
    value = document.metadata.get(field, document.metadata.get(field.replace(".", "_")))
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None
