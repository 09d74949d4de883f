"""Checks the input of stores. All stores have the same rules, so that an index can move from one to another."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        metadata = json.dumps(dict(document.metadata), ensure_ascii=False, allow_nan=False) if document.metadata else ""
        "".join((document.language, document.title, document.text, document.url, metadata)).encode()
        n_id_bytes = len(document.doc_id.encode())
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair; decode the source as UTF-8 again"
    except (TypeError, ValueError, RecursionError) as error:
        return f"the metadata is not JSON ({error}); use strings, finite numbers, booleans, lists and objects"
    if n_id_bytes > MAX_ID_BYTES:
        return f"the id has {n_id_bytes} bytes; {MAX_ID_BYTES} is the most that an engine takes"
    if "\0" in document.doc_id:
        return "the id holds the character NUL, at which SQLite ends a text; leave it out"
    return None


def check_query_vector(vector: NDArray[Any], dim: int) -> NDArray[np.float32]:
    """Returns the vector as (dim,) float32.

    Raises:
        BadInput: it has another shape, is zero, or is not finite.
    """
    if vector.shape != (dim,):
        raise BadInput(f"the query's embedding has shape {vector.shape}, not {(dim,)}; encode with those of the index")
    if not np.isfinite(vector).all() or not vector.any():
        raise BadInput("the query's embedding is zero or not finite; search by its words instead")
    return np.ascontiguousarray(vector, dtype=np.float32)


def check_depth(depth: int, largest: int | None = None) -> int:
    """Returns the depth.

    Raises:
        BadInput: it is below 1 or above the largest.
    """
    if depth < 1 or (largest is not None and depth > largest):
        most = "" if largest is None else f" and at most {largest}"
        raise BadInput(f"depth is {depth}; give at least 1{most}")
    return depth


def check_dim(dim: int) -> int:
    """Returns the dimension.

    Raises:
        BadInput: no index can have it.
    """
    if not 1 <= dim <= MAX_DIM:
        raise BadInput(f"the embeddings have {dim} dimensions; an index takes 1 to {MAX_DIM}")
    return dim
