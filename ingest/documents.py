"""Turns rows of files into checked documents. A row that is not a document gets the reason instead."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from ingest.files import PAGE_FORMATS, REJECT_FIELDS, Row, Source, json_type, parse, read_header, read_rows
from reranker.base.errors import BadDocument, BadInput, UnknownLanguage, WrongParameter
from reranker.base.strict_json import finite
from reranker.stores.base.checks import document_problem
from reranker.text.documents import Document
from reranker.text.language_detection import UNKNOWN_LANGUAGE, detect_language
from reranker.text.languages import language_code

# The default language of rows whose language is to be detected.
DETECTED = "auto"
# With a lower confidence the language is `und`.
_MIN_CONFIDENCE = 0.5

# Our own names, and those of ir_datasets, BEIR, TREC and tutorials of search engines.
_ID_FIELDS = ("id", "doc_id", "_id", "docno")
_LANGUAGE_FIELDS = ("language", "lang")
_TITLE_FIELDS = ("title", "headline")
_TEXT_FIELDS = ("text", "body", "contents", "content")
_METADATA_FIELD = "metadata"
# How a reject file has a byte that is not UTF-8.
_ESCAPED_BYTE = re.compile(rb"(?<!\\)\\x([89a-f][0-9a-f])")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which fields of a row are the parts of a document.

    All other fields of a row become metadata: in JSONL they join the object `metadata`, whose own values win; in CSV
    they are strings unless `types` says otherwise. Fields that are null, empty strings or without a name are left
    out.

    Attributes:
        id_field, language_field, title_field, text_field: None uses the first usual name that a row has, such as `id`,
            `doc_id`, `_id` and `docno`.
        default_language: language of rows that name none, as a code; `auto` detects it.
        types: types of metadata fields that are strings: `int`, `float`, `bool` (true or false), or `list` (split
            at |).

    Raises:
        WrongParameter: an unknown language or type.
    """

    id_field: str | None = None
    language_field: str | None = None
    title_field: str | None = None
    text_field: str | None = None
    url_field: str = "url"
    default_language: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.types.values()) - set(_TYPES))
        if unknown:
            raise WrongParameter(f"type {unknown[0]!r} is not known; give one of {', '.join(_TYPES)}")
        if self.default_language not in (None, DETECTED):
            object.__setattr__(self, "default_language", language_code(str(self.default_language)))

    @property
    def id_fields(self) -> tuple[str, ...]:
        return _ID_FIELDS if self.id_field is None else (self.id_field,)

    @property
    def language_fields(self) -> tuple[str, ...]:
        return _LANGUAGE_FIELDS if self.language_field is None else (self.language_field,)

    @property
    def title_fields(self) -> tuple[str, ...]:
        return _TITLE_FIELDS if self.title_field is None else (self.title_field,)

    @property
    def text_fields(self) -> tuple[str, ...]:
        return _TEXT_FIELDS if self.text_field is None else (self.text_field,)

    def named_fields(self) -> Iterator[tuple[str, str]]:
        """The fields that are not the usual ones, each with the option that names it."""
        yield from (("--types", name) for name in self.types)
        named = {
            "--id-field": self.id_field,
            "--language-field": self.language_field,
            "--title-field": self.title_field,
        }
        yield from ((option, name) for option, name in named.items() if name is not None)
        if self.url_field != "url":
            yield "--url-field", self.url_field


@dataclass(frozen=True, slots=True)
class Record:
    """A row with its checked document, or with the reason why there is none.

    Attributes:
        doc_id: None if it could not be read.
    """

    row: Row
    doc_id: str | None
    document: Document | None
    reason: str | None = None


def check_sources(sources: Sequence[Source], layout: Layout) -> None:
    """Checks the headers before a long run begins.

    Raises:
        BadInput: a CSV or Parquet file has no text column, a name twice, or no language column and there is no default;
            or all are such files, and none has a column that the layout names.
    """
    columns: dict[str, None] = {}
    have_headers = True
    for source in sources:
        header = read_header(source)
        if header is None:
            have_headers = False
            continue
        columns |= dict.fromkeys(header)
        required = layout.text_fields if layout.text_field else (*layout.text_fields, *layout.title_fields)
        if set(required).isdisjoint(header):
            no_names = (
                ", or all with --columns if the first row has no names" if source.format in ("csv", "tsv") else ""
            )
            raise BadInput(
                f"{source.name} has no column {layout.text_fields[0]!r} (its columns are {', '.join(header)}); "
                f"name the one that holds the text with --text-field{no_names}"
            )
        if layout.default_language is None and not set(layout.language_fields) & set(header):
            raise BadInput(
                f"{source.name} has no column {layout.language_fields[0]!r} (its columns are {', '.join(header)}); "
                "name it with --language-field, or give the language of all rows with --lang"
            )
    for option, name in layout.named_fields() if have_headers else ():
        if name not in columns:
            raise BadInput(
                f"{option} names {name!r}, but no file has this column (the columns are {', '.join(columns)}); correct "
                "the name"
            )


def read_records(sources: Sequence[Source], layout: Layout) -> Iterator[Record]:
    """The records of all sources, as a stream."""
    for source in sources:
        for row in read_rows(source):
            yield record_of(row, layout)


def read_row(row: Row, layout: Layout) -> Row:
    """The row with its fields, or with the reason why there are none. A row of a reject file stands for the rejected
    row."""
    return _unwrapped(parse(row), layout)


