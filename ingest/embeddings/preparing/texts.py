"""Reads documents once, copies them into a file for the later steps, and counts their words and languages."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from ingest.documents import Layout, Record
from ingest.embeddings.building import Collection
from ingest.embeddings.document_units import GROUP_FIELD, Unusable, group_of
from ingest.language import UNKNOWN_LANGUAGE
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadDocument, BadInput
from reranker.text.documents import Document
from reranker.text.tokens import letter_tokens

TEXTS, COUNTS = "texts.jsonl.gz", "counts.json.gz"

# A language detected in fewer documents is a quotation or a wrong detection, as is common for short texts.
_LEAST_DETECTED_SHARE = 0.05
# With more terms in a language (some 100 bytes each), terms that occurred once are dropped.
_MAX_TERMS = 1_000_000
# Number of groups that are checked for translations.
_MAX_GROUPS = 200_000
_DOCUMENTS_A_REPORT = 1_000
_PART_OF = "document"


@dataclass(frozen=True, slots=True)
class Texts:
    """Documents in a file, and their counts.

    Attributes:
        languages: number of documents by language, the most frequent first.
        collection: the words of each language with their document frequencies.
        n_pairs: sum of the numbers of distinct words of the documents.
        n_aligned: number of groups in two or more languages, among the first 200,000 groups.
        group_field: the field with the group's id, or `id`; None: `group`.
        main_language: language of documents whose own language was detected in too few documents.
    """

    path: Path
    languages: dict[str, int]
    collection: Collection
    n_pairs: int
    n_aligned: int
    group_field: str | None
    main_language: str
    unusable: Unusable

    @property
    def n_documents(self) -> int:
        return sum(self.languages.values())

    def documents(self, share: float = 1.0) -> Iterator[Document]:
        """The documents, or a random share of them; of translations of each other, all or none.

        Their metadata has only the fields for groups.
        """
        with gzip.open(self.path) as stream:
            for line in stream:
                doc_id, language, title, text, metadata = orjson.loads(line)
                if language not in self.languages:
                    language = self.main_language
                document = Document(doc_id, text, language, title, metadata=metadata)
                if share >= 1 or self.draw(document) < share:
                    yield document

    def draw(self, document: Document) -> float:
        """A random number from 0 to 1, the same for translations of each other and in every run."""
        group = _group(document, self.group_field)
        key = f"{document.language}\0{document.doc_id}" if group is None else group
        return int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) / 2**64

    def group(self, document: Document) -> str | None:
        return _group(document, self.group_field)


def read_texts(
    records: Iterable[Record],
    layout: Layout,
    folder: Path,
    group_field: str | None = None,
    progress: Progress = no_progress,
) -> Texts:
    """Writes the documents into a folder, which `open_texts` opens again.

    Args:
        layout: the layout that the records were read with.

    Raises:
        BadInput: no document has words, or none has a known language.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counter, unusable = _Counter(group_field), Unusable()
    kept = {name for name in (group_field or GROUP_FIELD, (group_field or "").replace(".", "_"), _PART_OF) if name}
    scratch = folder / f"{TEXTS}.tmp"
    with gzip.open(scratch, "wb", compresslevel=1) as stream:
        for number, record in enumerate(records):
            if number % _DOCUMENTS_A_REPORT == 0:
                progress(number, None, "reading documents")
            document = record.document
            if document is None:
                unusable.add(f"{_shown(record.row.file)}, line {record.row.line}", str(record.reason))
                continue
            metadata = {name: document.metadata[name] for name in kept if name in document.metadata}
            row = [document.doc_id, document.language, document.title, document.text, metadata]
            stream.write(orjson.dumps(row) + b"\n")
            counter.add(document, _names_language(record, layout))
    progress(counter.n_documents, counter.n_documents, "read documents")
    counts = counter.result(unusable)
    (folder / COUNTS).write_bytes(gzip.compress(orjson.dumps(counts), compresslevel=1))
    scratch.replace(folder / TEXTS)
    return open_texts(folder, group_field, unusable)


