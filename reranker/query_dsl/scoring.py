"""Decides whether a search is re-ranked, by which text, and by which fields, from all that scores in its body."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from reranker.query_dsl.clauses import (
    AUTOCOMPLETE,
    CALLER_SCORING,
    KNN_WITHOUT_K,
    REASONS,
    UNKNOWN_QUERY,
    Content,
    is_too_long,
    objects_within,
    read_clause,
    read_clauses,
    read_fields,
    read_knn,
)
from reranker.query_dsl.nodes import Field, Group, Kind, Leaf, Node
from reranker.query_dsl.sort import further_keys
from reranker.upstream.incoming import is_true

# They order the hits of another retriever by something else.
_REORDERING = frozenset(["diversify", "pinned", "random_reranker", "rescorer", "rule", "text_similarity_reranker"])
_FUSIONS = frozenset(["rrf", "linear"])


def query_of(body: Mapping[str, Any], parameters: Mapping[str, str]) -> Any:
    """The query in the engine's words, `?q=` and what goes with it in place of the body's; None where there is none."""
    if "q" not in parameters:
        return body.get("query")
    names = {"q": "query", "df": "default_field", "analyzer": "analyzer", "default_operator": "default_operator"}
    found: dict[str, Any] = {name: parameters[one] for one, name in names.items() if parameters.get(one)}
    if "lenient" in parameters:
        found["lenient"] = is_true(parameters["lenient"])
    return {"query_string": found}


def read_scoring(body: Mapping[str, Any], parameters: Mapping[str, str]) -> Node:
    """All that scores in a search."""
    query = query_of(body, parameters)
    if is_too_long([query, body.get("retriever")]):
        return Leaf(Kind.FILTER, reason=UNKNOWN_QUERY)
    others = _knn(body["knn"]) if "knn" in body else []
    others += _retrievers(body["retriever"]) if "retriever" in body else []
    changes = any(body.get(name) not in (None, [], {}) for name in ("rescore", "indices_boost"))
    reason = CALLER_SCORING if changes else KNN_WITHOUT_K if _has_knn_without_k(body) else ""
    return Group(should=[*read_clauses(query), *others], reason=reason)


def _has_knn_without_k(body: Mapping[str, Any]) -> bool:
    """Whether a query, a filter or an aggregation holds Elasticsearch's `knn` without `k`: how many hits it finds then
    depends on the page's size, by a rule that versions differ in."""
    retriever = body.get("retriever")
    # A fusion asks its parts for its own depth. What stands beside the query gets its `k` (`knn_with_k`).
    inner = retriever.get("standard") if isinstance(retriever, dict) else None
    searches = [one.get("knn") for one in objects_within([*{**body, "retriever": inner}.values()])]
    return any(isinstance(one, Mapping) and isinstance(one.get("field"), str) and "k" not in one for one in searches)


def _knn(value: Any) -> list[Node]:
    searches = value if isinstance(value, list) else [value]
    return [read_knn(one) for one in searches if isinstance(one, dict)]


def _retrievers(value: Any) -> list[Node]:
    """One retriever or a list of them."""
    retrievers = value if isinstance(value, list) else [value]
    return [_retriever(one) for one in retrievers if isinstance(one, dict)]


def _retriever(value: Content) -> Node:
    # In a `linear` it stands beside its weight.
    value = value["retriever"] if isinstance(value.get("retriever"), dict) else value
    nodes = [_read(kind, content) for kind, content in value.items() if isinstance(content, dict)]
    return nodes[0] if len(nodes) == 1 else Group(must=nodes)


def _read(kind: str, content: Content) -> Node:
    if kind == "standard":
        is_sorted = further_keys(content.get("sort")) is None or "search_after" in content
        inner = read_clause(content.get("query"))
        return Group(must=[inner], has_filter="filter" in content, reason=CALLER_SCORING if is_sorted else "")
    if kind == "knn":
        return read_knn(content)
    if kind in _FUSIONS:
        text = content.get("query")
        if isinstance(text, str):
            return Leaf(Kind.TEXT, text, read_fields(content.get("fields")))
        return Group(should=_retrievers(content.get("retrievers")))
    if kind in _REORDERING:
        return Group(must=_retrievers(content.get("retriever")), reason=CALLER_SCORING)
    return Leaf(Kind.FILTER, reason=UNKNOWN_QUERY)


