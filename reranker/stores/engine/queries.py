"""Builds the bodies of searches and the sources of documents; sends nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from mappings import OTHER_LANGUAGE, TEXT_FIELDS, analyzed_languages
from reranker.stores.base.filters import Filters
from reranker.text.bags import pack
from reranker.text.documents import EncodedDocument
from reranker.text.exact_text import exact_key
from reranker.translation.engine_query import group_clauses
from reranker.translation.groups import WordGroup
from reranker.upstream.addresses import Distribution

# The engines' `index.max_result_window`, and the most that `k` and `num_candidates` may be.
_MAX_DEPTH = 10_000

# The least number of candidates in a search of the HNSW graph; fewer miss neighbours.
_LEAST_CANDIDATES = 200

# Lucene refuses a query of more than 1,024 clauses; each term is a clause for each field.
_MAX_CLAUSES = 1_000

# Lower, as some words are several terms: those of scripts without spaces, for example.
_MAX_TRANSLATED_CLAUSES = 800

# A hit in both title and text scores the better of the two plus this part of the other.
_TIE_BREAKER = 0.3

# What becomes one term in an analyzer: a word, or a character of a script without spaces.
_TERM = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"|[^\W\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+"
)

# The fields of a `Document`.
DOCUMENT_FIELDS = ["lang", "title", "text", "url", "metadata"]
# Equal scores are ordered by a hash of the ids, since the engine's own order depends on the shards. Documents of other
# programs may have no hash.
_ORDER = ["_score", {"id_hash": {"order": "asc", "missing": "_last", "unmapped_type": "long"}}]


def knn_body(distribution: Distribution, vector: NDArray[np.float32], depth: int, filters: Filters) -> dict[str, Any]:
    """Builds a search for the nearest vectors. The filters apply during the search of the graph, so that it finds
    `depth` hits if there are as many."""
    clauses = filter_clauses(filters)
    n_candidates = min(_MAX_DEPTH, max(_LEAST_CANDIDATES, depth))
    knn: dict[str, Any] = {"k": depth}
    if clauses:
        knn["filter"] = {"bool": {"filter": clauses}}
    body: dict[str, Any] = {"size": depth, "track_total_hits": False}
    if distribution == "elasticsearch":
        return body | {"knn": knn | {"field": "nbow", "query_vector": vector.tolist(), "num_candidates": n_candidates}}
    knn |= {"vector": vector.tolist(), "method_parameters": {"ef_search": n_candidates}}
    return body | {"query": {"knn": {"nbow": knn}}}


def bm25_body(
    distribution: Distribution, text: str, languages: Iterable[str], depth: int, filters: Filters
) -> dict[str, Any]:
    """Builds a search for the text in the fields of the languages, each with its own analysis. Of a text longer than
    Lucene takes, it uses the beginning."""
    names = dict.fromkeys(language_field(distribution, language) for language in languages)
    fields = [f"{field}.{name}" for name in names for field in TEXT_FIELDS]
    query = {
        "multi_match": {
            "query": _beginning(text, _MAX_CLAUSES // max(1, len(fields))),
            "fields": fields,
            "type": "best_fields",
            "tie_breaker": _TIE_BREAKER,
        }
    }
    return _ordered_search({"bool": {"must": [query], "filter": filter_clauses(filters)}}, depth)


def translated_body(
    distribution: Distribution,
    groups: Mapping[str, Sequence[WordGroup]],
    n_documents: Mapping[str, int],
    depth: int,
    filters: Filters,
) -> dict[str, Any] | None:
    """Builds a search for word groups, those of each language only in its fields and documents. If there are more words
    than Lucene takes, it uses the rarest groups. None if no language has both groups and documents.

    Args:
        n_documents: of the index, by language.
    """
    searched = {language: found for language, found in groups.items() if found and n_documents.get(language)}
    if not searched:
        return None
    max_words = _MAX_TRANSLATED_CLAUSES // (len(TEXT_FIELDS) * len(searched))
    by_language = []
    for language, found in searched.items():
        name = language_field(distribution, language)
        fields = [f"{field}.{name}" for field in TEXT_FIELDS]
        is_folded = name != OTHER_LANGUAGE
        clauses = group_clauses(found, partial(_word, fields), n_documents[language], max_words, is_folded)
        by_language.append(
            {"bool": {"filter": [{"term": {"lang": language}}], "must": [{"bool": {"should": clauses}}]}}
        )
    query = {"bool": {"should": by_language, "minimum_should_match": 1, "filter": filter_clauses(filters)}}
    return _ordered_search(query, depth)


def _ordered_search(query: Mapping[str, Any], depth: int) -> dict[str, Any]:
    return {
        "size": depth,
        "track_total_hits": False,
        "track_scores": True,
        "sort": _ORDER,
        "query": query,
    }


def _word(fields: Sequence[str], word: str, boost: float) -> dict[str, Any]:
    """Matches a word in any of the fields."""
    match = {"query": word, "fields": list(fields), "type": "best_fields", "tie_breaker": _TIE_BREAKER}
    return {"multi_match": match | {"operator": "and", "boost": boost}}


def documents_body(doc_ids: Sequence[str]) -> dict[str, Any]:
    """Builds a search for documents by id. Unlike `_mget` it also finds those with a routing value."""
    return {
        "size": len(doc_ids),
        "_source": DOCUMENT_FIELDS,
        "track_total_hits": False,
        "query": {"bool": {"filter": {"ids": {"values": list(doc_ids)}}}},
    }


def language_field(distribution: Distribution, language: str) -> str:
    """The sub-field of `title` and `text` for a language's texts."""
    return language if language in analyzed_languages(distribution) else OTHER_LANGUAGE