def open_texts(folder: Path, group_field: str | None, unusable: Unusable | None = None) -> Texts:
    """Opens the result of `read_texts`.

    Raises:
        OSError: it is missing or incomplete.
    """
    path = folder / TEXTS
    path.stat()
    counts = orjson.loads(gzip.decompress((folder / COUNTS).read_bytes()))
    languages: dict[str, int] = counts["languages"]
    frequencies = {language: Counter(counted) for language, counted in counts["frequencies"].items()}
    return Texts(
        path=path,
        languages=languages,
        collection=Collection(frequencies, languages),
        n_pairs=counts["n_pairs"],
        n_aligned=counts["n_aligned"],
        group_field=group_field,
        main_language=counts["main_language"],
        unusable=unusable or Unusable(),
    )


class _Counter:
    """Counts documents and words by language, separately for detected languages."""

    def __init__(self, group_field: str | None) -> None:
        self._group_field = group_field
        self._n: Counter[tuple[str, bool]] = Counter()
        self._frequencies: dict[tuple[str, bool], Counter[str]] = {}
        self._languages_of_groups: dict[str, str] = {}
        self._aligned: set[str] = set()
        self._n_pairs = 0

    @property
    def n_documents(self) -> int:
        return self._n.total()

    def add(self, document: Document, is_named: bool) -> None:
        key = document.language, is_named
        self._n[key] += 1
        words = dict.fromkeys(letter_tokens(document.full_text, document.language, None))
        counter = self._frequencies.setdefault(key, Counter())
        counter.update(words.keys())
        self._n_pairs += len(words)
        if len(counter) > _MAX_TERMS:
            self._frequencies[key] = Counter({word: n for word, n in counter.items() if n > 1})
        group = _group(document, self._group_field)
        if group is not None and len(self._languages_of_groups) < _MAX_GROUPS:
            first = self._languages_of_groups.setdefault(group, document.language)
            if first != document.language:
                self._aligned.add(group)

    def result(self, unusable: Unusable) -> dict[str, Any]:
        """
        Raises:
            BadInput: nothing was counted.
        """
        known = {key: n for key, n in self._n.items() if key[0] != UNKNOWN_LANGUAGE}
        if not known or not self._n_pairs:
            if not self._n.total() and not unusable.n:
                raise BadInput("there are no documents; check the file or the index that you named")
            reason = f". {unusable}" if unusable.n else ""
            raise BadInput(
                f"none of {self._n.total():,} documents has words in a known language; name the field of the text with "
                f"--text-field, and the default language with --lang{reason}"
            )
        totals: Counter[str] = Counter()
        for (language, is_named), n in known.items():
            if is_named or n >= _LEAST_DETECTED_SHARE * self._n.total():
                totals[language] += n
        main = max(totals or Counter(dict.fromkeys((code for code, _ in known), 1)), key=lambda code: totals[code])
        languages: Counter[str] = Counter()
        frequencies: dict[str, Counter[str]] = {}
        for (language, is_named), n in self._n.items():
            code = language if language in totals else main
            languages[code] += n
            frequencies.setdefault(code, Counter()).update(self._frequencies[language, is_named])
        return {
            "languages": dict(languages.most_common()),
            "frequencies": frequencies,
            "n_pairs": self._n_pairs,
            "n_aligned": len(self._aligned),
            "main_language": main,
        }


def _names_language(record: Record, layout: Layout) -> bool:
    """Whether the row names its language, or the caller named it for all rows."""
    if layout.default_language not in (None, "auto"):
        return True
    values = record.row.values or {}
    return any(values.get(name) for name in (*layout.language_fields, "language"))


def _group(document: Document, field: str | None) -> str | None:
    try:
        return group_of(document, field or GROUP_FIELD)
    except BadDocument:
        return None


def _shown(name: str) -> str:
    """The name of a source; of an index without its URL, which may contain a password."""
    return name.rpartition("/")[2] if "://" in name else name
