"""The searches that are measured: each as it is sent to the engine alone, and as it is sent to Sinkrank.

`own` is an index that ingest made, `ordinary` one of the same documents with a title, a text and a language. A query
is asked for documents in its own language, and across languages: for those in English, or in German if it is English.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.stores.base.filters import Filters
from reranker.stores.engine.queries import knn_body, language_field

DEPTH, PAGE = 100, 10
Row = Mapping[str, str]


class Asked(NamedTuple):
    """A query, and the vector that kNN searches for it."""

    row: Row
    vector: NDArray[np.float32]


class Request(NamedTuple):
    """What is posted to either side."""

    path: str
    body: bytes


class Kind(NamedTuple):
    """A kind of search.

    Attributes:
        service: kinds with the same name are sent to the same service, which has seen none of their queries.
    """

    service: str
    engine: Callable[[Asked], Request]
    ours: Callable[[Asked], Request]


def plain_name(index: str) -> str:
    """The name of the ordinary index."""
    return f"{index}-plain"


def other_language(row: Row) -> str:
    return "de" if row["language"] == "en" else "en"


def kinds(index: str, languages: list[str]) -> dict[str, Kind]:
    """Every kind by name.

    Args:
        languages: of the documents.
    """

    def words(one: Asked, targets: list[str]) -> Any:
        names = dict.fromkeys(language_field("opensearch", target) for target in targets)
        fields = [f"{field}.{name}" for name in names for field in ("text", "title")]
        query = {"multi_match": {"query": one.row["text"], "fields": fields}}
        return {"query": query, "size": PAGE, "_source": ["title", "lang"]}

    def nearest(one: Asked, target: str) -> Any:
        return knn_body("opensearch", one.vector, PAGE, Filters((target,))) | {"_source": ["title", "lang"]}

    def v1(first_stage: str, target: Callable[[Row], str] | None) -> Callable[[Asked], Request]:
        def request(one: Asked) -> Request:
            body: dict[str, Any] = {"query": one.row["text"], "index": index, "language": one.row["language"]}
            body |= {"first_stage": first_stage, "depth": DEPTH, "size": PAGE}
            return _request("/v1/search", body if target is None else body | {"languages": [target(one.row)]})

        return request

    def own(body: Callable[[Asked], Any]) -> Callable[[Asked], Request]:
        return lambda one: _request(f"/{index}/_search", body(one))

    def both(target: Callable[[Row], str]) -> Callable[[Asked], Request]:
        return lambda one: _multi(index, words(one, [target(one.row)]), nearest(one, target(one.row)))

    def ordinary(target: Callable[[Row], str], **section: Any) -> Callable[[Asked], Request]:
        return lambda one: _request(f"/{plain_name(index)}/_search", _plain_body(one.row, target(one.row), section))

    def same(row: Row) -> str:
        return row["language"]

    def translated(one: Asked) -> Request:
        target = other_language(one.row)
        section = {"languages": [target], "translate": True, "language": one.row["language"]}
        return _request(f"/{plain_name(index)}/_search", _plain_body(one.row, target, {"ext": {"rerank": section}}))

    in_own, across = (
        own(lambda one: words(one, [same(one.row)])),
        own(lambda one: words(one, [other_language(one.row)])),
    )
    return {
        "ordinary, proxy": Kind("ordinary", ordinary(same), ordinary(same)),
        "ordinary, proxy, translated": Kind("translated", ordinary(other_language), translated),
        "own, proxy": Kind("own", in_own, in_own),
        "own, /v1/search, bm25": Kind("own", in_own, v1("bm25", same)),
        "own, /v1/search, knn": Kind("own", own(lambda one: nearest(one, same(one.row))), v1("knn", same)),
        "own, /v1/search, hybrid": Kind("own", both(same), v1("hybrid", same)),
        "own, /v1/search, translated, across": Kind("own", across, v1("translated", other_language)),
        "own, /v1/search, knn, across": Kind(
            "own", own(lambda one: nearest(one, other_language(one.row))), v1("knn", other_language)
        ),
        "own, /v1/search, hybrid, across": Kind("own", both(other_language), v1("hybrid", other_language)),
        "own, /v1/search, all languages": Kind("own", own(lambda one: words(one, languages)), v1("auto", None)),
    }


def _plain_body(row: Row, target: str, more: Mapping[str, Any]) -> Any:
    words = {"multi_match": {"query": row["text"], "fields": ["text", "title"]}}
    query = {"bool": {"must": [words], "filter": [{"term": {"lang": target}}]}}
    return {"query": query, "size": PAGE, "_source": ["title", "lang"], **more}


def _request(path: str, body: Any) -> Request:
    return Request(path, json.dumps(body).encode())


def _multi(index: str, *bodies: Any) -> Request:
    lines = "".join(f"{{}}\n{json.dumps(body)}\n" for body in bodies)
    return Request(f"/{index}/_msearch", lines.encode())
