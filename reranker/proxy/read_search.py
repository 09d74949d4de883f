"""Reads one search: whether it is re-ranked, by what text, and how.

The URL's parameters go before the body. A search that is not re-ranked is the engine's alone, for a reason that
`X-Rerank-Reason` gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import regex
from pydantic import BaseModel, ConfigDict, Field

from reranker.base.errors import BadInput, EmptyQuery, UnknownWords
from reranker.proxy.answer_filters import read_source_filter
from reranker.proxy.bare_windows import BarePlan, read_bare_plan
from reranker.proxy.query.text import FieldTypes, no_field_types, read_query
from reranker.proxy.raw_json import DuplicateKey, read_body, write_object
from reranker.proxy.search import MAX_TEXT_FIELDS, PagePlan, Search, SearchBody
from reranker.proxy.upstream.incoming import is_true
from reranker.ranking.corrections import start_encoding
from reranker.ranking.evidence import check_first_stage_share
from reranker.service.json_text import json_bytes
from reranker.service.request_fields import Name, QueryText
from reranker.service.requests import parse
from reranker.service.service import Service
from reranker.text.languages import language_code
from reranker.transport import check_method

# The reason where there are no embeddings yet.
NO_EMBEDDINGS = "no_embeddings"

_DEFAULT_SIZE = 10  # of an engine's page
_MAX_PROXY_WINDOW = 1_000
# Each has its own clauses of a translated query.
_MAX_LANGUAGES = 10
# Elasticsearch's fusions of several queries: their hits end at this, which may not be less than the page.
_FUSION_WINDOWS = ("rank_window_size", "window_size")
# Each name of an answer is compared with each path: with more of them a request could choose how long that takes.
_MAX_FILTER_PATHS = 100
# What is a number to us alone (`1_000`, other scripts' digits) is the engine's to refuse.
_number = regex.compile(r"\+?[0-9]{1,9}").fullmatch
_TOO_LARGE = 10**9
_FALLING_SCORES: tuple[Any, ...] = (
    "_score",
    "_score:desc",
    {"_score": "desc"},
    {"_score": {"order": "desc"}},
    {"_score": {}},
)
_NO = ("false", "0", "no", "off")
_YES = ("true", "1", "yes", "on")
# Of a hit; they are asked for with each window.
_SEQ_NO_KEYS = ("_seq_no", "_primary_term")


class Skip(Exception):
    """The request is passed on as it is.

    Attributes:
        reason: one of a fixed set of words, for the header.
        body: what to pass on in place of the body that came, where that holds our section; else None.
    """

    def __init__(self, reason: str, body: bytes | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.body = body

    @property
    def status(self) -> str:
        """For the header: without embeddings the search should have been re-ranked, and could not be."""
        return "fallback" if self.reason == NO_EMBEDDINGS else "skipped"


class _QueryContext(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    query_text: QueryText | None = None


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
    languages: list[Name] | None = Field(default=None, min_length=1, max_length=_MAX_LANGUAGES)
    translate: bool | None = None


# Made once: Pydantic copies the defaults of each.
_NO_SECTION = RerankSection()


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
    body, section = _read_body(data, parameters)
    try:
        return _read(service, parameters, body, section, types, indices, header)
    except Skip as skip:
        skip.body = body.without_ours
        raise


def check_not_off(parameters: Mapping[str, str]) -> None:
    """Raises Skip where the URL switches re-ranking off."""
    if parameters.get("rerank", "").strip().lower() in _NO:
        raise Skip("disabled")


def _read_body(data: bytes, parameters: Mapping[str, str]) -> tuple[SearchBody, RerankSection | None]:
    """The body of a search, and our section of it.

    `query_text_path` is neural-search's alone: who writes it means that plugin, and keeps the section.
    """
    try:
        text = data.decode() if data.strip() else "{}"
        raw = read_body(text)
    except DuplicateKey:
        raise Skip("duplicate_key") from None
    except ValueError:
        raise Skip("body_not_json") from None  # the engine says what is wrong with it, or reads YAML
    if "rerank" in parameters:
        check_not_off(parameters)
    ext = raw.parsed.get("ext")
    section = ext.get("rerank") if isinstance(ext, dict) else None
    if section is None or not isinstance(ext, dict):
        return SearchBody(text, raw), None
    if not isinstance(section, dict):
        raise BadInput('ext.rerank is not an object; give {"query_context": {"query_text": "…"}, "window_size": 100}')
    context = section.get("query_context")
    if isinstance(context, dict) and "query_text_path" in context:
        raise Skip("query_text_path")
    try:
        read = parse(RerankSection, section)
    except BadInput as error:
        raise BadInput(f"ext.rerank: {error}") from None
    if others := {name: value for name, value in ext.items() if name != "rerank"}:
        written = json.dumps(others, ensure_ascii=False, separators=(",", ":"))
        return SearchBody(text, raw, others, json_bytes(write_object(text, raw, replace={"ext": written}))), read
    return SearchBody(text, raw, None, json_bytes(write_object(text, raw, drop=("ext",)))), read


def check_form(body: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
    """Raises Skip where the engine's own order or form has to stay."""
    stored = parameters.get("stored_fields", body.get("stored_fields"))
    sort = parameters["sort"] if "sort" in parameters else body.get("sort")
    keys = sort if isinstance(sort, list) else [] if sort is None else [sort]
    seq_no = parameters.get("seq_no_primary_term", body.get("seq_no_primary_term", False))
    reasons = {
        # Walks through all hits: each step goes on where the one before ended, in the engine's order.
        "scroll": "scroll" in parameters,
        "search_after": "search_after" in body,
        "point_in_time": "pit" in body,
        "sorted": bool(keys) and not (len(keys) == 1 and keys[0] in _FALLING_SCORES),
        "not_json": parameters.get("format", "json") not in ("", "json"),
        "long_filter_path": parameters.get("filter_path", "").count(",") >= _MAX_FILTER_PATHS,
        # Hits without names: nothing could be fetched besides, and the engine refuses `_source` with it.
        "no_ids": stored in ("_none_", ["_none_"]),
        # It is asked for with each window, so that the engine would not see what it refuses.
        "odd_seq_no": not (isinstance(seq_no, bool) or seq_no in ("", "true", "false")),
    }
    for reason, holds in reasons.items():
        if holds:
            raise Skip(reason)


