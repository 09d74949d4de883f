"""Checks the input of stores. All stores have the same rules, so that an index can move from one to another."""

from __future__ import annotations

import orjson

from reranker.base.errors import BadInput
from reranker.text.documents import Document

# OpenSearch and Elasticsearch refuse a longer `_id`.
MAX_ID_BYTES = 512

# Longer metadata strings are kept, but filters do not find them (`ignore_above` in mappings/*.json).
MAX_FILTERABLE_LENGTH = 1024

# The widest vector that both engines take.
MAX_DIM = 4096


def document_problem(document: Document) -> str | None:
    """Says why no index can take a document; None if it can."""
    try:
        "".join((document.title, document.text, document.url)).encode()
        n_id_bytes = len(document.doc_id.encode())
    except UnicodeEncodeError:
        return "it contains half a surrogate pair (\\ud800 to \\udfff), not a character; correct or remove it"
    try:
        orjson.dumps({"metadata": dict(document.metadata)})
    except TypeError as error:  # an integer of more than 64 bits, more than 254 levels, half a surrogate pair
        return f"the metadata cannot be written as JSON ({error}); change it"
    if n_id_bytes > MAX_ID_BYTES:
        return f"the id has {n_id_bytes} bytes; {MAX_ID_BYTES} is the most that an engine takes"
    if "\0" in document.doc_id:
        return "the id holds the character NUL, at which SQLite ends a text; leave it out"
    return None


def check_dim(dim: int) -> int:
    """Returns the dimension.

    Raises:
        BadInput: no index can have it.
    """
    if not 1 <= dim <= MAX_DIM:
        raise BadInput(f"the embeddings have {dim} dimensions; an index takes 1 to {MAX_DIM}")
    return dim
