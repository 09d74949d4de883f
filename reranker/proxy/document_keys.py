"""What the bag of a document is cached by: what a hit without its text says of its document."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from reranker.proxy.search import Search

DocumentKey = tuple[bytes, str, int, int]
"""A document at one time: how it is read, as a digest, since names have any length; the index; the sequence number,
which changes with each writing; the primary term."""


def document_keys(
    search: Search, hits: Sequence[Mapping[str, Any]], caller: bytes, likely: str
) -> list[DocumentKey | None]:
    """What the documents of hits are known by, in an index of one shard.

    Args:
        caller: `caller_key` of the request. It counts since not everybody may read each field.
        likely: as `TextBags.read`.
    """
    # The indices as the search names them, since an alias may choose a shard; the fields that are read, each as often
    # as it counts, and whether every string is read where these hold no known word.
    reading = repr((caller, search.indices, search.weighted_fields, not search.text_fields, likely))
    digest = hashlib.blake2b(reading.encode("utf-8", "surrogatepass")).digest()
    # An engine gives -2 where it knows no sequence number.
    return [
        (digest, hit["_index"], number, hit["_primary_term"])
        if isinstance(number := hit.get("_seq_no"), int) and number >= 0
        else None
        for hit in hits
    ]
