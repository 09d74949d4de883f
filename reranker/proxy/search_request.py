"""Reads a search that came for the engine: whether its hits are to be re-ranked, by what text, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from reranker.base.errors import BadInput, EmptyQuery, UnknownWords
from reranker.proxy.answer import SEQ_NO_KEYS
from reranker.proxy.answer_filters import SourceFilter, read_source_filter
from reranker.proxy.query.clauses import CALLER_SCORING
from reranker.proxy.query.clauses import Field as QueryField
from reranker.proxy.query.text import ALL_FIELDS, FieldTypes, NoFieldTypes, QueryReading, read_query
from reranker.proxy.rules import Skip, WithoutEmbeddings, is_asked_for, is_switched_off, skip_reason
from reranker.proxy.search_body import SearchBody, WindowRequest, without_ours
from reranker.proxy.upstream.passing import is_true
from reranker.proxy.window import PagePlan, plan_page
from reranker.ranking.evidence import check_first_stage_share
from reranker.service.requests import Name, QueryText, parse
from reranker.service.service import Service
from reranker.text.languages import language_code
from reranker.translation import WordGroup
from reranker.transport import Parameters, check_method

_DEFAULT_SIZE = 10  # of an engine's page
_MAX_PROXY_WINDOW = 1_000
_MAX_TEXT_FIELDS = 20
# A document's first 500 words are read: a title that is read more often would leave no room for the text.
_MAX_FIELD_WEIGHT = 5
# Of the URL's query; once it is translated it stands in the body.
URL_QUERY = ("q", "df", "analyzer", "default_operator", "lenient", "analyze_wildcard")
# Each has its own clauses of a translated query.
_MAX_LANGUAGES = 10
# Elasticsearch's fusions of several queries: their hits end at this, which may not be less than the page.
_FUSION_WINDOWS = ("rank_window_size", "window_size")


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
    text_fields: list[Name] | None = Field(default=None, max_length=_MAX_TEXT_FIELDS)
    details: bool = False
    languages: list[Name] | None = Field(default=None, min_length=1, max_length=_MAX_LANGUAGES)
    translate: bool | None = None


@dataclass(frozen=True, slots=True)
class ProxySearch:
    """A search whose hits are to be re-ranked.

    Attributes:
        text_fields: of `_source`, that the caller or the settings name.
        query_fields: of `_source`, that the query names, with their boosts; `*` stands for every string. They are read
            where there are no `text_fields`, and every string where a hit has none of them.
        has_caller_scoring: whether the engine's score is something else than the relevance of a text: the caller asks
            for re-ranking even so.
        added_keys: of a hit, which the caller did not ask for.
        with_details: whether each hit is to say how it came to its place.
        filter_path: as the caller gave it; the engine is not given it.
        body_without_ours: what to pass on where re-ranking fails; None for the body that came.
        query: the caller's, that of the URL among it; None where there is none.
        types: of the fields of the searched indices.
        translate: when it is asked in translation: `no_hits`, `always`, `never`.
        languages: of the documents, where the caller names them.
        translations: the word groups of its query by language; None where it is as the caller wrote it.
    """

    text: str
    language: str | None
    method: str
    parameters: Parameters
    feedback: bool
    first_stage_share: float | None
    page: PagePlan
    source_filter: SourceFilter
    text_fields: tuple[str, ...]
    query_fields: tuple[QueryField, ...]
    has_caller_scoring: bool
    added_keys: tuple[str, ...]
    with_details: bool
    filter_path: str | None
    is_pretty: bool
    window: WindowRequest
    body_without_ours: bytes | None
    query: Any
    types: FieldTypes
    translate: str
    languages: tuple[str, ...]
    translations: Mapping[str, Sequence[WordGroup]] | None = None

    @property
    def window_body(self) -> bytes:
        """For the engine: the caller's body with the window in place of the page."""
        return self.window.written

    @property
    def is_translated_at_once(self) -> bool:
        """Whether the engine may be asked in translation before it was asked as the caller wrote."""
        return self.translate != "never" and (bool(self.languages) or self.translate == "always")

    @property
    def replaced_parameters(self) -> tuple[str, ...]:
        """Parameters of the URL that stand in the body instead."""
        return () if self.translations is None else URL_QUERY

    def translated(self, query: Any, translations: Mapping[str, Sequence[WordGroup]]) -> ProxySearch:
        """The same search with another query.

        Args:
            translations: the groups in the query, by language.
        """
        return replace(self, window=replace(self.window, query=query), translations=translations)

    @property
    def read_fields(self) -> tuple[str, ...]:
        """The fields of `_source` to read first; every string where there are none."""
        names = self.text_fields or tuple(field.name for field in self.query_fields)
        return () if ALL_FIELDS in names or len(names) > _MAX_TEXT_FIELDS else names

    @property
    def weighted_fields(self) -> tuple[str, ...]:
        """`read_fields`, the highest boost first, each as often as its boost says.

        Next to `text`, `title^5` is read five times, so that its words weigh five times as much.
        """
        if self.text_fields or not self.read_fields:
            return self.read_fields
        boosted = sorted(self.query_fields, key=lambda field: -field.boost)
        least = min(field.boost for field in boosted)
        if least <= 0:
            return self.read_fields
        return tuple(field.name for field in boosted for _ in range(min(_MAX_FIELD_WEIGHT, round(field.boost / least))))


