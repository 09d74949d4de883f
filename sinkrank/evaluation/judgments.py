"""Reads relevance judgments (TREC qrels, BEIR's TSV, CSV) and their queries (TSV, or JSON lines as the page saves
them)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from reranker.base.errors import BadInput, WrongParameter

_ID_KEYS = ("query_id", "id", "_id", "qid")
_TEXT_KEYS = ("query", "text")
_CSV_COLUMNS = ("query", "docid", "rating")

Judgments = dict[str, dict[str, int]]
"""Grade by query (its id, or its text in CSV without a file of queries), then by document id."""


@dataclass(frozen=True)
class JudgedQuery:
    """A query of a file, with its judgments.

    Attributes:
        language: language of the query; None to detect it.
        languages: languages of the documents; empty for all.
        index: None for the command's index.
        relevance: grade by document id; above 0 is relevant, and higher is better.
    """

    query_id: str
    text: str
    language: str | None
    languages: tuple[str, ...]
    index: str | None
    relevance: Mapping[str, int]


def read_judged_queries(
    queries: Path | None, qrels: Path, tell: Callable[[str], None] = lambda _: None
) -> list[JudgedQuery]:
    """Reads the queries that have a relevant document, in the order of their file.

    Args:
        queries: None if the judgments are CSV with the texts of the queries. They are then numbered from 1.
        tell: told how many queries have no relevant document, if any.

    Raises:
        BadInput: a line cannot be read, a query id is repeated, a document is judged twice with different grades, or no
            query has a relevant document.
        OSError: a file cannot be read.
        WrongParameter: the judgments need a file of the queries.
    """
    content = _text(qrels)
    try:
        is_csv = _is_csv(content)
        judged = _read_csv(qrels, content) if is_csv else read_qrels(qrels, content)
    except csv.Error as error:
        raise BadInput(f"{qrels} is not CSV: {error}") from error
    if queries is not None:
        found = _read_queries(queries, judged)
    elif is_csv:
        found = [
            JudgedQuery(str(number), text, None, (), None, relevance)
            for number, (text, relevance) in enumerate(judged.items(), start=1)
        ]
    else:
        raise WrongParameter(f"{qrels} has only the ids of the queries; name the file of the queries with --queries")
    for path, held in ((queries or qrels, found), (qrels, judged)):
        if not held:
            raise BadInput(
                f"{path} is empty; give a file with a line for each {'query' if held is found else 'judgment'}"
            )
    answerable = [query for query in found if any(grade > 0 for grade in query.relevance.values())]
    if not answerable:
        raise BadInput(
            f"no query of {queries or qrels} has a relevant document in {qrels}; its first column must be the queries' "
            "ids, and the last one 1 or more for a relevant document"
        )
    if n_without := len(found) - len(answerable):
        tell(f"{n_without} of {len(found)} queries left out: no relevant document in {qrels}")
    return answerable


def _read_queries(path: Path, judged: Judgments) -> list[JudgedQuery]:
    found: dict[str, JudgedQuery] = {}
    for place, record in _records(path):
        query_id, text = _first(record, _ID_KEYS), _first(record, _TEXT_KEYS)
        if not query_id or not text:
            raise BadInput(f"{place}: no query id or no text; give both, as query_id and query")
        if query_id in found:
            raise BadInput(f"{place}: the query id {query_id!r} stands there twice")
        found[query_id] = JudgedQuery(
            query_id,
            text,
            _optional(record, "language", place),
            _languages(record, place),
            _optional(record, "index", place),
            judged.get(query_id, {}),
        )
    return list(found.values())


def _is_csv(content: str) -> bool:
    """Whether the first line is a header with the columns `query`, `docid` and `rating`."""
    return set(_CSV_COLUMNS) <= set(_header(csv.reader([content.partition("\n")[0]])))


def _header(rows: Iterator[list[str]]) -> list[str]:
    return [name.strip().lower() for name in next(rows, [])]


def _read_csv(path: Path, content: str) -> Judgments:
    """Reads the columns `query`, `docid` and `rating` below a header; a row without a rating is not judged."""
    rows = csv.reader(io.StringIO(content, newline=""))
    header = _header(rows)
    judged: Judgments = {}
    row: list[str] | None = None
    for row in filter(None, rows):
        place = f"{path}, line {rows.line_num}"
        if len(row) != len(header):
            raise BadInput(f"{place}: {len(row)} columns, and the header has {len(header)}")
        values = dict(zip(header, map(str.strip, row), strict=True))
        query, document, rating = (values[name] for name in _CSV_COLUMNS)
        if not query or not document:
            raise BadInput(f"{place}: no query or no docid; give both")
        if rating:
            _add(judged, place, query, document, _rating(rating, place))
    if row is not None and not judged:
        raise BadInput(f"no row of {path} has a rating; give 1 or more to relevant documents, and 0 to others")
    return judged


def _rating(value: str, place: str) -> int:
    try:
        number = float(value)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise BadInput(f"{place}: the rating {value!r} is not a whole number; give 1 or more for a relevant document")
    return int(number)


def read_qrels(path: Path, content: str) -> Judgments:
    """Reads TREC's lines of `query iteration document relevance`, where a document id may contain blanks, or BEIR's
    `query-id`, `corpus-id` and `score`, separated by tabs, with or without a header.

    Raises:
        BadInput: a line cannot be read; `path` is named.
    """
    judged: Judgments = {}
    for number, (place, line) in enumerate(_lines(path, content)):
        query, document, grade = _judgment(line)
        try:
            relevance = int(grade)
        except ValueError as error:
            if number == 0 and grade.lower() == "score":
                continue  # BEIR's header
            raise BadInput(
                f"{place}: {line[:80]!r} is not a judgment; a line is QUERY 0 DOCUMENT RELEVANCE, or QUERY, DOCUMENT "
                "and RELEVANCE with tabs between, or the file is CSV with the header query,docid,rating"
            ) from error
        _add(judged, place, query, document, relevance)
    return judged


def _add(judged: Judgments, place: str, query: str, document: str, grade: int) -> None:
    if (before := judged.setdefault(query, {}).setdefault(document, grade)) != grade:
        raise BadInput(f"{place}: {document!r} is judged twice for query {query!r}, {before} and {grade}; keep one")


def _judgment(line: str) -> tuple[str, str, str]:
    """(query, document, grade). The grade is not a number if the line is not a judgment."""
    columns = line.split("\t")
    if len(columns) == 3:
        query, document, grade = (column.strip() for column in columns)
        return query, document, grade
    parts = line.split(None, 2)
    end = parts[2].rsplit(None, 1) if len(parts) == 3 else []
    return (parts[0], end[0], end[1]) if len(end) == 2 else ("", "", "")


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, line in _lines(path, _text(path)):
        if line.startswith("{"):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise BadInput(f"{place}: not JSON: {error}") from error
            yield place, record
        else:
            query_id, tab, text = line.partition("\t")
            if not tab:
                raise BadInput(
                    f"{place}: {line[:80]!r} has no tab; a line is ID, a tab, and the query, or a JSON object"
                )
            yield place, {"query_id": query_id.strip(), "query": text.strip()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"cannot read {path}: {error}; give a text file in UTF-8") from error


def _lines(path: Path, content: str) -> Iterator[tuple[str, str]]:
    """The lines that are not blank, each with its place in the file for messages."""
    # Not splitlines: a JSON string may contain U+2028 and similar characters.
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            yield f"{path}, line {number}", line.strip()


def _first(record: Mapping[str, Any], keys: Iterable[str]) -> str:
    for key in keys:
        value = record.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return ""


def _optional(record: Mapping[str, Any], key: str, place: str) -> str | None:
    value = record.get(key)
    if value is None or (isinstance(value, str) and value):
        return value
    raise BadInput(f"{place}: {key} is {value!r}; give a text, or leave it out")


def _languages(record: Mapping[str, Any], place: str) -> tuple[str, ...]:
    value = record.get("languages", [])
    if isinstance(value, list) and all(isinstance(code, str) for code in value):
        return tuple(value)
    raise BadInput(f"{place}: languages is {value!r}; give a list of codes, or leave it out")