def record_of(row: Row, layout: Layout) -> Record:
    """Reads a row, and checks its document."""
    row = read_row(row, layout)
    if row.values is None or row.error is not None:
        return Record(row, None, None, row.error)
    doc_id = row.values.get(_id_field(row.values, layout))
    known_id = str(doc_id) if isinstance(doc_id, str | int) else None
    try:
        document = _checked(as_document(row.values, layout))
    except (BadDocument, UnknownLanguage) as error:
        return Record(row, known_id, None, str(error))
    return Record(row, document.doc_id, document)


def as_document(values: Mapping[str, Any], layout: Layout) -> Document:
    """The document of a row. Without an id it gets a hash of language, title and text, which is the same in every run.

    Raises:
        BadDocument: a part of the wrong type, or no language.
    """
    title = _first_string(values, layout.title_fields)
    text = _first_string(values, layout.text_fields)
    language = _first_string(values, layout.language_fields) or layout.default_language
    if language is None:
        raise BadDocument(
            f"no field {layout.language_fields[0]!r}; add it, or give the language of all documents with --lang"
        )
    if language == DETECTED:
        language = detect_language(f"{title}\n{text}", _MIN_CONFIDENCE)
    return Document(
        doc_id=_doc_id(values, layout) or content_id(language, title, text),
        text=text,
        language=language,
        title=title,
        url=_string(values, layout.url_field),
        metadata=_metadata(values, layout),
    )


def content_id(language: str, title: str, text: str) -> str:
    """The id of a document without one: 32 hexadecimal digits of a hash of its language, title and text."""
    contents = json.dumps([language, title, text], ensure_ascii=False)
    # With half a surrogate pair no index takes it.
    return blake2b(contents.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _checked(document: Document) -> Document:
    """The document with its language as a code.

    Raises:
        BadDocument: it has no text, or no index can take it.
        UnknownLanguage: the language is not known.
    """
    if (problem := document_problem(document)) is not None:
        raise BadDocument(problem)
    if not document.full_text.strip():
        raise BadDocument(f"document {document.doc_id!r} has no text; give it a title or a text")
    if document.language == UNKNOWN_LANGUAGE or (code := language_code(document.language)) == document.language:
        return document
    return replace(document, language=code)


def _unwrapped(row: Row, layout: Layout) -> Row:
    """The rejected row that a row of a reject file contains; any other row as it is."""
    values = row.values
    if values is None or not values.keys() >= REJECT_FIELDS:
        return row
    text_fields = {*layout.title_fields, *layout.text_fields}
    if values.keys() & text_fields:
        return row  # a document that has fields of these names
    line = values["line"] if isinstance(values["line"], int) else row.line
    reason, raw = str(values["reason"]), str(values["raw"]).encode(errors="replace")
    if reason.startswith("not UTF-8"):
        raw = _ESCAPED_BYTE.sub(lambda found: bytes.fromhex(found[1].decode()), raw)
    rejected = Row(str(values["file"]), line, raw)
    given = values.get("values")
    if isinstance(given, dict):
        if values.get("format") in PAGE_FORMATS and not given.keys() & text_fields:
            return parse(rejected._replace(values=given, format=str(values["format"])))
        is_corrected = any(value for name, value in given.items() if name != "id")
        return rejected._replace(values=given, format="", error=None if is_corrected else reason)
    parsed = parse(rejected)
    # If the row still cannot be read (not JSON, a truncated file), the first reason says more.
    return parsed if parsed.error is None else parsed._replace(error=reason)


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadDocument(f"field {name!r} is {json_type(value)}, not a string")
    return value


def _first_string(values: Mapping[str, Any], names: Iterable[str]) -> str:
    """The value of the first of these fields that is not empty."""
    for name in names:
        if found := _string(values, name):
            return found
    return ""


def _id_field(values: Mapping[str, Any], layout: Layout) -> str:
    """The first of the id fields that is not empty, or the first of all."""
    return next((name for name in layout.id_fields if values.get(name) not in (None, "")), layout.id_fields[0])


def _doc_id(values: Mapping[str, Any], layout: Layout) -> str:
    name = _id_field(values, layout)
    value = values.get(name)
    # Whole numbers have one spelling; 1.0 and true do not. Of more bits, JSON's parser makes fractions.
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise BadDocument(
            f"field {name!r} is {json_type(value)}, not a string or a whole number of up to 64 bits; "
            "write it as a string"
        )
    return value or ""


def _metadata(values: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    known = [layout.url_field, _id_field(values, layout)]
    for names in (layout.language_fields, layout.title_fields, layout.text_fields):
        for name in names:
            if values.get(name):
                known.append(name)
                break
    given = values.get(_METADATA_FIELD)
    found = {
        name: _typed(name, value, layout.types)
        for name, value in values.items()
        if name and name not in known and value is not None and value != ""
    }
    if isinstance(given, dict):
        del found[_METADATA_FIELD]
        return found | given
    if given is not None and not isinstance(given, str):
        raise BadDocument(f"field {_METADATA_FIELD!r} is {json_type(given)}, not an object")
    return found


def _typed(name: str, value: Any, types: Mapping[str, str]) -> Any:
    if name not in types or not isinstance(value, str):
        return value
    try:
        return _TYPES[types[name]](value.strip())
    except (ValueError, KeyError):
        raise BadDocument(
            f"field {name!r} is {value[:50]!r}, not of type {types[name]}; correct it or its type"
        ) from None


_TYPES: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": finite,
    "bool": lambda text: {"true": True, "false": False, "1": True, "0": False}[text.lower()],
    "list": lambda text: [part.strip() for part in text.split("|") if part.strip()],
}
