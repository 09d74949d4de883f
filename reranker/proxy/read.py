"""Reads a `_search` or `_msearch` as it came: which of its searches are re-ranked, by what text, and how.

The URL's parameters go before the body, but for `sort`. A search that is not re-ranked is the engine's alone, for a
reason that `X-Rerank-Reason` gives.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal

import regex
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from reranker.base.errors import BadInput, EmptyQuery, UnknownWords
from reranker.base.raw_json import DuplicateKey, read_body, read_document, read_object, write_object, write_value
from reranker.proxy.search import (
    DEFAULT_SIZE,
    MAX_TEXT_FIELDS,
    PagePlan,
    ProxyRequest,
    RawBody,
    Search,
    Skipped,
    fields_to_read,
    written_lines,
)
from reranker.proxy.window_kinds import PARAMETERS, WindowPlan, read_window_plan
from reranker.query_dsl.clauses import UNKNOWN_QUERY
from reranker.query_dsl.field_types import CallerMappings, FieldTypeCache
from reranker.query_dsl.filter_path import reads_filter_path
from reranker.query_dsl.highlight import Highlight, read_highlight
from reranker.query_dsl.scoring import FieldTypes, no_field_types, query_of, read_query
from reranker.query_dsl.sort import further_keys, url_sort
from reranker.query_dsl.source_filter import read_source_filter
from reranker.ranking.evidence import check_first_stage_share
from reranker.ranking.relevance import check_min_relevance
from reranker.service.json_text import json_bytes
from reranker.service.request_fields import Name, QueryText
from reranker.service.requests import parse
from reranker.service.service import Service
from reranker.text.languages import language_code
from reranker.transport import check_method
from reranker.upstream.calls import EngineCalls
from reranker.upstream.incoming import Incoming, caller_key

# Of our section in `ext`.
_NAME = b"rerank"
# Of a multi-search: each is read, and has a window of its own.
_MAX_SEARCHES = 200

# The reason where there are no embeddings yet.
NO_EMBEDDINGS = "no_embeddings"

_DEFAULT_DEPTH = 10  # `rank_window_size` and `window_size`
_MAX_PROXY_WINDOW = 1_000
# Each has its own clauses of a translated query.
_MAX_LANGUAGES = 10
# Elasticsearch's retrievers whose hits do not end at a depth.
_WITHOUT_DEPTH = ("standard", "knn")
# What is a number to us alone (`1_000`, other scripts' digits) is the engine's to refuse.
_number = regex.compile(r"\+?[0-9]{1,9}").fullmatch
_TOO_LARGE = 10**9
# The engines' own limit on `from` and `size` together.
_MAX_HITS = 10_000
# The engines refuse them beside `search_after`.
_NOT_WITH_AFTER = ("collapse", "rescore", "retriever")
_NO = ("false", "0", "no", "off")
_YES = ("true", "1", "yes", "on")
# Of a hit; they are asked for with each window.
_SEQ_NO_KEYS = ("_seq_no", "_primary_term")
_JSON_ENDINGS = ("/json", "+json", "/x-ndjson", "+x-ndjson")


class Skip(Exception):
    """The request is passed on as it is, but for our sections (`without_sections`).

    Attributes:
        reason: one of a fixed set of words, for the header.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def status(self) -> str:
        """For the header: without embeddings the search should have been re-ranked, and could not be."""
        return "fallback" if self.reason == NO_EMBEDDINGS else "skipped"


