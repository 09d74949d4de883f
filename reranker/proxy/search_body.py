"""The body of a search as it came, and as it is sent on: for the window, or without our section."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reranker.proxy.answer_filters import SourceFilter
from reranker.proxy.raw_json import RawObject, read_document, read_object, write_object
from reranker.proxy.rules import Skip
from reranker.proxy.window import PagePlan
from reranker.service.json_text import json_bytes


@dataclass(frozen=True, slots=True)
class SearchBody:
    """A search's body: its text, and what it says."""

    text: str
    raw: RawObject

    @property
    def values(self) -> dict[str, Any]:
        return self.raw.parsed


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """What the engine is asked for: the caller's body with the window in place of the page.

    Attributes:
        query: in place of the caller's; None for his own.
    """

    body: SearchBody
    page: PagePlan
    source_filter: SourceFilter
    other_ext: Mapping[str, Any] | None
    query: Any = None

    @property
    def written(self) -> bytes:
        # By its sequence number a document whose text is not in the answer is known again.
        changed: dict[str, Any] = {
            "from": self.page.fetched_from,
            "size": self.page.n_fetch,
            "seq_no_primary_term": True,
        }
        if self.source_filter.widened is not None:
            changed["_source"] = self.source_filter.widened
        if self.other_ext is not None:
            changed["ext"] = self.other_ext
        if self.query is not None:
            changed["query"] = self.query
        added = {name: _written(value) for name, value in changed.items()}
        return json_bytes(write_object(self.body.text, self.body.raw, drop=(*added, "ext"), add=added))


def read_body(data: bytes) -> SearchBody:
    """The body of a search; an empty one says nothing.

    Raises:
        Skip: it is no JSON object.
    """
    try:
        text = data.decode() if data.strip() else "{}"
        return SearchBody(text, read_document(text, read_object))
    except (ValueError, RecursionError):
        raise Skip("body_not_json") from None  # the engine says what is wrong with it, or reads YAML


def without_ours(body: SearchBody, other_ext: Mapping[str, Any] | None) -> bytes:
    """The body to pass on where the search is not re-ranked."""
    if other_ext is None:
        return json_bytes(write_object(body.text, body.raw, drop=("ext",)))
    return json_bytes(write_object(body.text, body.raw, replace={"ext": _written(other_ext)}))


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
