"""Checks that a new version of an index is complete before searches use it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reranker.base.errors import NotFound
from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import Store
from reranker.text.documents import EncodedDocument

SAMPLE_SIZE = 50

# An approximate search misses a neighbour now and then, and near copies can displace each other. A depth of 100, which
# searches use too, finds a document among many copies; a depth of 10 does not.
_LEAST_SHARE = 0.9
_KNN_DEPTH = 100
_SAME_COSINE = 0.9999
_LEAST_ALONE = 0.1
_BM25_DEPTH = 100
# In a text with fewer known words an analyzer may drop all of them.
_LEAST_WORDS = 3
_QUERY_LETTERS = 500


def disagreement(store: Store, version: str, n_documents: int, sample: Sequence[str]) -> str | None:
    """Why a version is incomplete, or None if it is complete. It must have as many documents as were confirmed. Each
    document of the sample must exist and be found by its own vector and its own words.

    Args:
        sample: ids of confirmed documents.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    found = store.count(version)
    if found != n_documents:
        return f"it holds {found:,} documents, {n_documents:,} were confirmed"
    documents = []
    for doc_id in sample:
        try:
            documents.append(store.fetch(version, doc_id))
        except NotFound:
            return f"document {doc_id!r} was confirmed but is missing"
    by_vector = [_is_found_by_vector(store, version, one) for one in _with_vectors_of_their_own(documents)]
    by_words = [_is_found_by_words(store, version, one) for one in documents if len(one.bag) >= _LEAST_WORDS]
    for name, outcomes in (("its own vector", by_vector), ("its own words", by_words)):
        # One of a few documents may be missed; a single one must be found.
        if outcomes and sum(outcomes) < max(1, int(_LEAST_SHARE * len(outcomes))):
            return f"only {sum(outcomes)} of {len(outcomes)} sampled documents are found by a search for {name}"
    return None


def _with_vectors_of_their_own(documents: Sequence[EncodedDocument]) -> list[EncodedDocument]:
    """The documents whose vector no other document of the sample has. With many equal vectors an engine's search graph
    is disconnected, and its hits are random. Empty if nearly the whole sample are copies, since the others then
    probably have copies outside the sample."""
    with_vectors = [one for one in documents if one.nbow is not None]
    if not with_vectors:
        return []
    vectors = np.array([one.nbow for one in with_vectors])
    n_same = (vectors @ vectors.T >= _SAME_COSINE).sum(axis=1)
    alone = [one for one, n in zip(with_vectors, n_same.tolist(), strict=True) if n == 1]
    return alone if len(alone) >= _LEAST_ALONE * len(with_vectors) else []


def _is_found_by_vector(store: Store, version: str, wanted: EncodedDocument) -> bool:
    if wanted.nbow is None:
        return False
    hits = store.knn(version, wanted.nbow, _KNN_DEPTH, Filters())
    return any(hit.doc_id == wanted.document.doc_id or hit.first_stage_score >= _SAME_COSINE for hit in hits)


def _is_found_by_words(store: Store, version: str, wanted: EncodedDocument) -> bool:
    document = wanted.document
    only_its_language = Filters(languages=(document.language,))
    hits = store.bm25(version, document.full_text[:_QUERY_LETTERS], _BM25_DEPTH, only_its_language)
    return any(hit.doc_id == document.doc_id for hit in hits)
