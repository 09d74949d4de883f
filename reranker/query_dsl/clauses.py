"""Reads an engine's query (OpenSearch 2 and 3, Elasticsearch 8) into leaves and groups.

Each query type has its row in a table below, or a reader of its own.

What only filters or forbids is not looked into. A query type that is not known here keeps the engine's order.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from reranker.query_dsl.nodes import Field, Group, Kind, Leaf, Node
from reranker.query_dsl.syntax import is_plain_simple, read_lucene_syntax, read_simple_syntax

# Why a search keeps the engine's order: the words of `X-Rerank-Reason`, the strongest first.
CALLER_SCORING = "caller_scoring"
AUTOCOMPLETE = "autocomplete"
UNKNOWN_QUERY = "unknown_query"
KNN_WITHOUT_K = "knn_without_k"
REASONS = (CALLER_SCORING, AUTOCOMPLETE, UNKNOWN_QUERY, KNN_WITHOUT_K)


def objects_within(value: Any) -> Iterator[Mapping[str, Any]]:
    """All JSON objects in a value, itself and those of any depth, also in the query of a `wrapper`."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):  # as JSON gives it
            yield one
            waiting.extend(one.values())
            if "wrapper" in one:
                waiting.append(_unwrapped(one["wrapper"]))
        elif isinstance(one, list):
            waiting.extend(one)


# Of the query strings of a search: as many as our own search takes.
_MAX_SYNTAX_CHARS = 100_000
# Queries that are given as text.
_WRITTEN = frozenset(["query_string", "simple_query_string"])


def is_too_long(query: Any) -> bool:
    """Whether the query strings anywhere in a query have over 100,000 characters together: a body may hold many."""
    contents = (one[kind] for one in objects_within(query) for kind in _WRITTEN.intersection(one))
    texts = (content.get("query") for content in contents if isinstance(content, Mapping))
    return sum(len(text) for text in texts if isinstance(text, str)) > _MAX_SYNTAX_CHARS


def read_fields(value: Any) -> tuple[Field, ...]:
    """The fields of one name or of a list of them, each with the boost behind its name.

    >>> read_fields(["title^5", "text"])
    (Field(name='title', boost=5.0), Field(name='text', boost=1.0))
    """
    found = []
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str) or not text:
            continue
        name, sign, boost = text.rpartition("^")
        try:
            found.append(Field(name, float(boost)) if sign else Field(text))
        except ValueError:
            found.append(Field(text))
    return tuple(found)


def read_boost(value: Any) -> float:
    """A clause's boost; NaN, which no other equals, where it is no number."""
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else float("nan")
    except (ValueError, OverflowError):
        return float("nan")


Content = Mapping[str, Any]

# {"match": {"title": "text"}} or {"match": {"title": {"query": "text"}}}: where the text lies in the latter.
_BY_FIELD = {
    "match": ("query", Kind.TEXT),
    "match_phrase": ("query", Kind.TEXT),
    "common": ("query", Kind.TEXT),
    "match_phrase_prefix": ("query", Kind.BEGUN),
    "match_bool_prefix": ("query", Kind.BEGUN),
    "term": ("value", Kind.TERM),
    "fuzzy": ("value", Kind.TERM),
    "span_term": ("value", Kind.TEXT),
    "prefix": ("value", Kind.PREFIX),
}
# Where the text lies in a query that compares embeddings, by field or not.
_MEANING = {
    "neural": "query_text",
    "neural_sparse": "query_text",
    "text_expansion": "model_text",
    "sparse_vector": "query",
    "semantic": "query",
    "weighted_tokens": "",
    "exact_knn": "",
    "knn_score_doc": "",
}
# They give the same score to each hit, or to each that has the same value.
_FILTERS = frozenset(
    [
        "constant_score",
        "exists",
        "geo_bounding_box",
        "geo_distance",
        "geo_grid",
        "geo_polygon",
        "geo_shape",
        "ids",
        "match_none",
        "parent_id",
        "range",
        "regexp",
        "script",
        "shape",
        "terms",
        "type",
        "wildcard",
        "xy_shape",
    ]
)
# Their scores are the caller's own; where a query that they change lies.
_CALLERS = {
    "boosting": "positive",
    "distance_feature": "",
    "percolate": "",
    "pinned": "organic",
    "rank_feature": "",
    "rule": "organic",
    "rule_query": "organic",
    "script_score": "query",
    "terms_set": "",
}
# A `function_score` with nothing else is its query alone.
_NO_FUNCTION = frozenset(["query", "boost", "boost_mode", "score_mode", "max_boost", "min_score", "_name"])
_PREFIX_TYPES = ("bool_prefix", "phrase_prefix")


