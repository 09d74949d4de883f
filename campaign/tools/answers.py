"""Compares an answer of the proxy with the engine's own."""

from __future__ import annotations

import json
import re
from typing import Any

import urllib3

# Keys that differ between two equal requests to one engine.
_PASSING = ("took", "profile", "_scroll_id", "pit_id")
_OBJECT = re.compile(r"@[0-9a-f]{5,8}\b")


def compare(
    ours: urllib3.BaseHTTPResponse, direct: urllib3.BaseHTTPResponse, window: urllib3.BaseHTTPResponse | None
) -> str:
    """What is wrong with our answer; empty if nothing is.

    Args:
        direct: the engine's answer to the same request.
        window: the engine's answer with all hits, if ours was re-ranked and they are known.
    """
    status = ours.headers.get("X-Rerank-Status")
    mine, theirs = _decoded(ours.data), _decoded(direct.data)
    if status != "applied":
        if ours.headers.get("X-Rerank-Reason") == "beyond_window":
            mine, theirs = _without_scores(mine), _without_scores(theirs)
        return "" if mine == theirs else f"differs from the engine's answer: {_first_difference(mine, theirs)}"
    if isinstance(mine, dict) and "responses" in mine:
        pairs = zip(mine["responses"], theirs["responses"], strict=False)
        return next(filter(None, (_compare_page(one, other) for one, other in pairs)), "")
    wrong = _compare_page(mine, theirs)
    if not wrong and window is not None and window.status == 200:
        more = ids(mine) - ids(_decoded(window.data))
        wrong = f"hits that the engine does not find: {sorted(more)[:3]}" if more else ""
    return wrong


def _compare_page(mine: Any, theirs: Any) -> str:
    """Checks a re-ranked page: it has as many hits as the engine's, and differs only in hits and scores."""
    if not isinstance(mine, dict) or not isinstance(mine.get("hits"), dict):
        return "" if mine == theirs else f"differs: {_first_difference(mine, theirs)}"
    for part in ("aggregations", "suggest", "timed_out", "_shards", "terminated_early"):
        if mine.get(part) != theirs.get(part):
            return f"{part} differs: {_first_difference(mine.get(part), theirs.get(part))}"
    if mine["hits"].get("total") != theirs["hits"].get("total"):
        return f"total {mine['hits'].get('total')}, not {theirs['hits'].get('total')}"
    my_hits, their_hits = (side["hits"].get("hits", []) for side in (mine, theirs))
    if len(my_hits) != len(their_hits):
        return f"{len(my_hits)} hits, not {len(their_hits)}"
    named = [hit["_id"] for hit in my_hits if "_id" in hit]
    return "a hit comes twice" if len(set(named)) < len(named) else ""


def ids(answer: Any) -> set[str]:
    """The hits of a page."""
    hits = answer.get("hits", {}).get("hits", []) if isinstance(answer, dict) else []
    return {hit["_id"] for hit in hits if "_id" in hit}


def _decoded(content: bytes) -> Any:
    """The JSON of an answer without keys that differ each time, or its text."""
    text = _OBJECT.sub("@", content.decode(errors="replace"))
    try:
        return _stripped(json.loads(text))
    except (ValueError, RecursionError):
        return re.sub(r"took: \d+", "", text)


def _stripped(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _stripped(value) for name, value in tree.items() if name not in _PASSING}
    return [_stripped(value) for value in tree] if isinstance(tree, list) else tree


def _without_scores(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _without_scores(value) for name, value in tree.items() if name not in ("_score", "max_score")}
    return [_without_scores(value) for value in tree] if isinstance(tree, list) else tree


def _first_difference(mine: Any, theirs: Any, place: str = "") -> str:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for name in [*mine, *theirs]:
            if mine.get(name) != theirs.get(name) or (name in mine) != (name in theirs):
                return _first_difference(mine.get(name), theirs.get(name), f"{place}.{name}")
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            if one != other:
                return _first_difference(one, other, f"{place}[{number}]")
    return f"{place or 'all'}: {str(mine)[:200]!r}, by the engine {str(theirs)[:200]!r}"