def _read(
    service: Service,
    parameters: Mapping[str, str],
    body: SearchBody,
    section: RerankSection | None,
    types: FieldTypes,
    indices: tuple[str, ...],
    header: bytes,
) -> Search:
    ext, values, settings = section or _NO_SECTION, body.raw.parsed, service.settings
    check_form(values, parameters)
    method = ext.method or settings.method
    if method == "none":
        raise Skip("method_none")
    check_method(method)
    share = settings.first_stage_share if ext.first_stage_share is None else ext.first_stage_share
    check_first_stage_share(share)
    if service.opened is None:
        raise Skip(NO_EMBEDDINGS)
    page = _page(values, parameters, ext.window_size or settings.proxy_window_size)
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
    start_encoding(query, method)  # it is ready when the engine has answered
    languages = _languages(service, ext.languages) if ext.languages else ()
    translate = settings.proxy_translate if ext.translate is None else "always" if ext.translate else "never"
    wants_seq_no = values.get("seq_no_primary_term") in (True, "true")
    if "seq_no_primary_term" in parameters:
        wants_seq_no = parameters["seq_no_primary_term"] == "true"  # the engines take no value for no
    own = {name: value for name, value in values.items() if name != "ext"}
    is_plain = not page.is_behind and (section is not None or "ext" not in values) and body.other_ext is None
    plan = read_bare_plan(own, parameters, header, page.size, page.n_fetch) if is_plain else BarePlan()
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
        text_fields=tuple(ext.text_fields or settings.proxy_text_fields),
        query_fields=reading.fields,
        added_keys=() if wants_seq_no else _SEQ_NO_KEYS,
        with_details=ext.details,
        clause=_url_query(parameters) if "q" in parameters else values.get("query"),
        types=types,
        translate=translate,
        languages=languages,
        is_translated_at_once=translate != "never" and (bool(languages) or translate == "always"),
        bare_plan=plan,
    )


def _page(body: Mapping[str, Any], parameters: Mapping[str, str], window: int) -> PagePlan:
    """Raises Skip where the page holds no hits, or is not given in numbers."""
    numbers = []
    for name, default in (("from", 0), ("size", _DEFAULT_SIZE)):
        value = parameters.get(name, body.get(name, default))
        is_number = _number(value) if isinstance(value, str) else type(value) is int and 0 <= value < _TOO_LARGE
        if not is_number:
            raise Skip("odd_page")  # null, -1 or a word: the engine says what it makes of it
        numbers.append(int(value))
    if numbers[1] == 0:
        raise Skip("no_hits_wanted")
    # The depths of the body's outermost fusion: a retriever, or `rank`.
    fusions = [one for part in ("retriever", "rank") if isinstance(body.get(part), dict) for one in body[part].values()]
    depths = [one.get(name) for one in fusions if isinstance(one, dict) for name in _FUSION_WINDOWS]
    window = min([window, *(depth for depth in depths if isinstance(depth, int) and depth > 0)])
    return PagePlan(numbers[0], numbers[1], window)


def _languages(service: Service, names: Iterable[str]) -> tuple[str, ...]:
    languages = tuple(language_code(name) for name in names)
    held = service.embeddings.languages
    for language in languages:
        if language not in held:
            raise BadInput(
                f"ext.rerank.languages names {language!r}, and the embeddings hold {', '.join(held)}; name these alone"
            )
    return languages


def _url_query(parameters: Mapping[str, str]) -> dict[str, Any]:
    """`?q=` and what goes with it as a query of the body."""
    names = {"q": "query", "df": "default_field", "analyzer": "analyzer", "default_operator": "default_operator"}
    found: dict[str, Any] = {name: parameters[one] for one, name in names.items() if parameters.get(one)}
    if "lenient" in parameters:
        found["lenient"] = is_true(parameters["lenient"])
    return {"query_string": found}