def read_clause(clause: Any) -> Node:
    """A query; what is no query is read as an empty group, and the engine says what is wrong with it.

    Raises:
        RecursionError: it is nested too deeply.
    """
    if not isinstance(clause, dict) or len(clause) != 1:
        several = clause.items() if isinstance(clause, dict) else ()
        return Group(must=[read_clause({kind: content}) for kind, content in several])
    ((kind, content),) = clause.items()
    content = content if isinstance(content, dict) else {}
    boost = read_boost(content["boost"]) if "boost" in content else 1.0
    if kind in _BY_FIELD:
        return _by_field(content, *_BY_FIELD[kind])
    if kind in _MEANING:
        return Group(must=list(_meanings(content, _MEANING[kind])) or [Leaf(Kind.MEANING)])
    if kind in _FILTERS:
        return Leaf(Kind.FILTER, boost=_own_boost(content))
    if kind in _CALLERS:
        return Group(must=read_clauses(content.get(_CALLERS[kind])), reason=CALLER_SCORING)
    if kind.startswith("span_") or kind == "field_masking_span":  # words at places in a text
        parts = [part for name, part in content.items() if name != "exclude" and isinstance(part, dict | list)]
        return Group(must=[node for part in parts for node in read_clauses(part)], boost=boost)
    reader = _READERS.get(kind)
    return Leaf(Kind.FILTER, reason=UNKNOWN_QUERY) if reader is None else reader(content, boost)


def read_clauses(value: Any) -> list[Node]:
    """One query or a list of them."""
    return [read_clause(one) for one in (value if isinstance(value, list) else [value]) if one is not None]


def _own_boost(content: Content) -> float:
    """Of a filter, which has it beside its field or within."""
    inner = [value.get("boost", 1.0) for value in content.values() if isinstance(value, dict)]
    boosts = [read_boost(value) for value in (content.get("boost", 1.0), *inner)]
    return next((boost for boost in boosts if boost != 1.0), 1.0)


def _by_field(content: Content, key: str, kind: Kind) -> Node:
    leaves = []
    reason = AUTOCOMPLETE if kind is Kind.BEGUN else ""
    for name, value in content.items():
        if name in ("boost", "_name"):
            continue
        options = value if isinstance(value, dict) else {key: value}
        text = options.get(key, options.get("term"))
        boost = read_boost(options.get("boost", content.get("boost", 1.0)))
        if isinstance(text, str):
            leaves.append(Leaf(kind, text, (Field(name),), boost))
        elif isinstance(text, int | float) and not isinstance(text, bool):
            # Of a number's field mostly.
            leaves.append(Leaf(Kind.TERM, str(text), (Field(name),), boost, reason))
        else:
            leaves.append(Leaf(Kind.FILTER, boost=boost, reason=reason))
    return leaves[0] if len(leaves) == 1 else Group(must=leaves)


def _meanings(content: Content, key: str) -> Iterator[Leaf]:
    for value in (content, *content.values()):
        text = value.get(key) if isinstance(value, dict) else None
        if isinstance(text, str):
            yield Leaf(Kind.MEANING, text)


def read_knn(content: Content, boost: float = 1.0) -> Node:
    """Elasticsearch's may hold a text; OpenSearch's holds a vector."""
    builder = content.get("query_vector_builder")
    embedding = builder.get("text_embedding") if isinstance(builder, dict) else None
    text = embedding.get("model_text") if isinstance(embedding, dict) else None
    return Leaf(Kind.MEANING, text if isinstance(text, str) else "")


def _multi_match(content: Content, boost: float) -> Node:
    text = content.get("query")
    if not isinstance(text, str | int | float) or isinstance(text, bool):
        return Leaf(Kind.FILTER, boost=boost)
    kind = Kind.BEGUN if content.get("type") in _PREFIX_TYPES else Kind.TEXT
    return Leaf(kind, str(text), read_fields(content.get("fields")), boost)


def _query_string(content: Content, boost: float) -> Node:
    text = content.get("query")
    terms = read_lucene_syntax(text) if isinstance(text, str) else []
    reason = AUTOCOMPLETE if content.get("type") in _PREFIX_TYPES else ""
    return _syntax_group(terms, read_fields(content.get("fields") or content.get("default_field")), boost, reason)


