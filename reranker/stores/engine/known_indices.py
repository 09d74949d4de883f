"""Remembers for a while what an engine's indices are, so that a search need not ask for a mapping first."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import opensearchpy

from mappings import has_doc_values
from reranker.base.errors import NotOurIndex, SinkrankError, StoreUnavailable
from reranker.base.request_context import service_rights
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.names import check_index_name
from reranker.stores.engine.client import engine_errors

# What says whose an index is, and how its bags are stored.
_ASKED = "*.mappings._meta,*.mappings.properties.bag"

# How long an index is taken to be what it was.
_TRUST_SECONDS = 30.0

# More languages than ISO 639-1 has codes.
_MAX_LANGUAGES = 500


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """What an index was found to be at a moment.

    Attributes:
        name: its own, also where it was asked for by an alias.
        has_doc_values: whether bags can be read from doc values (`mappings.has_doc_values`).
        languages: how many documents it has of each, so that BM25 asks in these alone; None before a search needed it.
    """

    name: str
    description: IndexDescription
    asked_at: float
    has_doc_values: bool = False
    languages: Mapping[str, int] | None = None


class KnownIndices:
    """The indices that were asked for; safe to call from several threads.

    What is remembered serves every caller, so it is asked with the service's own rights, and holds no text.
    """

    def __init__(self, client: opensearchpy.OpenSearch, address: str) -> None:
        self._client = client
        self._address = address
        self._known: dict[str, KnownIndex] = {}
        self._lock = threading.Lock()

    def trusted(self, index: str) -> KnownIndex:
        """What the index was found to be not long ago. If the engine cannot say what it is now, it is what it was:
        while a cluster has no manager, searches are answered and indices do not change."""
        with self._lock:
            known = self._known.get(index)
            is_old = known is None or time.monotonic() - known.asked_at > _TRUST_SECONDS
            if known is not None and is_old:
                # One request asks; the others need not wait for it.
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
        """What the index is now.

        Raises:
            NotFound, NotOurIndex, StoreUnavailable.
        """
        check_index_name(index)
        with service_rights(), engine_errors(self._address, index):
            answer = self._client.indices.get_mapping(index=index, params={"filter_path": _ASKED})
        if len(answer) > 1:
            raise NotOurIndex(
                f"{index!r} stands for {len(answer)} indices ({', '.join(sorted(answer))}); name one of them"
            )
        # Of an index that is not ours, nothing may come through the filter.
        name = next(iter(answer), index)
        mapping = answer[name]["mappings"] if answer else {}
        description = IndexDescription.from_meta(mapping.get("_meta"), index)
        known = KnownIndex(name, description, time.monotonic(), has_doc_values(mapping))
        with self._lock:
            self._known[index] = known
        return known

    def languages(self, index: str, known: KnownIndex) -> Mapping[str, int]:
        """How many documents the index has of each language, counted once for as long as it is trusted."""
        if known.languages is not None:
            return known.languages
        with service_rights():
            languages = count_languages(self._client, known.name)
        if languages:  # an empty index is about to be filled
            with self._lock:
                self._known[index] = replace(known, languages=languages)
        return languages

    def forget(self, index: str) -> None:
        """Asks anew when the index is needed next."""
        with self._lock:
            self._known.pop(index, None)


def count_languages(client: opensearchpy.OpenSearch, index: str) -> dict[str, int]:
    """How many documents an index has of each language, by code."""
    count: dict[str, Any] = {"terms": {"field": "lang", "size": _MAX_LANGUAGES}}
    answer = client.search(index=index, body={"size": 0, "aggs": {"languages": count}})
    return {bucket["key"]: int(bucket["doc_count"]) for bucket in answer["aggregations"]["languages"]["buckets"]}
