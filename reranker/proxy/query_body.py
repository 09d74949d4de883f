"""Reads what scores in a search: its query, Elasticsearch's retrievers and kNN, rescoring, boosts of indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reranker.proxy.lucene_syntax import read_lucene_syntax
from reranker.proxy.query_clauses import Content, read_clause, read_clauses, read_knn, syntax_group
from reranker.proxy.query_nodes import (
    AUTOCOMPLETE,
    CALLER_SCORING,
    UNKNOWN_QUERY,
    Group,
    Kind,
    Leaf,
    Node,
    read_field,
)

_MAX_DEPTH = 24
# They order the hits of another retriever by something else.
_REORDERING = frozenset(["diversify", "pinned", "random_reranker", "rescorer", "rule", "text_similarity_reranker"])
_FUSIONS = frozenset(["rrf", "linear"])


def read_scoring(body: Mapping[str, Any], parameters: Mapping[str, str]) -> Node:
    """All that scores in a search, `?q=` in place of the body's query."""
    if "q" in parameters:
        fields = (read_field(parameters["df"]),) if parameters.get("df") else ()
        query: list[Node] = [syntax_group(read_lucene_syntax(parameters["q"]), fields)]
    else:
        query = read_clauses(body.get("query"))
    others = [*_knn(body.get("knn")), *_retrievers(body.get("retriever"))]
    changes = any(body.get(name) not in (None, [], {}) for name in ("rescore", "indices_boost"))
    if not query and not others and _completes(body.get("suggest")):
        return Leaf(Kind.FILTER, reason=AUTOCOMPLETE)
    reason = CALLER_SCORING if changes else ""
    return Group(should=[*query, *others], reason=reason)


def _knn(value: Any) -> list[Node]:
    searches = value if isinstance(value, list) else [value]
    return [read_knn(one) for one in searches if isinstance(one, Mapping)]


def _retrievers(value: Any, depth: int = 0) -> list[Node]:
    """One retriever or a list of them."""
    retrievers = value if isinstance(value, list) else [value]
    return [_retriever(one, depth) for one in retrievers if isinstance(one, Mapping)]


def _retriever(value: Content, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        return Leaf(Kind.FILTER, reason=UNKNOWN_QUERY)
    # In a `linear` it stands beside its weight.
    value = value["retriever"] if isinstance(value.get("retriever"), Mapping) else value
    nodes = [_read(kind, content, depth) for kind, content in value.items() if isinstance(content, Mapping)]
    return nodes[0] if len(nodes) == 1 else Group(must=nodes)


def _read(kind: str, content: Content, depth: int) -> Node:
    if kind == "standard":
        is_sorted = content.get("sort") not in (None, [], "_score", ["_score"])
        inner = read_clause(content.get("query"))
        return Group(must=[inner], has_filter="filter" in content, reason=CALLER_SCORING if is_sorted else "")
    if kind == "knn":
        return read_knn(content)
    if kind in _FUSIONS:
        text = content.get("query")
        if isinstance(text, str):
            names = content.get("fields")
            fields = tuple(read_field(name) for name in names if isinstance(name, str)) if names else ()
            return Leaf(Kind.TEXT, text, fields)
        return Group(should=_retrievers(content.get("retrievers"), depth + 1))
    if kind in _REORDERING:
        return Group(must=_retrievers(content.get("retriever"), depth + 1), reason=CALLER_SCORING)
    return Leaf(Kind.FILTER, reason=UNKNOWN_QUERY)


def _completes(suggest: Any) -> bool:
    suggesters = suggest.values() if isinstance(suggest, Mapping) else ()
    return any(isinstance(one, Mapping) and "completion" in one for one in suggesters)