class _QueryContext(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query_text: QueryText | None = None


def _as_section(highlight: Any) -> Any:
    """A mode alone stands for a section."""
    return {"mode": highlight} if isinstance(highlight, str) else highlight


class _HighlightSection(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    mode: Literal["engine", "both", "meaning"] = "both"
    pre_tags: list[str] | None = Field(default=None, min_length=1, max_length=1)
    post_tags: list[str] | None = Field(default=None, min_length=1, max_length=1)


class RerankSection(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query_context: _QueryContext = _QueryContext()
    window_size: int | None = Field(default=None, ge=1, le=_MAX_PROXY_WINDOW)
    method: Name | None = None
    language: Name | None = None
    epsilon: float | None = None
    tau: float | None = None
    n_iterations: int | None = None
    feedback: bool | None = None
    first_stage_share: float | None = None
    text_fields: list[Name] | None = Field(default=None, max_length=MAX_TEXT_FIELDS)
    details: bool = False
    min_relevance: float | None = None
    languages: list[Name] | None = Field(default=None, min_length=1, max_length=_MAX_LANGUAGES)
    translate: bool | None = None
    highlight: Annotated[_HighlightSection, BeforeValidator(_as_section)] = _HighlightSection()


# Made once: Pydantic copies the defaults of each.
_NO_SECTION = RerankSection()


def read_request(service: Service, calls: EngineCalls, known_types: FieldTypeCache, is_multi: bool) -> ProxyRequest:
    """Reads a request.

    Args:
        calls: those of the request, by which the engine's mappings are read.
        known_types: what is known of these mappings.

    Raises:
        Skip: none of its searches is to be re-ranked, or they cannot be read.
        BadInput: `ext.rerank` holds what we cannot use.
    """
    incoming, parameters = calls.incoming, calls.incoming.parameters
    if others := parameters.keys() - PARAMETERS:  # one may be the caller's token
        incoming.caller = caller_key([*incoming.headers, *((f"?{name}", parameters[name]) for name in others)])
    data = _json_body(service, incoming)
    mappings = CallerMappings(known_types, calls)
    if is_multi:
        return ProxyRequest(calls, is_multi, _read_lines(service, parameters, data, mappings, incoming.path))
    types, indices = mappings.searched(incoming.path)
    return ProxyRequest(calls, is_multi, [read_search(service, parameters, data, types, indices)])


def check_not_off(incoming: Incoming) -> None:
    """Raises Skip where the URL switches re-ranking off."""
    if incoming.parameters.get("rerank", "").strip().lower() in _NO:
        raise Skip("disabled")


def may_have_section(incoming: Incoming) -> bool:
    """Whether the body may have `ext.rerank`, which an engine refuses: most that have none need not be read."""
    return "HTTP_CONTENT_ENCODING" in incoming.environ or _NAME in incoming.body


def without_sections(service: Service, incoming: Incoming, is_multi: bool) -> bytes | None:
    """The body of a request without our sections; None where it has none, or cannot be read."""
    if may_have_section(incoming):
        with suppress(Skip):
            data = _json_body(service, incoming)
            return _lines_without_ours(_pairs(data)) if is_multi else _without_ours(data)
    return None


def _json_body(service: Service, incoming: Incoming) -> bytes:
    """The body without its compression.

    Raises:
        Skip: it is not in JSON, or stands in the URL.
    """
    content_type, accept = incoming.content_type, incoming.environ.get("HTTP_ACCEPT")
    if content_type is None and not incoming.body:
        content_type = "application/json"  # there is nothing that it could be said of
    if not _speaks_json(content_type, accept):
        raise Skip("not_json")
    data = incoming.body
    if encoding := incoming.environ.get("HTTP_CONTENT_ENCODING"):
        data = _decoded(data, encoding, service.settings.max_body_bytes)
    if "source" in incoming.parameters or "source_content_type" in incoming.parameters:
        raise Skip("source")
    return data


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
) -> list[Search | Skipped]:
    """The searches of a multi-search.

    Raises:
        Skip: none of its searches is to be re-ranked, or the lines are not in pairs of JSON objects.
        BadInput: the `ext.rerank` of a line holds what we cannot use.
    """
    check_form({}, parameters)
    own = {name: parameters[name] for name in ("rerank",) if name in parameters}
    pairs = _pairs(data)
    if len(pairs) > _MAX_SEARCHES:
        raise Skip("body_too_large")
    lines: list[Search | Skipped] = []
    for number, (header, body) in enumerate(pairs, start=1):
        named = json.loads(header).get("index") if header.strip() else None
        types, indices = mappings.searched(raw_path, named)
        try:
            lines.append(read_search(service, own, body, types, indices, header))
        except Skip as skip:
            lines.append(Skipped(header, _without_ours(body) or body, skip.reason))
        except BadInput as error:
            raise BadInput(f"search {number}: {error}") from None
    reasons = {line.reason for line in lines if isinstance(line, Skipped)}
    if not any(isinstance(line, Search) for line in lines):
        reason = NO_EMBEDDINGS if NO_EMBEDDINGS in reasons else reasons.pop() if len(reasons) == 1 else "none_of_them"
        raise Skip(reason)
    return lines


def _lines_without_ours(pairs: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """A multi-search without our sections; None where it has none."""
    bodies = [_without_ours(body) for _, body in pairs]
    if not any(bodies):
        return None
    return written_lines((header, own or body) for (header, body), own in zip(pairs, bodies, strict=True))


def _without_ours(body: bytes) -> bytes | None:
    """A search without our section; None where it has none, or cannot be read."""
    if _NAME not in body:
        return None
    try:
        read = _read_body(body)
    except Skip:
        return None
    return None if read.section is None else json_bytes(read.text)


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


def read_search(
    service: Service,
    parameters: Mapping[str, str],
    data: bytes,
    types: FieldTypes = no_field_types,
    indices: tuple[str, ...] = (),
    header: bytes = b"",
) -> Search:
    """Reads one search.

    Args:
        parameters: of the URL, that count for this search.
        data: its body.
        types: of the fields of the searched indices; by default queries are read without a mapping.
        indices: that it searches.
        header: its line in a multi-search.

    Raises:
        Skip: it is the engine's alone.
        BadInput: `ext.rerank` holds what we cannot use.
    """
    body = _read_body(data)
    section = None if body.section is None else _read_section(body.section)
    ext, values, settings = section or _NO_SECTION, body.raw.parsed, service.settings
    check_form(values, parameters)
    method = check_method(ext.method or settings.method, "none")
    check_min_relevance(ext.min_relevance, method)
    if method == "none":
        raise Skip("method_none")
    share = settings.first_stage_share if ext.first_stage_share is None else ext.first_stage_share
    check_first_stage_share(share)
    if service.opened is None:
        raise Skip(NO_EMBEDDINGS)
    page = _page(values, parameters, ext.window_size or settings.depth)
    page = replace(page, is_cut=bool(ext.min_relevance))
    # Who writes a section, or the parameter, asks for re-ranking whatever the query scores by.
    is_asked = section is not None or parameters.get("rerank", "").strip().lower() in _YES
    reading = read_query(values, parameters, types, is_asked)
    text = ext.query_context.query_text or ""
    if not text.strip():
        text = reading.text
        if not text or (reading.reason and not is_asked):
            raise Skip(reading.reason or "no_query_text")
    language = None if ext.language is None else language_code(ext.language)
    try:
        query = service.reranker.query(text, language)
    except (EmptyQuery, UnknownWords):  # the engine's order is then the best there is
        raise Skip("unknown_words") from None
    languages = _languages(service, ext.languages) if ext.languages else ()
    translate = settings.proxy_translate if ext.translate is None else "always" if ext.translate else "never"
    wants_seq_no = values.get("seq_no_primary_term") in (True, "true")
    if "seq_no_primary_term" in parameters:
        wants_seq_no = parameters["seq_no_primary_term"] == "true"  # the engines take no value for no
    plan = WindowPlan()
    if not page.is_behind:
        plan = read_window_plan(values, parameters, header, page.size, page.n_fetch)
    text_fields = tuple(ext.text_fields or settings.proxy_text_fields)
    return Search(
        header=header,
        body=body,
        indices=indices,
        query=query,
        language=language,
        method=method,
        parameters=service.parameters(ext.epsilon, ext.n_iterations, ext.tau),
        feedback=settings.feedback if ext.feedback is None else ext.feedback,
        first_stage_share=share,
        page=page,
        source_filter=read_source_filter(values, parameters),
        text_fields=text_fields,
        weighted_fields=fields_to_read(text_fields, reading.fields),
        added_keys=() if wants_seq_no else _SEQ_NO_KEYS,
        with_details=ext.details,
        min_relevance=ext.min_relevance,
        clause=query_of(values, parameters),
        types=types,
        translate=translate,
        languages=languages,
        window_plan=plan,
        highlight=_highlight(values["highlight"], ext.highlight) if "highlight" in values else None,
    )


def _read_body(data: bytes) -> RawBody:
    """The body of a search.

    `query_text_path` is neural-search's alone: who writes it means that plugin, and keeps the section.

    Raises:
        Skip: the section is that plugin's, or the body cannot be read.
    """
    try:
        text = data.decode() if data.strip() else "{}"
        raw = read_body(text)
    except DuplicateKey:
        raise Skip("duplicate_key") from None
    except RecursionError:
        raise Skip(UNKNOWN_QUERY) from None
    except ValueError:
        raise Skip("body_not_json") from None  # the engine says what is wrong with it, or reads YAML
    ext = raw.parsed.get("ext")
    section = ext.get("rerank") if isinstance(ext, dict) else None
    if section is None or not isinstance(ext, dict):
        return RawBody(text, raw)
    context = section.get("query_context") if isinstance(section, dict) else None
    if isinstance(context, dict) and "query_text_path" in context:
        raise Skip("query_text_path")
    if others := {name: value for name, value in ext.items() if name != "rerank"}:
        text = write_object(text, raw, replace={"ext": write_value(others)})
    else:
        text = write_object(text, raw, drop=("ext",))
    return RawBody(text, read_document(text, read_object), section)


def _read_section(section: Any) -> RerankSection:
    if not isinstance(section, dict):
        raise BadInput('ext.rerank is not an object; give {"query_context": {"query_text": "…"}, "window_size": 100}')
    try:
        return parse(RerankSection, section)
    except BadInput as error:
        raise BadInput(f"ext.rerank: {error}") from None


def check_form(body: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
    """Raises Skip where the engine's own order or form has to stay."""
    stored = parameters.get("stored_fields", body.get("stored_fields"))
    is_sorted = "sort" in body or "sort" in parameters or "retriever" in body
    n_keys = _further_keys(body, parameters) if is_sorted else 0
    seq_no = parameters.get("seq_no_primary_term", body.get("seq_no_primary_term", False))
    reasons = {
        # Walks through all hits, in the engine's order.
        "scroll": "scroll" in parameters,
        "search_after": "search_after" in body and not _is_cursor(body, parameters, n_keys),
        "point_in_time": "pit" in body and (n_keys is None or "slice" in body),
        "sorted": n_keys is None,
        # Its options are documents, which would come with all that the hits are asked for with.
        "autocomplete": _completes(body.get("suggest")),
        "not_json": parameters.get("format", "json") not in ("", "json"),
        "filter_path": not reads_filter_path(parameters.get("filter_path", "")),
        # Hits without names: nothing could be fetched besides, and the engine refuses `_source` with it.
        "no_ids": stored in ("_none_", ["_none_"]),
        # It is asked for with each window, so that the engine would not see what it refuses.
        "odd_seq_no": not (isinstance(seq_no, bool) or seq_no in ("", "true", "false")),
    }
    for reason, holds in reasons.items():
        if holds:
            raise Skip(reason)


def _completes(suggest: Any) -> bool:
    suggesters = suggest.values() if isinstance(suggest, dict) else ()
    return any(isinstance(one, dict) and "completion" in one for one in suggesters)


def _further_keys(body: Mapping[str, Any], parameters: Mapping[str, str]) -> int | None:
    """As `further_keys`. The engines add the URL's keys to those of the body. None for a retriever that is sorted by
    itself: its hits are walked through by a `search_after` within it."""
    if "sort" in parameters:
        return further_keys(body.get("sort"), url_sort(parameters["sort"]))
    retriever = body.get("retriever")
    inner = retriever.get("standard") if isinstance(retriever, dict) and "sort" not in body else None
    if isinstance(inner, dict):
        return None if "sort" in inner or "search_after" in inner else 0
    return further_keys(body.get("sort"))


def _is_cursor(body: Mapping[str, Any], parameters: Mapping[str, str], n_keys: int | None) -> bool:
    """Whether `search_after` may name a hit of a window that is sorted by score: hits have their `sort` where there are
    further keys, and in Elasticsearch's points in time."""
    has_sort = n_keys is not None and (n_keys > 0 or "pit" in body)
    is_first = parameters.get("from", body.get("from", 0)) in (0, "0")
    is_taken = isinstance(body["search_after"], list) and not any(name in body for name in _NOT_WITH_AFTER)
    return has_sort and is_first and is_taken


def _highlight(value: Any, section: _HighlightSection) -> Highlight | None:
    """Raises BadInput where a tag is missing."""
    tags = None
    if section.pre_tags is not None or section.post_tags is not None:
        if section.pre_tags is None or section.post_tags is None:
            raise BadInput("ext.rerank.highlight has one of pre_tags and post_tags; give both, or none")
        tags = section.pre_tags[0], section.post_tags[0]
    fields = () if section.mode == "engine" else read_highlight(value)
    return Highlight(fields, section.mode == "both", tags) if fields else None


def _page(body: Mapping[str, Any], parameters: Mapping[str, str], window: int) -> PagePlan:
    """Raises Skip where the page holds no hits, is not given in numbers, or is one that the engine refuses."""
    depth = _depth(body)
    offset = _read_number(parameters.get("from", body.get("from", 0)))
    size = _read_number(parameters.get("size", body.get("size", DEFAULT_SIZE)))
    if size == 0:
        raise Skip("no_hits_wanted")
    query = query_of(body, parameters)
    hybrid = query.get("hybrid") if isinstance(query, dict) else None
    if offset and isinstance(hybrid, dict) and "pagination_depth" not in hybrid:
        raise Skip("odd_page")  # without a depth its order depends on the size, and the engine refuses further pages
    after = body.get("search_after")
    if after is not None and window + size > _MAX_HITS:
        raise Skip("search_after")
    if depth is not None:
        # Without a size newer versions return all hits of a retriever, and others ten.
        is_open = "retriever" in body and "size" not in body and "size" not in parameters and depth != DEFAULT_SIZE
        if size > depth or is_open:  # the engine refuses a larger page
            raise Skip("odd_page")
        window = min(window, depth)
    return PagePlan(offset, size, window, after, depth)


def _read_number(value: Any) -> int:
    """Raises Skip where it is none: null, -1 or a word. The engine says what it makes of it."""
    if _number(value) if isinstance(value, str) else type(value) is int and 0 <= value < _TOO_LARGE:
        return int(value)
    raise Skip("odd_page")


def _depth(body: Mapping[str, Any]) -> int | None:
    """Where the hits of Elasticsearch's fusions and re-rankers end: the outermost retriever, or `rank`. None where they
    do not. A page may not be larger.

    Raises:
        Skip: it is no number.
    """
    depths = []
    for part in ("retriever", "rank"):
        for kind, content in body[part].items() if isinstance(body.get(part), dict) else ():
            if kind in _WITHOUT_DEPTH or not isinstance(content, dict):
                continue
            holder = content.get("rescore") if kind == "rescorer" else content
            for one in holder if isinstance(holder, list) else [holder]:
                given = one if isinstance(one, dict) else {}
                depths.append(_read_number(given.get("rank_window_size", given.get("window_size", _DEFAULT_DEPTH))))
    return min(depths, default=None)


def _languages(service: Service, names: Iterable[str]) -> tuple[str, ...]:
    languages = tuple(language_code(name) for name in names)
    held = service.embeddings.languages
    for language in languages:
        if language not in held:
            raise BadInput(
                f"ext.rerank.languages names {language!r}, and the embeddings hold {', '.join(held)}; name these alone"
            )
    return languages
