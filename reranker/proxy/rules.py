"""The rules that say which searches are re-ranked: for each of the others, the word that `X-Rerank-Reason` gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FALLING_SCORES: tuple[Any, ...] = (
    "_score",
    "_score:desc",
    {"_score": "desc"},
    {"_score": {"order": "desc"}},
    {"_score": {}},
)
# Each name of an answer is compared with each path: with more of them a request could choose how long that takes.
_MAX_FILTER_PATHS = 100
# The reason where there are no embeddings yet.
NO_EMBEDDINGS = "no_embeddings"
_NO = ("false", "0", "no", "off")
_YES = ("true", "1", "yes", "on")
# The text forms of JSON: `application/json`, `application/vnd.elasticsearch+json; compatible-with=8`.
_JSON_ENDINGS = ("/json", "+json")


class Skip(Exception):
    """The search is not to be re-ranked.

    Attributes:
        status: for the header.
        reason: one of a fixed set of words, for the header.
        body: what to pass on in place of the body that came, where that holds our section; else None.
    """

    status = "skipped"

    def __init__(self, reason: str, body: bytes | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.body = body


class WithoutEmbeddings(Skip):
    """The search is to be re-ranked, and there are no embeddings yet."""

    status = "fallback"

    def __init__(self, body: bytes | None = None) -> None:
        super().__init__(NO_EMBEDDINGS, body)


def is_switched_off(parameters: Mapping[str, str]) -> bool:
    return parameters.get("rerank", "").strip().lower() in _NO


def is_asked_for(parameters: Mapping[str, str]) -> bool:
    """Whether the URL asks for re-ranking whatever the query scores by."""
    return parameters.get("rerank", "").strip().lower() in _YES


def skip_reason(body: Mapping[str, Any], parameters: Mapping[str, str]) -> str | None:
    """Why the engine's own order or form has to stay; None where re-ranking keeps what the caller asked for."""
    stored = parameters.get("stored_fields", body.get("stored_fields"))
    reasons = {
        # Walks through all hits: each step goes on where the one before ended, in the engine's order.
        "scroll": "scroll" in parameters,
        "search_after": "search_after" in body,
        "point_in_time": "pit" in body,
        "sorted": not _by_score(parameters["sort"] if "sort" in parameters else body.get("sort")),
        "not_json": parameters.get("format", "json") not in ("", "json"),
        "long_filter_path": parameters.get("filter_path", "").count(",") >= _MAX_FILTER_PATHS,
        # Hits without names: nothing could be fetched besides, and the engine refuses `_source` with it.
        "no_ids": stored in ("_none_", ["_none_"]),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def speaks_json(content_type: str | None, accept: str | None) -> bool:
    """Whether request and answer are JSON: the engines speak YAML, CBOR and SMILE too, and answer in the form of the
    request where `Accept` says nothing."""
    if accept and accept.strip() and not _accepts_json(accept):
        return False
    return not content_type or _is_json(content_type)


def _accepts_json(accept: str) -> bool:
    kinds = [part.split(";")[0].strip().lower() for part in accept.split(",")]
    return any(kind in ("*/*", "application/*") or _is_json(kind) for kind in kinds)


def _is_json(content_type: str) -> bool:
    kind = content_type.split(";")[0].strip().lower()
    return kind.endswith(_JSON_ENDINGS) or kind.endswith(("/x-ndjson", "+x-ndjson"))


def _by_score(sort: Any) -> bool:
    """Whether the order is that of falling scores, which is what no `sort` means too."""
    keys = sort if isinstance(sort, list) else [] if sort is None else [sort]
    return not keys or (len(keys) == 1 and keys[0] in _FALLING_SCORES)
