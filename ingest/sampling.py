"""Draws the hubness sample of an index again from its documents."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from reranker.base.errors import NotFound
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_QUERIES, SAMPLE_TOKENS, HubnessSample, HubnessSampleBuilder
from reranker.stores.base.protocol import Store
from reranker.stores.base.writing import StoredBag
from reranker.text.documents import Document, id_hash
from reranker.text.tokens import tokenize

# Spare ids, for documents that have no known word among their first ones.
_SPARE = 400


class SampleIds:
    """Collects the ids of the documents with the smallest hashes, by language."""

    def __init__(self) -> None:
        self._heaps: dict[str, list[tuple[int, str]]] = {}

    def add(self, one: StoredBag) -> None:
        """Adds a document; one without a known word is ignored."""
        if not len(one.bag):
            return
        heap = self._heaps.setdefault(one.language, [])
        entry = (-id_hash(one.doc_id), one.doc_id)
        if len(heap) < SAMPLE_QUERIES + _SPARE:
            heapq.heappush(heap, entry)
        elif entry > heap[0]:
            heapq.heapreplace(heap, entry)

    def by_language(self) -> dict[str, list[str]]:
        """The smallest hash first."""
        return {
            language: [doc_id for _, doc_id in sorted(heap, reverse=True)] for language, heap in self._heaps.items()
        }


def draw_sample(store: Store, index: str, ids: SampleIds, embeddings: Embeddings) -> HubnessSample:
    """The sample of the documents with these ids, read from the index; missing documents are left out.

    Raises:
        StoreUnavailable: the store failed.
    """
    builder = HubnessSampleBuilder(embeddings.version)
    for language, doc_ids in ids.by_language().items():
        n_queries = 0
        for document in _fetched(store, index, doc_ids):
            tokens = tokenize(document.full_text, language, SAMPLE_TOKENS)
            words = embeddings.bag_of_tokens(tokens, language)
            builder.add(language, document.doc_id, words)
            n_queries += len(words) > 0
            if n_queries == SAMPLE_QUERIES:
                break
    return builder.result()


def _fetched(store: Store, index: str, doc_ids: list[str]) -> Iterator[Document]:
    for doc_id in doc_ids:
        try:
            yield store.fetch(index, doc_id).document
        except NotFound:
            continue
