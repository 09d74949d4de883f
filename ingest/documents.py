"""Turns rows of files into checked documents; a row that is no document comes out with the reason, in its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from ingest.files import REJECT_FIELDS, Row, Source, json_type, read_header, read_rows
from reranker.documents import Document
from reranker.encoding import check_document
from reranker.errors import BadDocument, BadInput, UnknownLanguage

# OpenSearch's and Elasticsearch's limit.
MAX_ID_BYTES = 512

_LANGUAGE_FIELDS = ("language", "lang")
_METADATA_FIELD = "metadata"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a document's parts stand in a row.

    All other fields of a row become metadata: in JSONL they join the object `metadata`, whose own values win; in CSV
    they are strings. Fields that are null or empty strings are left out.

    Attributes:
        language_field: None: `language`, or `lang` where there is none.
        default_language: of rows that name none.
    """

    id_field: str = "id"
    language_field: str | None = None
    title_field: str = "title"
    text_field: str = "text"
    url_field: str = "url"
    default_language: str | None = None

    @property
    def language_fields(self) -> tuple[str, ...]:
        return _LANGUAGE_FIELDS if self.language_field is None else (self.language_field,)


@dataclass(frozen=True, slots=True)
class Record:
    """A row and what came of it: a checked document, or the reason why there is none.

    Attributes:
        doc_id: as far as it could be read.
    """

    row: Row
    doc_id: str | None
    document: Document | None
    reason: str | None = None


def check_sources(sources: Sequence[Source], layout: Layout) -> None:
    """Looks at the headers before a long run begins.

    Raises:
        BadInput: a CSV file has no column of text, or none of the language where no default is given.
    """
    for source in sources:
        header = read_header(source)
        if header is None:
            continue
        if layout.text_field not in header and layout.title_field not in header:
            raise BadInput(
                f"{source.name} has no column {layout.text_field!r} (its columns are {', '.join(header)}); "
                "name the one that holds the text with --text-field"
            )
        if layout.default_language is None and not set(layout.language_fields) & set(header):
            raise BadInput(
                f"{source.name} has no column {layout.language_fields[0]!r} (its columns are {', '.join(header)}); "
                "name it with --language-field, or give the language of all rows with --lang"
            )


def read_records(sources: Sequence[Source], layout: Layout) -> Iterator[Record]:
    """The records of all sources, as a stream. Of several documents with one id the first counts, the others are
    rejected: which of them is meant cannot be known."""
    seen: set[int] = set()
    for source in sources:
        for row in read_rows(source):
            record = _record(row, layout)
            if record.document is not None and not _is_new(record.document.doc_id, seen):
                reason = f"the id {record.doc_id!r} came before in this input; give each document its own"
                record = Record(row, record.doc_id, None, reason)
            yield record


def _is_new(doc_id: str, seen: set[int]) -> bool:
    """Remembers 8 bytes of hash an id: among ten million ids, two share one with a chance of 3 in a million."""
    key = int.from_bytes(blake2b(doc_id.encode(), digest_size=8).digest())
    if key in seen:
        return False
    seen.add(key)
    return True


def _record(row: Row, layout: Layout) -> Record:
    if row.values is None:
        return Record(row, None, None, row.error)
    if row.values.keys() >= REJECT_FIELDS and not row.values.keys() & {layout.title_field, layout.text_field}:
        reason = "a row of a reject file; take its rows out with `jq -r .raw FILE > mended.jsonl`, mend and index those"
        return Record(row, None, None, reason)
    doc_id = row.values.get(layout.id_field)
    shown = str(doc_id) if isinstance(doc_id, str | int) else None
    try:
        document = check_document(as_document(row.values, layout))
    except (BadDocument, UnknownLanguage) as error:
        return Record(row, shown, None, str(error))
    return Record(row, document.doc_id, document)


def as_document(values: Mapping[str, Any], layout: Layout) -> Document:
    """The document of a row; one without an id gets a hash of its contents, so that it keeps it in every run.

    Raises:
        BadDocument: a part of the wrong type, an id that is too long, or no language.
    """
    title = _string(values, layout.title_field)
    text = _string(values, layout.text_field)
    language = next(filter(None, (_string(values, name) for name in layout.language_fields)), layout.default_language)
    if language is None:
        raise BadDocument(
            f"no field {layout.language_fields[0]!r}; add it, or give the language of all documents with --lang"
        )
    return Document(
        doc_id=_doc_id(values, layout.id_field) or content_id(language, title, text),
        text=text,
        language=language,
        title=title,
        url=_string(values, layout.url_field),
        metadata=_metadata(values, layout),
    )


def content_id(language: str, title: str, text: str) -> str:
    """The id of a document that came without one: 32 hexadecimal digits of a hash of its contents."""
    contents = json.dumps([language, title, text], ensure_ascii=False)
    return blake2b(contents.encode(), digest_size=16).hexdigest()


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadDocument(f"field {name!r} is {json_type(value)}, not a string")
    return value


def _doc_id(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    # A whole number reads the same everywhere; 1.0 and true do not.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise BadDocument(f"field {name!r} is {json_type(value)}, not a string or a whole number")
    n_bytes = len(value.encode()) if value else 0
    if n_bytes > MAX_ID_BYTES:
        raise BadDocument(f"the id is {n_bytes} bytes long; give one of {MAX_ID_BYTES} at most")
    return value or ""


def _metadata(values: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    language = [name for name in layout.language_fields if values.get(name)][:1]
    known = {layout.id_field, layout.title_field, layout.text_field, layout.url_field, *language}
    given = values.get(_METADATA_FIELD)
    found = {name: value for name, value in values.items() if name not in known and value not in (None, "")}
    if isinstance(given, dict):
        del found[_METADATA_FIELD]
        return found | given
    if given is not None and not isinstance(given, str):
        raise BadDocument(f"field {_METADATA_FIELD!r} is {json_type(given)}, not an object")
    return found