def _simple_query_string(content: Content, boost: float) -> Node:
    query = content.get("query")
    text = query if isinstance(query, str) else ""
    has_flags = content.get("flags", "ALL") not in ("ALL", -1)  # which of the signs are operators
    reason = UNKNOWN_QUERY if has_flags and not is_plain_simple(text) else ""
    return _syntax_group(read_simple_syntax(text), read_fields(content.get("fields")), boost, reason)


def _syntax_group(
    terms: list[Leaf] | None, default_fields: tuple[Field, ...], boost: float = 1.0, reason: str = ""
) -> Node:
    """The terms of a query in one of the two syntaxes; None for one that could not be read."""
    if terms is None:
        return Leaf(Kind.FILTER, reason=UNKNOWN_QUERY)
    leaves = [term if term.fields else replace(term, fields=default_fields) for term in terms]
    return Group(must=leaves, boost=boost, reason=reason)


def _bool(content: Content, boost: float) -> Node:
    must = read_clauses(content.get("must"))
    has_filter = bool(content.get("filter") or content.get("must_not"))
    is_optional = bool(must or content.get("filter")) and content.get("minimum_should_match") in (None, 0, "0")
    return Group(must, read_clauses(content.get("should")), is_optional, has_filter, boost)


def _queries(content: Content, boost: float) -> Node:
    return Group(should=read_clauses(content.get("queries")), boost=boost)


def _function_score(content: Content, boost: float) -> Node:
    inner = read_clauses(content.get("query"))
    return Group(must=inner, boost=boost, reason=CALLER_SCORING if has_functions(content) else "")


def has_functions(content: Content) -> bool:
    """Whether a `function_score` changes the score of its query."""
    return any(content[name] not in (None, []) for name in content.keys() - _NO_FUNCTION)


def _nested(content: Content, boost: float) -> Node:
    if content.get("score_mode") == "none":
        return Leaf(Kind.FILTER)
    return Group(must=read_clauses(content.get("query")), boost=boost)


def _child(content: Content, boost: float) -> Node:
    """Children's scores are of texts that their parents' hits do not hold."""
    scores = content.get("score_mode", "none") != "none" or content.get("score", False) is not False
    return Leaf(Kind.FILTER, boost=boost, reason=CALLER_SCORING if scores else "")


def _more_like_this(content: Content, boost: float) -> Node:
    like = content.get("like")
    given = like if isinstance(like, list) else [like]
    texts = [text for text in given if isinstance(text, str)]
    if "unlike" in content or len(texts) < len(given):
        return Leaf(Kind.FILTER, reason=CALLER_SCORING)
    return Leaf(Kind.TEXT, " ".join(texts), read_fields(content.get("fields")), boost)


def _intervals(content: Content, boost: float) -> Node:
    return Group(must=[_rule(value, name) for name, value in content.items() if isinstance(value, dict)])


def _rule(rule: Content, field: str) -> Node:
    """The rules of `intervals`, which are nested like queries."""
    found: list[Node] = []
    for kind, content in rule.items():
        if not isinstance(content, dict):
            continue
        inner = content.get("intervals")
        rules = inner if isinstance(inner, list) else ()
        found += [_rule(one, field) for one in rules if isinstance(one, dict)]
        text = content.get("query", content.get("term"))
        if kind == "prefix":
            found.append(Leaf(Kind.PREFIX, str(content.get("prefix")), (Field(field),)))
        elif isinstance(text, str):
            found.append(Leaf(Kind.TEXT, text, (Field(field),)))
    return Group(must=found, boost=read_boost(rule.get("boost", 1.0)))


def _wrapper(content: Content, boost: float) -> Node:
    inner = _unwrapped(content)
    return Leaf(Kind.FILTER, reason=UNKNOWN_QUERY) if inner is None else Group(must=[read_clause(inner)], boost=boost)


def _unwrapped(content: Any) -> Any:
    """The query of a `wrapper`, which holds it as JSON in base64; None where it cannot be read."""
    try:
        return json.loads(base64.b64decode(content["query"]))
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


_READERS: Mapping[str, Callable[[Content, float], Node]] = {
    "bool": _bool,
    "combined_fields": _multi_match,
    "dis_max": _queries,
    "function_score": _function_score,
    "has_child": _child,
    "has_parent": _child,
    "hybrid": _queries,
    "intervals": _intervals,
    "knn": read_knn,
    "match_all": lambda content, boost: Group(),
    "more_like_this": _more_like_this,
    "multi_match": _multi_match,
    "nested": _nested,
    "query_string": _query_string,
    "simple_query_string": _simple_query_string,
    "wrapper": _wrapper,
}
