"""Reads a search that came for the engine: whether its hits are to be re-ranked, by what text, and how."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from pydantic import BaseModel, ConfigDict, Field

from reranker.errors import BadInput, EmptyQuery, UnknownWords
from reranker.languages import language_code
from reranker.service.json_text import json_bytes
from reranker.service.proxy.query_text import find_query_text, plain_words
from reranker.service.proxy.source_filter import SourceFilter, read_source_filter
from reranker.service.proxy.window import PagePlan, plan_page
from reranker.service.requests import Name, QueryText, parse
from reranker.service.service import Service
from reranker.transport import Parameters, check_method

_DEFAULT_SIZE = 10  # of an engine's page
_MAX_PROXY_WINDOW = 1_000
_FALLING_SCORES: tuple[Any, ...] = (
    "_score",
    "_score:desc",
    {"_score": "desc"},
    {"_score": {"order": "desc"}},
    {"_score": {}},
)
_PAGE_PARAMETERS = ("rerank", "from", "size")


class Skip(Exception):
    """The search is not to be re-ranked.

    Attributes:
        reason: one of a fixed set of words, for the header.
        body: what to pass on in place of the body that came, where that holds our section; else None.
    """

    def __init__(self, reason: str, body: bytes | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.body = body


class _QueryContext(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query_text: QueryText | None = None


class _RerankExt(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query_context: _QueryContext = _QueryContext()
    window_size: int | None = Field(default=None, ge=1, le=_MAX_PROXY_WINDOW)
    method: Name | None = None
    language: Name | None = None
    epsilon: float | None = None
    tau: float | None = None
    n_iterations: int | None = None


@dataclass(frozen=True, slots=True)
class ProxySearch:
    """A search whose hits are to be re-ranked.

    Attributes:
        query_string: for the engine, with the window's `from` and `size`.
        body: for the engine, as plain JSON; None for the body that came.
        body_without_ours: what to pass on where re-ranking fails; None for the body that came.
    """

    text: str
    language: str | None
    method: str
    parameters: Parameters
    page: PagePlan
    source_filter: SourceFilter
    query_string: str
    body: bytes | None
    body_without_ours: bytes | None
    is_pretty: bool


def read_search(service: Service, raw_query_string: str, raw_body: bytes) -> ProxySearch:
    """Reads the URL's parameters and the body of a search.

    Raises:
        Skip: it is the engine's alone.
        BadInput: `ext.rerank` holds what we cannot use.
    """
    parameters = dict(parse_qsl(raw_query_string, keep_blank_values=True))
    if parameters.get("rerank", "").strip().lower() in ("false", "0", "no", "off"):
        raise Skip("disabled")
    body = _read_body(raw_body)
    ext, stripped = _take_ext(body)
    passed = None if stripped is body else _written(stripped)
    _check_kind(stripped, parameters, passed)
    text = ext.query_context.query_text or _text(stripped, parameters)
    if not text or not text.strip():
        raise Skip("no_query_text", passed)
    page = plan_page(
        _number(stripped, parameters, "from", 0, passed),
        _number(stripped, parameters, "size", _DEFAULT_SIZE, passed),
        ext.window_size or service.settings.proxy_window_size,
    )
    if page is None:
        raise Skip("beyond_window", passed)
    method = ext.method or service.settings.method
    if method == "none":
        raise Skip("method_none", passed)
    check_method(method)
    language = None if ext.language is None else language_code(ext.language)
    _check_words(service, text, language, passed)
    source_filter = read_source_filter(stripped, parameters)
    widened = None if source_filter.widened is None else _written({**stripped, "_source": source_filter.widened})
    return ProxySearch(
        text=text,
        language=language,
        method=method,
        parameters=service.parameters(ext.epsilon, ext.n_iterations, ext.tau),
        page=page,
        source_filter=source_filter,
        query_string=with_page(raw_query_string, page.n_fetch),
        body=passed if widened is None else widened,
        body_without_ours=passed,
        is_pretty=parameters.get("pretty", "false") in ("", "true"),
    )


def with_page(raw_query_string: str, n_fetch: int) -> str:
    """The query string with our parameter out and the window in; what the URL says goes before the body."""
    return "&".join([*_kept(raw_query_string, _PAGE_PARAMETERS), "from=0", f"size={n_fetch}"])


def without_ours(raw_query_string: str) -> str:
    """The query string without `rerank`, which an engine would refuse; all else byte for byte."""
    kept = _kept(raw_query_string, ("rerank",))
    return "&".join(kept) if len(kept) < raw_query_string.count("&") + 1 else raw_query_string


def only_parameters(raw_query_string: str, names: tuple[str, ...]) -> str:
    """The query string with these parameters alone."""
    kept = set(_kept(raw_query_string, names))
    return "&".join(part for part in raw_query_string.split("&") if part and part not in kept)


def _kept(raw_query_string: str, left_out: tuple[str, ...]) -> list[str]:
    parts = raw_query_string.split("&") if raw_query_string else []
    return [part for part in parts if unquote_plus(part.split("=", 1)[0]) not in left_out]


def _read_body(raw_body: bytes) -> dict[str, Any]:
    if not raw_body.strip():
        return {}
    try:
        body = json.loads(raw_body)
    except (ValueError, RecursionError):
        raise Skip("body_not_json") from None  # the engine says what is wrong with it, or reads YAML
    if not isinstance(body, dict):
        raise Skip("body_not_json")
    return body


def _take_ext(body: dict[str, Any]) -> tuple[_RerankExt, dict[str, Any]]:
    """Our section, and the body without it (the same object where it has none).

    `query_text_path` is neural-search's alone: who writes it means that plugin, and keeps the section.
    """
    ext = body.get("ext")
    section = ext.get("rerank") if isinstance(ext, Mapping) else None
    if section is None or not isinstance(ext, Mapping):
        return _RerankExt(), body
    if not isinstance(section, dict):
        raise BadInput('ext.rerank is not an object; give {"query_context": {"query_text": "…"}, "window_size": 100}')
    context = section.get("query_context")
    if isinstance(context, Mapping) and "query_text_path" in context:
        raise Skip("query_text_path")
    try:
        read = parse(_RerankExt, section)
    except BadInput as error:
        raise BadInput(f"ext.rerank: {error}") from None
    others = {name: value for name, value in ext.items() if name != "rerank"}
    stripped = {name: value for name, value in body.items() if name != "ext"}
    return read, {**stripped, "ext": others} if others else stripped


def _check_kind(body: Mapping[str, Any], parameters: Mapping[str, str], passed: bytes | None) -> None:
    """Raises Skip for searches whose order or form is not ours to change."""
    reasons = {
        "scroll": "scroll" in parameters,
        "search_after": "search_after" in body,
        "point_in_time": "pit" in body,
        "sorted": not _by_score(parameters["sort"] if "sort" in parameters else body.get("sort")),
        # What is filtered out of the answer may be what we read; passed on, the parameter keeps its meaning.
        "filter_path": "filter_path" in parameters,
        "not_json": parameters.get("format", "json") not in ("", "json"),
        # The whole body as a parameter of the URL.
        "source_parameter": "source" in parameters,
    }
    for reason, holds in reasons.items():
        if holds:
            raise Skip(reason, passed)


def _by_score(sort: Any) -> bool:
    """Whether the order is that of falling scores, which is what no `sort` means too."""
    keys = sort if isinstance(sort, list) else [] if sort is None else [sort]
    return not keys or (len(keys) == 1 and keys[0] in _FALLING_SCORES)


def _text(body: Mapping[str, Any], parameters: Mapping[str, str]) -> str | None:
    if "q" in parameters:
        return plain_words(parameters["q"])  # it takes the place of the body's query
    return find_query_text(body)


def _check_words(service: Service, text: str, language: str | None, passed: bytes | None) -> None:
    """Raises Skip where the text has no known word: the engine's order is then the best there is."""
    try:
        service.reranker.query(text, language)
    except (EmptyQuery, UnknownWords):
        raise Skip("unknown_words", passed) from None


def _number(
    body: Mapping[str, Any], parameters: Mapping[str, str], name: str, default: int, passed: bytes | None
) -> int:
    value = parameters.get(name, body.get(name, default))
    try:
        number = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else -1
    except ValueError:
        number = -1
    if number < 0:
        raise Skip("odd_page", passed)  # null, -1 or a word: the engine says what it makes of it
    return number


def _written(body: Mapping[str, Any]) -> bytes:
    return json_bytes(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
