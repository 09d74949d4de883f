"""Reads candidates, documents and bags from the hits of searches in our indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from reranker.base.errors import BadInput
from reranker.stores.engine.queries import id_hash
from reranker.text.bags import BagOfWords, unpack
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.text.exact_text import exact_key

# The parts of a search's body that ask for candidates. For `_source`, and even for `_id`, the engine decompresses the
# whole stored document with its vector; for doc values it does not.
FROM_DOC_VALUES = {"stored_fields": "_none_", "docvalue_fields": ["doc_id", "lang", "bag", "title_key"]}
FROM_SOURCE = {"_source": ["lang", "bag", "title"]}


class _Row(NamedTuple):
    score: float
    doc_id: str
    language: str
    packed_bag: Any
    title_key: int | None


def candidates_from_doc_values(answer: Mapping[str, Any], scores_are_cosines: bool) -> list[Candidate] | None:
    """Reads the candidates of a search with `FROM_DOC_VALUES`, as `candidates_from_source` does. None if a document
    lacks its id (another program wrote it, or the caller may not see the field) or two have the same id."""
    rows = []
    for hit in answer["hits"]["hits"]:
        values = {name: found[0] for name, found in hit.get("fields", {}).items()}
        if "doc_id" not in values:
            return None
        doc_id, language, bag = values["doc_id"], values.get("lang", ""), values.get("bag", "")
        rows.append(_Row(hit["_score"], doc_id, language, bag, values.get("title_key")))
    are_distinct = len({row.doc_id for row in rows}) == len(rows)
    return _candidates(rows, scores_are_cosines) if are_distinct else None


def candidates_from_source(answer: Mapping[str, Any], scores_are_cosines: bool) -> list[Candidate]:
    """Reads the candidates of a search with `FROM_SOURCE`, sorted by score, ties by `id_hash`. Both engines score a
    cosine c as (1 + c) / 2."""
    rows = []
    for hit in answer["hits"]["hits"]:
        source = hit["_source"]
        title_key = exact_key(_only(source.get("title")))
        rows.append(_Row(hit["_score"], hit["_id"], read_language(source), source.get("bag"), title_key))
    return _candidates(rows, scores_are_cosines)


def read_document(hit: Mapping[str, Any]) -> Document:
    """Reads a document. What another program wrote otherwise than we do, such as null, counts as missing."""
    source = hit["_source"]
    metadata = source.get("metadata")
    return Document(
        doc_id=hit["_id"],
        text=_only(source.get("text")),
        language=read_language(source),
        title=_only(source.get("title")),
        url=_string(source.get("url")),
        metadata=metadata if isinstance(metadata, Mapping) else {},
    )


def read_encoded(hit: Mapping[str, Any]) -> EncodedDocument:
    return EncodedDocument(read_document(hit), read_bag(hit["_source"].get("bag")))


def read_language(source: Mapping[str, Any]) -> str:
    return _string(source.get("lang"))


def read_bag(packed: Any) -> BagOfWords:
    """Reads the bag; an empty one if another program wrote the document, so that the search does not fail."""
    try:
        return unpack(_string(packed))
    except BadInput:
        return BagOfWords(np.empty(0, np.int32), np.empty(0, np.int32))


def _candidates(rows: Sequence[_Row], scores_are_cosines: bool) -> list[Candidate]:
    ordered = sorted(rows, key=lambda row: (-row.score, id_hash(row.doc_id)))
    return [
        Candidate(
            doc_id=row.doc_id,
            language=row.language,
            bag=read_bag(row.packed_bag),
            first_stage_score=2 * row.score - 1 if scores_are_cosines else row.score,
            first_stage_rank=rank,
            title_key=row.title_key,
        )
        for rank, row in enumerate(ordered, start=1)
    ]


def _only(by_language: Any) -> str:
    return _string(next(iter(by_language.values()), "")) if isinstance(by_language, Mapping) else ""


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