def read_search(
    service: Service, parameters: Mapping[str, str], body: SearchBody, types: FieldTypes | None = None
) -> ProxySearch:
    """Reads the URL's parameters, which go before the body, and the body of a search.

    Args:
        types: of the fields of the searched indices; where there are none, queries are read without a mapping.

    Raises:
        Skip: it is the engine's alone.
        BadInput: `ext.rerank` holds what we cannot use.
    """
    if is_switched_off(parameters):
        raise Skip("disabled")
    ext, others = _read_ext(body)
    passed = None if ext is None else without_ours(body, others)
    try:
        return _read(service, parameters, body, ext, others, passed, types or NoFieldTypes())
    except Skip as skip:
        skip.body = passed
        raise


def _read(
    service: Service,
    parameters: Mapping[str, str],
    body: SearchBody,
    section: RerankSection | None,
    other_ext: Mapping[str, Any] | None,
    passed: bytes | None,
    types: FieldTypes,
) -> ProxySearch:
    values = body.values
    ext = section or RerankSection()
    reason = skip_reason(values, parameters)
    if reason is not None:
        raise Skip(reason)
    method = ext.method or service.settings.method
    if method == "none":
        raise Skip("method_none")
    check_method(method)
    share = service.settings.first_stage_share if ext.first_stage_share is None else ext.first_stage_share
    check_first_stage_share(share)
    if service.opened is None:
        raise WithoutEmbeddings
    page = _page(service, values, parameters, ext.window_size)
    query = _query(values, parameters, types, section)
    text = query.text
    language = None if ext.language is None else language_code(ext.language)
    _check_words(service, text, language)
    source_filter = read_source_filter(values, parameters)
    return ProxySearch(
        text=text,
        language=language,
        method=method,
        parameters=service.parameters(ext.epsilon, ext.n_iterations, ext.tau),
        feedback=service.settings.feedback if ext.feedback is None else ext.feedback,
        first_stage_share=share,
        page=page,
        source_filter=source_filter,
        text_fields=tuple(ext.text_fields or service.settings.proxy_text_fields),
        query_fields=query.fields,
        has_caller_scoring=query.reason == CALLER_SCORING,
        added_keys=() if _flag(values, parameters, "seq_no_primary_term") else SEQ_NO_KEYS,
        with_details=ext.details,
        filter_path=parameters.get("filter_path") or None,
        is_pretty=is_true(parameters.get("pretty", "false")),
        window=WindowRequest(body, page, source_filter, other_ext),
        body_without_ours=passed,
        query=_url_query(parameters) if "q" in parameters else values.get("query"),
        types=types,
        translate=_translate(service, ext),
        languages=_languages(service, ext),
    )


