"""Turns documents, deletions and new vectors into the lines of a bulk request.

It imports no client of the engine, without which processes that only encode start faster.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson

from reranker.stores.base.writing import NewVector, PreparedDocument, Preparer
from reranker.stores.engine.queries import make_source
from reranker.text.documents import EncodedDocument
from reranker.upstream.addresses import Distribution

_JSON_OPTIONS = orjson.OPT_SERIALIZE_NUMPY


def preparer(distribution: Distribution) -> Preparer:
    """Returns a function that turns a document into the lines of a bulk request."""
    return partial(_prepare, distribution)


def delete_action(doc_id: str) -> PreparedDocument:
    """Makes the deletion of a document."""
    lines = _line({"delete": {"_id": doc_id}})
    return PreparedDocument(doc_id, lines, len(lines))


def if_same(seq_no: int, primary_term: int) -> dict[str, int]:
    """What makes an action, or a request, fail with a conflict if its document is no longer what it was."""
    return {"if_seq_no": seq_no, "if_primary_term": primary_term}


def vector_action(vector: NewVector) -> PreparedDocument:
    """Makes the replacement of a document's vector, if the document is still what it was."""
    changed = {"nbow": vector.nbow, "weights": vector.weights_version}
    lines = _line({"update": {"_id": vector.doc_id, **if_same(*vector.revision)}}) + _line({"doc": changed})
    return PreparedDocument(vector.doc_id, lines, len(lines))


def _prepare(distribution: Distribution, encoded: EncodedDocument) -> PreparedDocument:
    doc_id = encoded.document.doc_id
    lines = _line({"index": {"_id": doc_id}}) + _line(make_source(distribution, encoded))
    return PreparedDocument(doc_id, lines, len(lines))


def _line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value, option=_JSON_OPTIONS) + b"\n"
