"""Reads the lines of a `_msearch`: the header and the body of each search, and how it is to be re-ranked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reranker.base.errors import BadInput
from reranker.proxy.query.field_types import CallerMappings
from reranker.proxy.query.text import FieldTypes
from reranker.proxy.rules import NO_EMBEDDINGS, Skip, WithoutEmbeddings, is_switched_off, skip_reason
from reranker.proxy.search_body import read_body
from reranker.proxy.search_request import ProxySearch, read_search
from reranker.proxy.upstream.passing import is_true, read_parameters
from reranker.service.service import Service


@dataclass(frozen=True, slots=True)
class Line:
    """One search of a multi-search.

    Attributes:
        header, body: as they came, without their line ends.
        search: None where the search is not to be re-ranked, for `reason`.
        body_without_ours: the body to pass on where re-ranking fails.
    """

    header: bytes
    body: bytes
    search: ProxySearch | None
    reason: str
    body_without_ours: bytes

    @property
    def sent(self) -> bytes:
        """The body for the engine."""
        return self.body_without_ours if self.search is None else self.search.window_body


@dataclass(frozen=True, slots=True)
class MultiSearch:
    """A multi-search of which one search at least is to be re-ranked."""

    lines: Sequence[Line]
    filter_path: str | None
    is_pretty: bool

    @property
    def body_without_ours(self) -> bytes:
        return written_lines((line.header, line.body_without_ours) for line in self.lines)


def read_multi_search(
    service: Service, raw_query_string: str, data: bytes, mappings: CallerMappings, raw_path: str
) -> MultiSearch:
    """Reads the lines of a multi-search.

    Raises:
        Skip: none of its searches is to be re-ranked, or the lines are not in pairs of JSON objects.
        BadInput: the `ext.rerank` of a line holds what we cannot use.
    """
    parameters = read_parameters(raw_query_string)
    if is_switched_off(parameters):
        raise Skip("disabled")
    reason = skip_reason({}, parameters)
    if reason is not None:
        raise Skip(reason)
    own = {name: parameters[name] for name in ("rerank",) if name in parameters}
    of_path = mappings.searched_by(raw_path)
    lines = [
        _read_line(service, number, header, body, own, mappings.named(index_of(header), of_path))
        for number, (header, body) in enumerate(_pairs(data), start=1)
    ]
    read = MultiSearch(lines, parameters.get("filter_path") or None, is_true(parameters.get("pretty", "false")))
    if all(line.search is None for line in lines):
        reasons = {line.reason for line in lines}
        changed = any(line.body_without_ours != line.body for line in lines)
        passed = read.body_without_ours if changed else None
        if NO_EMBEDDINGS in reasons:
            raise WithoutEmbeddings(passed)
        raise Skip(reasons.pop() if len(reasons) == 1 else "none_of_them", passed)
    return read


def _read_line(
    service: Service, number: int, header: bytes, data: bytes, parameters: Mapping[str, str], types: FieldTypes
) -> Line:
    try:
        search = read_search(service, parameters, read_body(data), types)
    except Skip as skip:
        return Line(header, data, None, skip.reason, data if skip.body is None else skip.body)
    except BadInput as error:
        raise BadInput(f"search {number}: {error}") from None
    return Line(header, data, search, "", data if search.body_without_ours is None else search.body_without_ours)


def _pairs(data: bytes) -> list[tuple[bytes, bytes]]:
    """Header and body of each search.

    Raises:
        Skip: the lines are not such pairs; the engine says what is wrong with them.
    """
    lines = data.split(b"\n")
    if lines.pop() != b"" or not lines:
        raise Skip("body_not_ndjson")  # the last line has to end, too
    if lines[0].strip() == b"":
        # Before the first header an empty line may stand; as a header it means no more than another.
        lines = lines if len(lines) % 2 == 0 else lines[1:]
    if len(lines) % 2:
        raise Skip("body_not_ndjson")
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    if not all(_is_header(header) for header, _ in pairs):
        raise Skip("body_not_ndjson")
    return pairs


def _is_header(line: bytes) -> bool:
    try:
        return not line.strip() or isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def index_of(header: bytes) -> Any:
    """The indices that a header names; None where it names none."""
    return json.loads(header).get("index") if header.strip() else None


def written_lines(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The body of a multi-search of such pairs."""
    return b"".join(header + b"\n" + body.rstrip(b"\r") + b"\n" for header, body in pairs)
