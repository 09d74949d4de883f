"""Draws the hubness sample of documents from the index that has them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from reranker.base.batches import next_length
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_QUERIES, SAMPLE_TOKENS, HubnessSample
from reranker.stores.base.protocol import IndexReader
from reranker.text.bags import BagOfWords
from reranker.text.documents import Document
from reranker.text.tokens import tokenize

# With spare ids, for documents that have no known word among their first ones.
_MOST_IDS = SAMPLE_QUERIES + 400
# Documents that are read at a time.
_MOST_DOCUMENTS = 100


SmallestIds = dict[str, list[tuple[int, str]]]
"""The documents of a stream whose ids have the smallest hashes, by language: a heap with the largest hash first."""


def add_smallest(ids: SmallestIds, language: str, doc_id: str, hashed: int) -> None:
    """Adds a document.

    Args:
        hashed: `documents.id_hash` of its id.
    """
    heap = ids.setdefault(language, [])
    entry = (-hashed, doc_id)
    if len(heap) < _MOST_IDS:
        heapq.heappush(heap, entry)
    elif entry > heap[0]:
        heapq.heapreplace(heap, entry)


def draw_sample(index: IndexReader, ids: SmallestIds, embeddings: Embeddings) -> HubnessSample:
    """The sample of these documents, read from the index; missing documents are left out.

    Raises:
        StoreUnavailable: the store failed, or could not read a part of the index.
    """

    def queries() -> Iterator[tuple[str, str, BagOfWords]]:
        for language, heap in ids.items():
            n_queries = 0
            for document in _documents(index, [doc_id for _, doc_id in sorted(heap, reverse=True)]):
                tokens = tokenize(document.full_text, language, SAMPLE_TOKENS)
                words = embeddings.bag_of_tokens(tokens, language)
                yield language, document.doc_id, words
                n_queries += len(words) > 0
                if n_queries == SAMPLE_QUERIES:
                    break

    return HubnessSample.of(embeddings.version, queries())


def _documents(index: IndexReader, doc_ids: Sequence[str]) -> Iterator[Document]:
    start, length = 0, 1
    while asked := doc_ids[start : start + length]:
        found = index.documents(asked, is_strict=True)
        yield from (found[doc_id] for doc_id in asked if doc_id in found)
        start, length = start + length, next_length(found, _MOST_DOCUMENTS)
