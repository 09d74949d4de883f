"""Finds what a person typed in the body of an engine's search: the text that the hits are to be re-ranked by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import regex

# Queries are nested a few levels deep; OpenSearch itself stops at 20 by default.
_MAX_DEPTH = 24

# {"match": {"title": "text"}} or {"match": {"title": {"query": "text"}}}, and where the text lies in the latter.
_BY_FIELD: Mapping[str, str] = {
    "match": "query",
    "match_phrase": "query",
    "match_phrase_prefix": "query",
    "match_bool_prefix": "query",
    "neural": "query_text",
    "neural_sparse": "query_text",
    "text_expansion": "model_text",
}
# {"multi_match": {"query": "text", …}}
_BY_QUERY = ("multi_match", "combined_fields", "semantic", "sparse_vector")
_IN_QUERY_SYNTAX = ("query_string", "simple_query_string")
# Where a compound query keeps those that score. What only filters or forbids says nothing about relevance.
_COMPOUNDS: Mapping[str, tuple[str, ...]] = {
    "bool": ("must", "should"),
    "hybrid": ("queries",),
    "dis_max": ("queries",),
    "boosting": ("positive",),
    "constant_score": ("filter",),
    "function_score": ("query",),
    "script_score": ("query",),
    "nested": ("query",),
    "pinned": ("organic",),
    "rule": ("organic",),
    "standard": ("query",),
    "rrf": ("retrievers",),
    "linear": ("retrievers",),
    "text_similarity_reranker": ("retriever",),
}

_PHRASE = r'(?:"(?:[^"\\]|\\.)*"|\([^()]*\)|[^\s()"]+)'
# Whatever is forbidden: `-word`, `!word`, `NOT word`, with a field before the word or not.
_FORBIDDEN = regex.compile(rf"(?:(?<=^|[\s(])[-!]|\bNOT\s+)(?:[\w.*\\]+:)?{_PHRASE}")
# No two places can begin to match over the same letters: whoever sends a query would else choose how long it takes.
_NOT_WORDS = regex.compile(
    r"""
      (?<![\w.*\\])[\w.*\\]++:(?=\S)   # a field: `title:`
    | \b(?:AND|OR|NOT)\b                # operators are upper case
    | [\[{][^\[\]{}]*+[\]}]             # a range
    | (?<=^|[\s(:])/[^/]++/             # a regular expression
    | [\^~]\d*+(?:\.\d++)?             # boost, fuzziness, slop
    """,
    regex.VERBOSE,
)
_WILDCARDS = frozenset("*?")
# As many as our own search takes; the tokenizer reads 500 words of them.
_MAX_SYNTAX_CHARS = 100_000


def find_query_text(body: Mapping[str, Any]) -> str | None:
    """The texts of all clauses that score, each once, in the order of the body; None if there is none.

    >>> find_query_text({"query": {"bool": {"must": {"match": {"text": "wool"}}, "filter": {"term": {"lang": "en"}}}}})
    'wool'
    """
    # Elasticsearch's retrievers hold queries or other retrievers, and read like compound queries.
    texts = [*_texts(body.get("query"), 0), *_texts(body.get("retriever"), 0), *_knn_texts(body.get("knn"))]
    distinct = dict.fromkeys(text.strip() for text in texts)
    return " ".join(text for text in distinct if text) or None


def plain_words(query: str) -> str:
    """A text in Lucene's query syntax (`q=`, `query_string`) without operators, fields and forbidden words.

    >>> plain_words('title:"black cat"~2 AND animal^3 -dog NOT text:fish')
    '"black cat" animal'
    """
    # A field of its own first, or its value would be taken for a forbidden word's.
    words = _NOT_WORDS.sub(" ", _FORBIDDEN.sub(" ", query[:_MAX_SYNTAX_CHARS]))
    # A word with a wildcard is not a word.
    return " ".join(word for word in words.split() if _WILDCARDS.isdisjoint(word))


def _texts(clause: Any, depth: int) -> Iterator[str]:
    if isinstance(clause, list):
        for one in clause:
            yield from _texts(one, depth + 1)
        return
    if not isinstance(clause, Mapping) or depth > _MAX_DEPTH:
        return
    for kind, content in clause.items():
        if not isinstance(content, Mapping):
            continue
        if kind in _BY_FIELD:
            yield from _by_field(content, _BY_FIELD[kind])
        elif kind in _BY_QUERY:
            yield from _strings(content.get("query"))
        elif kind in _IN_QUERY_SYNTAX:
            yield from (plain_words(text) for text in _strings(content.get("query")))
        elif kind == "knn":
            yield from _knn_texts(content)
        elif kind == "retriever":
            yield from _texts(content, depth + 1)
        for part in _COMPOUNDS.get(kind, ()):
            yield from _texts(content.get(part), depth + 1)


def _by_field(content: Mapping[str, Any], key: str) -> Iterator[str]:
    for value in content.values():
        yield from _strings(value.get(key) if isinstance(value, Mapping) else value)


def _knn_texts(content: Any) -> Iterator[str]:
    """Elasticsearch's `knn` with a `query_vector_builder`; OpenSearch's holds a vector and no text."""
    for one in content if isinstance(content, list) else [content]:
        builder = one.get("query_vector_builder") if isinstance(one, Mapping) else None
        embedding = builder.get("text_embedding") if isinstance(builder, Mapping) else None
        if isinstance(embedding, Mapping):
            yield from _strings(embedding.get("model_text"))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
