"""Draws the hubness sample of an index again from its documents."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_QUERIES, SAMPLE_TOKENS, HubnessSample, HubnessSampleBuilder
from reranker.stores.base.protocol import IndexReader
from reranker.text.tokens import tokenize

# With spare ids, for documents that have no known word among their first ones.
MOST_IDS = SAMPLE_QUERIES + 400


def add_smallest(heap: list[tuple[int, str]], hashed: int, doc_id: str, most: int) -> None:
    """Adds a document to those with the smallest hashes, a heap with the largest of them first."""
    entry = (-hashed, doc_id)
    if len(heap) < most:
        heapq.heappush(heap, entry)
    elif entry > heap[0]:
        heapq.heapreplace(heap, entry)


def draw_sample(index: IndexReader, ids: Mapping[str, list[tuple[int, str]]], embeddings: Embeddings) -> HubnessSample:
    """The sample of the documents with these ids, read from the index; missing documents are left out.

    Args:
        ids: the documents with the smallest hashes, by language (`add_smallest`).

    Raises:
        StoreUnavailable: the store failed, or could not read a part of the index.
    """
    builder = HubnessSampleBuilder(embeddings.version)
    for language, heap in ids.items():
        n_queries = 0
        doc_ids = [doc_id for _, doc_id in sorted(heap, reverse=True)]
        found = index.documents(doc_ids, is_strict=True)
        for document in (found[doc_id] for doc_id in doc_ids if doc_id in found):
            tokens = tokenize(document.full_text, language, SAMPLE_TOKENS)
            words = embeddings.bag_of_tokens(tokens, language)
            builder.add(language, document.doc_id, words)
            n_queries += len(words) > 0
            if n_queries == SAMPLE_QUERIES:
                break
    return builder.result()