ALL_FIELDS = "*"
# How dynamic mappings name the keyword of a text.
_KEYWORD = ".keyword"
# As many as a search of our own may have; 500 words are read of a query.
_MAX_TEXT_CHARS = 100_000
# Of a field's name: each is looked for in each hit. No mapping has a longer one.
_MAX_FIELD_CHARS = 512
# Of clauses that are read by the types of their fields.
_TYPED = (Kind.TEXT, Kind.BEGUN, Kind.TERM, Kind.PREFIX)


@dataclass(frozen=True, slots=True)
class FieldType:
    """What a mapping says of a field.

    Attributes:
        source: the path in `_source` that the field is filled from.
    """

    is_text: bool
    source: str


FieldTypes = Callable[[Collection[str]], Mapping[str, FieldType]]
"""From names of fields to their types in the searched indices; fields that nothing is known of are missing."""


def no_field_types(names: Collection[str]) -> Mapping[str, FieldType]:
    """Nothing is known of any field."""
    return {}


@dataclass(frozen=True, slots=True)
class QueryReading:
    """What a search is re-ranked by.

    Attributes:
        text: of all clauses that score, each once, in the order of the body, at most 100,000 characters; "" if there
            is none.
        fields: of `_source`, with their boosts; `*` among them where the query names no fields. Names of over 512
            characters are left out. Empty where it only compares embeddings.
        reason: why the engine's order is to stay; "" where the score is the relevance of the text.
    """

    text: str
    fields: tuple[Field, ...]
    reason: str


def read_query(
    body: Mapping[str, Any], parameters: Mapping[str, str], types: FieldTypes, is_asked: bool = False
) -> QueryReading:
    """Reads a search.

    Args:
        types: asked only where the answer can matter.
        is_asked: whether the caller asks for re-ranking, whatever the score is: the text is then read in any case.

    >>> query = {"bool": {"must": {"match": {"text": "wool"}}, "filter": {"term": {"lang": "en"}}}}
    >>> read_query({"query": query}, {}, no_field_types)
    QueryReading(text='wool', fields=(Field(name='text', boost=1.0),), reason='')
    """
    try:
        return _read_query(read_scoring(body, parameters), types, is_asked)
    except RecursionError:  # nested deeper than any engine takes
        return QueryReading("", (), UNKNOWN_QUERY)


def _read_query(node: Node, types: FieldTypes, is_asked: bool) -> QueryReading:
    reasons: set[str] = set()
    names: set[str] = set()
    _survey(node, reasons, names)
    if reasons and not is_asked:
        return QueryReading("", (), _first(reasons))
    decision = _Decision(types(sorted(names)) if names else {}, reasons)
    what = decision.read(node)
    decision.check_boosts()
    text = " ".join(decision.texts)[:_MAX_TEXT_CHARS]
    reason = _first(decision.reasons) if decision.reasons else ""
    if not reason and not text:
        reason = "filter_only" if what is _What.FILTER else "no_query_text"
    fields = (Field(*one) for one in decision.fields.items() if len(one[0]) <= _MAX_FIELD_CHARS)
    return QueryReading(text, tuple(fields), reason)


def _survey(node: Node, reasons: set[str], names: set[str]) -> None:
    """Collects why the engine's order is to stay, and the fields whose types decide what a clause is, or where its
    text lies."""
    if node.reason:
        reasons.add(node.reason)
    if isinstance(node, Group):
        for inner in (*node.must, *node.should):
            _survey(inner, reasons, names)
    elif node.kind in _TYPED:
        names.update(one.name for one in node.fields if "*" not in one.name and not one.name.startswith("_"))


def _first(reasons: Collection[str]) -> str:
    return next((reason for reason in REASONS if reason in reasons), "")


def _has_boost(node: Node) -> bool:
    return isinstance(node, Leaf) and node.boost not in (0.0, 1.0)


class _What(IntEnum):
    """What a part of a query scores by; that of a group is the highest of its parts."""

    NOTHING = 0
    FILTER = 1
    VECTOR = 2
    TEXT = 3