def filter_clauses(filters: Filters) -> list[dict[str, Any]]:
    """Writes the filters in the engine's query language. A field that no document has matches nothing."""
    clauses: list[dict[str, Any]] = []
    if filters.languages:
        clauses.append({"terms": {"lang": list(filters.languages)}})
    for name, condition in filters.metadata.items():
        field = f"metadata.{name}"
        if isinstance(condition, tuple):
            clauses.append({"terms": {field: list(condition)}})
        else:
            clauses.append({"range": {field: dict(condition)}})
    return clauses


def make_source(distribution: Distribution, encoded: EncodedDocument) -> dict[str, Any]:
    """Makes the source of a document. Its vector is (dim,) float32, whose decimals are half as long as a double's."""
    document = encoded.document
    field = language_field(distribution, document.language)
    source: dict[str, Any] = {
        "lang": document.language,
        # A search cannot read `_id` without the stored document.
        "doc_id": document.doc_id,
        "id_hash": id_hash(document.doc_id),
        "text": {field: document.text},
        "bag": pack(encoded.bag),
        "metadata": dict(document.metadata),
    }
    if document.title:
        source["title"] = {field: document.title}
    keys = {"title_key": exact_key(document.title), "text_key": exact_key(document.text)}
    source |= {name: key for name, key in keys.items() if key is not None}
    if document.url:
        source["url"] = document.url
    if encoded.nbow is not None:
        source["nbow"] = np.ascontiguousarray(encoded.nbow, np.float32)
    if encoded.weights_version:
        source["weights"] = encoded.weights_version
    return source


def id_hash(doc_id: str) -> int:
    """A hash of 64 bits that orders documents of equal scores, the same in every version of Sinkrank.

    >>> id_hash("a")
    4681665781835383343
    """
    return int.from_bytes(blake2b(doc_id.encode(), digest_size=8).digest(), "big", signed=True)


def _beginning(text: str, n_terms: int) -> str:
    text = text.encode(errors="replace").decode()  # JSON cannot contain half a surrogate pair
    for place, match in enumerate(_TERM.finditer(text), start=1):
        if place > n_terms:
            return text[: match.start()]
    return text
