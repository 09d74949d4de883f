"""Builds the bodies of searches, and documents as an index holds them; sends nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from mappings import OTHER_LANGUAGE, TEXT_FIELDS, analyzed_languages
from reranker.stores.base.addresses import Distribution
from reranker.stores.base.filters import Filters, Range
from reranker.text.bags import pack
from reranker.text.documents import EncodedDocument
from reranker.text.exact_text import exact_key
from reranker.translation.engine_query import CountedRarity, group_clauses
from reranker.translation.groups import WordGroup

# The engines' `index.max_result_window`, and the most that `k` and `num_candidates` may be.
MAX_DEPTH = 10_000

# Nodes of the HNSW graph that a search keeps in sight, at least: with fewer, neighbours are missed.
_LEAST_CANDIDATES = 200

# Lucene refuses a query of more than 1,024 clauses, and each term is one in each field.
_MAX_CLAUSES = 1_000

# Some words are several terms, such as those of scripts without spaces.
_MAX_TRANSLATED_CLAUSES = 800

# A hit in both title and text is worth more than in the better of the two alone, by this part of the other's score.
_TIE_BREAKER = 0.3

# What an analyzer makes one term of: a word, or a character of a script without spaces.
_TERM = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"|[^\W\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+"
)

# What a page of hits shows of a document.
_SHOWN_FIELDS = ["lang", "title", "text", "url", "metadata"]
# Equal scores are ordered by a hash of the ids, since the engine's own order depends on the shards. Documents of other
# programs may have no hash.
_ORDER = ["_score", {"id_hash": {"order": "asc", "missing": "_last", "unmapped_type": "long"}}]


def knn_body(distribution: Distribution, vector: NDArray[np.float32], depth: int, filters: Filters) -> dict[str, Any]:
    """A search for the nearest vectors; the filters hold during the walk through the graph, so that they leave `depth`
    hits where there are as many."""
    clauses = filter_clauses(filters)
    n_candidates = min(MAX_DEPTH, max(_LEAST_CANDIDATES, depth))
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
    """A search for the text in the fields of the languages, each analysed in its own way; of a text longer than Lucene
    takes, the beginning."""
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
    """A search for word groups, each language's in its fields and its documents alone; of more words than Lucene takes,
    those of the rarest groups. None where no language has groups and documents.

    Args:
        n_documents: of the index, by language.
    """
    wanted = {language: found for language, found in groups.items() if found and n_documents.get(language)}
    if not wanted:
        return None
    max_words = _MAX_TRANSLATED_CLAUSES // (len(TEXT_FIELDS) * len(wanted))
    by_language = []
    for language, found in wanted.items():
        fields = [f"{field}.{language_field(distribution, language)}" for field in TEXT_FIELDS]
        clauses = group_clauses(found, partial(_word, fields), CountedRarity(n_documents[language]), max_words)
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
    """One word in any of the fields."""
    match = {"query": word, "fields": list(fields), "type": "best_fields", "tie_breaker": _TIE_BREAKER}
    return {"multi_match": match | {"operator": "and", "boost": boost}}


def documents_body(doc_ids: Sequence[str]) -> dict[str, Any]:
    """A search for documents by id. Unlike `_mget` it finds those that were written with a routing value, too."""
    return {
        "size": len(doc_ids),
        "_source": _SHOWN_FIELDS,
        "track_total_hits": False,
        "query": {"bool": {"filter": {"ids": {"values": list(doc_ids)}}}},
    }


def language_field(distribution: Distribution, language: str) -> str:
    """The field below `title` and `text` that a language's texts are in."""
    return language if language in analyzed_languages(distribution) else OTHER_LANGUAGE


def filter_clauses(filters: Filters) -> list[dict[str, Any]]:
    """The filters in the engine's query language; a field that no document has matches nothing."""
    clauses: list[dict[str, Any]] = []
    if filters.languages:
        clauses.append({"terms": {"lang": list(filters.languages)}})
    for name, wanted in filters.metadata.items():
        field = f"metadata.{name}"
        if isinstance(wanted, Range):
            bounds = {bound: getattr(wanted, bound) for bound in ("gte", "gt", "lte", "lt")}
            clauses.append({"range": {field: {name: value for name, value in bounds.items() if value is not None}}})
        else:
            clauses.append({"terms": {field: list(wanted)}})
    return clauses


def make_source(distribution: Distribution, encoded: EncodedDocument) -> dict[str, Any]:
    """A document as the index holds it; its vector as (dim,) float32, whose decimals are half as long as a double's."""
    document = encoded.document
    field = language_field(distribution, document.language)
    source: dict[str, Any] = {
        "lang": document.language,
        # No search can read `_id` without the stored document.
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
    """64 bits that put documents of equal scores in an order; the same in every version of Sinkrank.

    >>> id_hash("a")
    4681665781835383343
    """
    return int.from_bytes(blake2b(doc_id.encode(), digest_size=8).digest(), "big", signed=True)


def _beginning(text: str, n_terms: int) -> str:
    text = text.encode(errors="replace").decode()  # half a surrogate pair is no JSON
    for place, match in enumerate(_TERM.finditer(text), start=1):
        if place > n_terms:
            return text[: match.start()]
    return text
