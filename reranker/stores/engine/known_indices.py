"""Caches descriptions of an engine's indices, so that a search need not request a mapping first."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import opensearchpy

from mappings import has_doc_values
from reranker.base.errors import NotOurIndex, SinkrankError, StoreUnavailable
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.names import check_index_name
from reranker.stores.engine.client import engine_errors

# Whose index it is, and how its bags are stored.
_ASKED = "*.mappings._meta,*.mappings.properties.bag"

# How long a cached index is used.
_TRUST_SECONDS = 30.0

# More languages than ISO 639-1 has codes.
_MAX_LANGUAGES = 500


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """A cached index.

    Attributes:
        name: its own name, also if it was requested by an alias.
        has_doc_values: whether its bags have doc values (`mappings.has_doc_values`).
        languages: number of documents by language, so that BM25 searches only these; None until a search needs it.
    """

    name: str
    description: IndexDescription
    asked_at: float
    has_doc_values: bool = False
    languages: Mapping[str, int] | None = None


class KnownIndices:
    """The cached indices; safe to call from several threads.

    The cache serves all callers, so it is filled with the service's own rights and contains no text.
    """

    def __init__(self, client: opensearchpy.OpenSearch, address: str) -> None:
        self._client = client
        self._address = address
        self._known: dict[str, KnownIndex] = {}
        self._lock = threading.Lock()

    def trusted(self, index: str) -> KnownIndex:
        """The index from the cache, or from the engine if it is too old. If the engine does not answer, the old entry
        stays valid: a cluster without a manager answers searches and does not change indices."""
        with self._lock:
            known = self._known.get(index)
            is_old = known is None or time.monotonic() - known.asked_at > _TRUST_SECONDS
            if known is not None and is_old:
                # One request asks the engine; the others use the old entry meanwhile.
                self._known[index] = replace(known, asked_at=time.monotonic())
        if not is_old and known is not None:
            return known
        try:
            return self.ask(index)
        except StoreUnavailable:
            if known is None:
                raise
            return known
        except SinkrankError:
            self.forget(index)
            raise

    def ask(self, index: str) -> KnownIndex:
        """The index from the engine.

        Raises:
            NotFound, NotOurIndex, StoreUnavailable.
        """
        check_index_name(index)
        with engine_errors(self._address, index):
            answer = self._client.indices.get_mapping(index=index, params={"filter_path": _ASKED})
        if len(answer) > 1:
            raise NotOurIndex(
                f"{index!r} stands for {len(answer)} indices ({', '.join(sorted(answer))}); name one of them"
            )
        # For an index of another program the filter may leave nothing.
        name = next(iter(answer), index)
        mapping = answer[name]["mappings"] if answer else {}
        description = IndexDescription.from_meta(mapping.get("_meta"), index)
        known = KnownIndex(name, description, time.monotonic(), has_doc_values(mapping))
        with self._lock:
            self._known[index] = known
        return known

    def languages(self, index: str, known: KnownIndex) -> Mapping[str, int]:
        """Number of documents by language, counted once while the index is cached."""
        if known.languages is not None:
            return known.languages
        languages = count_languages(self._client, known.name)
        if languages:  # an empty index will be filled soon
            with self._lock:
                self._known[index] = replace(known, languages=languages)
        return languages

    def forget(self, index: str) -> None:
        """Removes an index from the cache."""
        with self._lock:
            self._known.pop(index, None)


def count_languages(client: opensearchpy.OpenSearch, index: str) -> dict[str, int]:
    """Number of documents of an index by language."""
    count: dict[str, Any] = {"terms": {"field": "lang", "size": _MAX_LANGUAGES}}
    answer = client.search(index=index, body={"size": 0, "aggs": {"languages": count}})
    return {bucket["key"]: int(bucket["doc_count"]) for bucket in answer["aggregations"]["languages"]["buckets"]}