@dataclass
class _Decision:
    """Goes through a query once, and collects what it is re-ranked by and what speaks against it."""

    types: Mapping[str, FieldType]
    reasons: set[str]
    texts: dict[str, float] = field(default_factory=dict)  # each with the highest boost of its clauses
    fields: dict[str, float] = field(default_factory=dict)
    # Matches on keywords that a hit need not fit: one with the query's own text is a boost of a field.
    _exact: list[tuple[str, list[Field]]] = field(default_factory=list)
    # Texts with a half-typed last word, and whether hits need not fit them.
    _begun: list[tuple[str, float, bool]] = field(default_factory=list)

    def read(self, node: Node, boost: float = 1.0, is_optional: bool = False) -> _What:
        """What a node scores by.

        Args:
            boost: of the groups around it.
            is_optional: whether hits need not fit it, so that fitting it is a matter of order.
        """
        boost *= node.boost
        if isinstance(node, Leaf):
            return self._leaf(node, boost, is_optional)
        must, should = [*node.must], [*node.should]
        if len(should) == 1 and not node.is_optional:
            must, should = [*must, *should], []  # the only choice has to fit
        parts = [self.read(inner, boost, is_optional) for inner in must]
        choices = [(inner, self.read(inner, boost, is_optional=True)) for inner in should]
        exact = [inner for inner, what in choices if what is _What.FILTER]
        what = max([*parts, *(what for _, what in choices), _What.FILTER if node.has_filter else _What.NOTHING])
        if what is not _What.FILTER:
            for inner in exact:
                self._preferred(inner, boost)
        elif node.boost != 1.0 or (exact and node.is_optional) or any(_has_boost(inner) for inner in exact):
            self.reasons.add(CALLER_SCORING)
        return what

    def check_boosts(self) -> None:
        """A query may weigh fields. If it weighs texts, or exact values among them, its score is the caller's own.

        A clause for the beginning of a word beside one for the same text as whole words only finds more.
        """
        if any(not is_optional or text not in self.texts for text, _, is_optional in self._begun):
            self.reasons.add(AUTOCOMPLETE)
        for text, boost, _ in self._begun:
            if text:
                self.texts.setdefault(text, boost)
        for text, fields in self._exact:
            if text not in self.texts:
                self.reasons.add(CALLER_SCORING)
            for name, boost in fields:
                _raise_boost(self.fields, name, boost)
        if len(set(self.texts.values())) > 1:  # NaN is unlike itself
            self.reasons.add(CALLER_SCORING)
        if any(not boost > 0 for boost in self.texts.values()):
            self.reasons.add(CALLER_SCORING)

    def _preferred(self, node: Node, boost: float) -> None:
        """An exact value among texts, which raises the hits that have it."""
        if isinstance(node, Leaf) and node.kind in (Kind.TEXT, Kind.BEGUN):
            sources = [(self._type(one), one.boost * node.boost * boost) for one in node.fields]
            self._exact.append((node.text.strip(), [Field(kind.source, weight) for kind, weight in sources if kind]))
        else:
            self.reasons.add(CALLER_SCORING)

    def _leaf(self, leaf: Leaf, boost: float, is_optional: bool) -> _What:
        text = leaf.text.strip()
        if leaf.kind is Kind.MEANING:
            if text:
                _raise_boost(self.texts, text, 1.0)
            return _What.TEXT if leaf.text else _What.VECTOR
        if leaf.kind is Kind.FILTER or leaf.boost == 0:
            return self._filter(leaf, is_optional=False)
        known = [(one, self._type(one)) for one in leaf.fields]
        # Without a mapping an exact value is taken for one, and all else for text.
        texts = [(one, kind) for one, kind in known if (leaf.kind is not Kind.TERM if kind is None else kind.is_text)]
        if leaf.fields and not texts:
            return self._filter(leaf, is_optional)
        if leaf.kind is Kind.PREFIX:
            self.reasons.add(AUTOCOMPLETE)
            return _What.NOTHING
        if leaf.kind is Kind.BEGUN:
            self._begun.append((text, boost, is_optional))
        elif text:
            _raise_boost(self.texts, text, boost)
        for one, kind in texts or [(Field(ALL_FIELDS), None)]:
            _raise_boost(self.fields, kind.source if kind else one.name, one.boost * boost)
        return _What.TEXT

    def _filter(self, leaf: Leaf, is_optional: bool) -> _What:
        """A clause that gives the same score to each hit that fits it; a boost shows that the caller counts on it."""
        if leaf.boost not in (0.0, 1.0) and not is_optional:
            self.reasons.add(CALLER_SCORING)
        return _What.NOTHING if leaf.kind is Kind.FILTER and leaf.reason else _What.FILTER

    def _type(self, one: Field) -> FieldType | None:
        name = one.name
        if name.startswith("_"):
            return FieldType(is_text=False, source=name)
        if name not in self.types and name.endswith(_KEYWORD):
            return FieldType(is_text=False, source=name.removesuffix(_KEYWORD))
        return self.types.get(name)


def _raise_boost(boosts: dict[str, float], name: str, boost: float) -> None:
    """Keeps the highest boost of a text or a field."""
    boosts[name] = max(boost, boosts.get(name, boost))