def _read_ext(body: SearchBody) -> tuple[RerankSection | None, Mapping[str, Any] | None]:
    """Our section, None where there is none, and the sections of others.

    `query_text_path` is neural-search's alone: who writes it means that plugin, and keeps the section.
    """
    ext = body.raw.get("ext")
    section = ext.get("rerank") if isinstance(ext, Mapping) else None
    if section is None or not isinstance(ext, Mapping):
        return None, ext
    if not isinstance(section, dict):
        raise BadInput('ext.rerank is not an object; give {"query_context": {"query_text": "…"}, "window_size": 100}')
    context = section.get("query_context")
    if isinstance(context, Mapping) and "query_text_path" in context:
        raise Skip("query_text_path")
    try:
        read = parse(RerankSection, section)
    except BadInput as error:
        raise BadInput(f"ext.rerank: {error}") from None
    return read, {name: value for name, value in ext.items() if name != "rerank"} or None


def _query(
    body: Mapping[str, Any], parameters: Mapping[str, str], types: FieldTypes, section: RerankSection | None
) -> QueryReading:
    """What to re-rank by.

    Raises:
        Skip: there is no text, or the caller's own scoring is to stay.
    """
    # Who writes a section asks for re-ranking.
    is_asked = section is not None or is_asked_for(parameters)
    read = read_query(body, parameters, types, is_asked)
    given = section.query_context.query_text if section is not None else None
    if given is not None and given.strip():
        return replace(read, text=given)
    if not read.text or (read.reason and not is_asked):
        raise Skip(read.reason or "no_query_text")
    return read


def _page(
    service: Service, body: Mapping[str, Any], parameters: Mapping[str, str], window_size: int | None
) -> PagePlan:
    window = min([window_size or service.settings.proxy_window_size, *_fusion_windows(body)])
    page = plan_page(_number(body, parameters, "from", 0), _number(body, parameters, "size", _DEFAULT_SIZE), window)
    if page is None:
        raise Skip("no_hits_wanted")
    return page


def _fusion_windows(body: Mapping[str, Any]) -> list[int]:
    """The depths of the body's outermost fusion: a retriever, or `rank`."""
    kinds = [
        value for part in ("retriever", "rank") if isinstance(body.get(part), Mapping) for value in body[part].values()
    ]
    sizes = [kind.get(name) for kind in kinds if isinstance(kind, Mapping) for name in _FUSION_WINDOWS]
    return [size for size in sizes if isinstance(size, int) and size > 0]


def _check_words(service: Service, text: str, language: str | None) -> None:
    """Raises Skip where the text has no known word: the engine's order is then the best there is."""
    try:
        service.reranker.query(text, language)
    except (EmptyQuery, UnknownWords):
        raise Skip("unknown_words") from None


def _translate(service: Service, ext: RerankSection) -> str:
    if ext.translate is None:
        return service.settings.proxy_translate
    return "always" if ext.translate else "never"


def _languages(service: Service, ext: RerankSection) -> tuple[str, ...]:
    languages = tuple(language_code(name) for name in ext.languages or ())
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


def _flag(body: Mapping[str, Any], parameters: Mapping[str, str], name: str) -> bool:
    if name in parameters:
        return is_true(parameters[name])
    return body.get(name) in (True, "true")


def _number(body: Mapping[str, Any], parameters: Mapping[str, str], name: str, default: int) -> int:
    value = parameters.get(name, body.get(name, default))
    try:
        number = int(value) if isinstance(value, str | int) and not isinstance(value, bool) else -1
    except ValueError:
        number = -1
    if number < 0:
        raise Skip("odd_page")  # null, -1 or a word: the engine says what it makes of it
    return number
