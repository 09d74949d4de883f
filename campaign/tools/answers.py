"""Compares an answer of the proxy with the engine's own, as the tests of others' clients do."""

from __future__ import annotations

import json
import re
from typing import Any

import urllib3

from tests.clients.recording import Exchange, unlike


def compare(
    ours: urllib3.BaseHTTPResponse, direct: urllib3.BaseHTTPResponse, window: urllib3.BaseHTTPResponse | None
) -> str:
    """What is wrong with our answer; empty if nothing is.

    Args:
        direct: the engine's answer to the same request.
        window: the engine's answer with all hits, if ours was re-ranked and they are known.
    """
    mine, theirs = (Exchange("POST", "", b"", one.status, dict(one.headers), one.data) for one in (ours, direct))
    bodies = [one.comparable(mine.is_reranked, mine.is_from_a_window)["body"] for one in (theirs, mine)]
    if mine.header("x-rerank-reason") == "beyond_window":
        bodies = [_without_scores(body) for body in bodies]
    if all(isinstance(body, str) for body in bodies):
        bodies = [re.sub(r"took: \d+", "", body) for body in bodies]
    if wrong := unlike(*bodies):
        return wrong[0]
    if not mine.is_reranked:
        return ""
    answer = json.loads(ours.data)
    for page in answer.get("responses", [answer]):
        named = _named(page)
        if len(set(named)) < len(named):
            return "a hit comes twice"
    more = ids(answer) - ids(json.loads(window.data)) if window is not None and window.status == 200 else set()
    return f"hits that the engine does not find: {sorted(more)[:3]}" if more else ""


def ids(answer: Any) -> set[str]:
    """The hits of a page."""
    return set(_named(answer))


def _named(answer: Any) -> list[str]:
    hits = answer.get("hits", {}).get("hits", []) if isinstance(answer, dict) else []
    return [hit["_id"] for hit in hits if "_id" in hit]


def _without_scores(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _without_scores(value) for name, value in tree.items() if name not in ("_score", "max_score")}
    return [_without_scores(value) for value in tree] if isinstance(tree, list) else tree
