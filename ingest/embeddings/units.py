"""Reads texts for training as units, each with a group, a language and a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.embeddings.dictionaries import Dictionary, dictionary_units
from ingest.files import json_type, open_sources, parse, read_rows
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput, UnknownLanguage
from reranker.text.languages import language_code

_FIELDS = ("group", "language", "text")
_UNITS_A_REPORT = 512


@dataclass(frozen=True, slots=True)
class Unit:
    """A text. The units of one group are translations of each other.

    Attributes:
        document: the document that it is a part of, in any language; by default its group. None: it belongs to no
            document, as an entry of a dictionary, and does not count for document frequencies.
    """

    group: str
    language: str
    text: str
    document: str | None


Units = Iterable[Path | Dictionary | Unit | Mapping[str, Any]] | Path
"""Sources of aligned texts: files, dictionaries, units and rows, or one file."""


def read_units(units: Units, progress: Progress = no_progress) -> Iterator[Unit]:
    """The units of JSONL files (plain or gzipped), dictionaries and rows, checked, as a stream. Groups with the same
    name are one group, also in different files.

    A row is `{"group": …, "language": …, "text": …}`, and may name its `"document"`.

    Raises:
        NotFound: there is no such file.
        BadInput: a row cannot be read, lacks a field or has an unknown language; the message names file and line.
    """
    done = 0
    for done, unit in enumerate(_units(units), start=1):
        if done % _UNITS_A_REPORT == 0:
            progress(done, None, "counting words")
        yield unit
    progress(done, done, "counted words")


def _units(units: Units) -> Iterator[Unit]:
    number = 0
    for source in [units] if isinstance(units, Path) else units:
        if isinstance(source, Unit):
            yield source
        elif isinstance(source, Path):
            yield from _of_file(source)
        elif isinstance(source, Dictionary):
            yield from (_unit(f"{source.path}, a sense", row) for row in dictionary_units(source))
        else:
            number += 1
            yield _unit(f"unit {number}", source)


def _of_file(path: Path) -> Iterator[Unit]:
    with open_sources([str(path)], "jsonl") as sources:
        for row in map(parse, read_rows(sources[0])):
            place = f"{path}, line {row.line}"
            if row.values is None:
                raise BadInput(f"{place}: {row.error}")
            yield _unit(place, row.values)


def _unit(place: str, row: Mapping[str, Any]) -> Unit:
    for name in _FIELDS:
        value = row.get(name)
        if name not in row:
            raise BadInput(f'{place}: no "{name}"; a line is {{"group": "p1", "language": "fr", "text": "…"}}')
        if not isinstance(value, str) and not (name == "group" and type(value) is int):
            raise BadInput(f'{place}: "{name}" is {json_type(value)}; give a string')
    document = row.get("document", row["group"])
    if not isinstance(document, str | int | None) or document == "" or row["group"] == "":
        raise BadInput(f'{place}: "group" and "document" must be non-empty strings; give each an id')
    try:
        language = language_code(row["language"])
    except UnknownLanguage as error:
        raise BadInput(f"{place}: {error}") from error
    return Unit(str(row["group"]), language, row["text"], None if document is None else str(document))
