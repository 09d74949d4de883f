"""Reads a `_search` or `_msearch` as it came: its form, and the searches in it, each of which `read_search` reads."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from reranker.base.errors import BadInput
from reranker.proxy.query.field_types import CallerMappings, FieldTypeCache
from reranker.proxy.read_search import NO_EMBEDDINGS, Skip, check_form, check_not_off, read_search
from reranker.proxy.search import Search, SearchRequest, Skipped
from reranker.proxy.upstream.calls import EngineCalls
from reranker.proxy.upstream.incoming import end_to_end, is_true
from reranker.service.service import Service

_JSON_ENDINGS = ("/json", "+json", "/x-ndjson", "+x-ndjson")


def read_request(service: Service, calls: EngineCalls, known_types: FieldTypeCache, is_multi: bool) -> SearchRequest:
    """Reads a request.

    Args:
        calls: those of the request, by which the engine's mappings are read.
        known_types: what is known of these mappings.

    Raises:
        Skip: none of its searches is to be re-ranked, or they cannot be read.
        BadInput: `ext.rerank` holds what we cannot use.
    """
    incoming, parameters = calls.incoming, calls.incoming.parameters
    content_type, accept = incoming.content_type, incoming.environ.get("HTTP_ACCEPT")
    encoding = incoming.environ.get("HTTP_CONTENT_ENCODING")
    if content_type is None and not incoming.body:
        content_type = "application/json"  # there is nothing that it could be said of
    if not _speaks_json(content_type, accept):
        raise Skip("not_json")
    data = incoming.body
    if encoding:
        data = _decoded(data, encoding, service.settings.max_body_bytes)
    source = parameters.get("source", parameters.get("source_content_type"))
    if source is not None and (is_multi or incoming.body):
        raise Skip("odd_source")
    if source is not None:  # the whole body as a parameter
        if not _speaks_json(parameters.get("source_content_type"), accept):
            raise Skip("not_json")
        data = parameters.get("source", "").encode("utf-8", "surrogatepass")
        headers = end_to_end(incoming.headers, "content-type")
        calls.incoming = replace(incoming, headers=headers, content_type=None)
    mappings = CallerMappings(known_types, calls)
    passed: bytes | None
    if is_multi:
        lines, passed = _read_lines(service, parameters, data, mappings, incoming.path)
    else:
        types, indices = mappings.searched(incoming.path)
        search = read_search(service, parameters, data, types, indices)
        lines, passed = [search], search.body.without_ours
    filter_path = parameters.get("filter_path") or None
    is_pretty = "pretty" in parameters and is_true(parameters["pretty"])
    searches = [line for line in lines if isinstance(line, Search)]
    return SearchRequest(calls, is_multi, lines, searches, filter_path, is_pretty, passed)


def _speaks_json(content_type: str | None, accept: str | None) -> bool:
    """Whether request and answer are JSON: the engines speak YAML, CBOR and SMILE too, and answer in the form of the
    request where `Accept` says nothing."""
    asked = [part.split(";")[0].strip().lower() for part in accept.split(",")] if accept and accept.strip() else []
    if asked and not any(kind in ("*/*", "application/*") or kind.endswith(_JSON_ENDINGS) for kind in asked):
        return False
    return (content_type or "").split(";")[0].strip().lower().endswith(_JSON_ENDINGS)


def _decoded(body: bytes, encoding: str, limit: int) -> bytes:
    """The body without its compression.

    Raises:
        Skip: it is compressed in a way that we cannot read, or larger than the limit.
    """
    encoding = encoding.strip().lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise Skip("body_encoding")
    try:
        plain = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(body, limit + 1)
    except zlib.error:
        raise Skip("body_encoding") from None  # the engine says what is wrong with it
    if len(plain) > limit:
        raise Skip("body_too_large")
    return plain


def _read_lines(
    service: Service, parameters: Mapping[str, str], data: bytes, mappings: CallerMappings, raw_path: str
) -> tuple[list[Search | Skipped], bytes]:
    """The searches of a multi-search, and its body without our sections.

    Raises:
        Skip: none of its searches is to be re-ranked, or the lines are not in pairs of JSON objects.
        BadInput: the `ext.rerank` of a line holds what we cannot use.
    """
    check_not_off(parameters)
    check_form({}, parameters)
    own = {name: parameters[name] for name in ("rerank",) if name in parameters}
    pairs = _pairs(data)
    lines: list[Search | Skipped] = []
    for number, (header, body) in enumerate(pairs, start=1):
        named = json.loads(header).get("index") if header.strip() else None
        types, indices = mappings.searched(raw_path, named)
        try:
            lines.append(read_search(service, own, body, types, indices, header))
        except Skip as skip:
            lines.append(Skipped(header, body if skip.body is None else skip.body, skip.reason))
        except BadInput as error:
            raise BadInput(f"search {number}: {error}") from None
    passed = written_lines((line.header, line.as_it_came) for line in lines)
    reasons = {line.reason for line in lines}
    if "" not in reasons:
        changed = any(line.as_it_came != body for line, (_, body) in zip(lines, pairs, strict=True))
        reason = NO_EMBEDDINGS if NO_EMBEDDINGS in reasons else reasons.pop() if len(reasons) == 1 else "none_of_them"
        raise Skip(reason, passed if changed else None)
    return lines, passed


def _pairs(data: bytes) -> list[tuple[bytes, bytes]]:
    """Header and body of each search.

    Raises:
        Skip: the lines are not such pairs; the engine says what is wrong with them.
    """
    lines = data.split(b"\n")
    if lines.pop() != b"" or not lines:
        raise Skip("body_not_ndjson")  # the last line has to end, too
    if len(lines) % 2:  # OpenSearch takes an empty line before the first header, Elasticsearch does not
        raise Skip("body_not_ndjson")
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    try:
        headers = [json.loads(header) for header, _ in pairs if header.strip()]
    except (ValueError, RecursionError):
        raise Skip("body_not_ndjson") from None
    if not all(isinstance(header, dict) for header in headers):
        raise Skip("body_not_ndjson")
    return pairs


def written_lines(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The body of a multi-search of such pairs."""
    return b"".join(header + b"\n" + body.rstrip(b"\r") + b"\n" for header, body in pairs)
