"""Re-ranks one search on its way: asks the engine for the window, orders its hits, cuts the caller's page out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reranker.proxy.answer import SearchAnswer, read_answer
from reranker.proxy.engine_call import EngineCalls, Incoming
from reranker.proxy.fallback import Fallback
from reranker.proxy.filter_path import FilterPath
from reranker.proxy.guard import Guard
from reranker.proxy.headers import Headers
from reranker.proxy.parameters import only_parameters, without_parameters
from reranker.proxy.raw_json import write_document
from reranker.proxy.search_request import ProxySearch
from reranker.proxy.source_filter import URL_PARAMETERS
from reranker.proxy.window_ranking import Outcome, WindowRanker, window_of, written
from reranker.service.json_text import json_bytes

# They stand in the body of the search for the window, or are ours to apply.
_REPLACED = (
    "rerank",
    "from",
    "size",
    "seq_no_primary_term",
    "filter_path",
    "source",
    "source_content_type",
    *URL_PARAMETERS,
)
_LOOK_UP_PARAMETERS = ("routing", "preference", "ignore_unavailable", "allow_no_indices", "expand_wildcards")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of status 200: the engine's headers, the body, how its searches went, and times in ms."""

    headers: Headers
    body: bytes
    outcomes: Sequence[Outcome]
    engine_ms: float
    rerank_ms: float


class SearchRunner:
    """Runs re-ranked searches; safe to share between threads."""

    def __init__(self, ranker: WindowRanker, guard: Guard) -> None:
        self._ranker = ranker
        self._guard = guard

    def run(self, incoming: Incoming, search: ProxySearch, calls: EngineCalls) -> Answer:
        """The caller's page of the re-ranked window, or of the engine's order where re-ranking failed.

        Raises:
            NotNow: no re-ranking at this moment.
            Fallback: there is no answer to take a page of.
            EngineUnreachable, EngineTimeout: the engine does not answer.
        """
        with self._guard.turn() as turn:
            started = time.perf_counter()
            headers, text = calls.search(without_parameters(incoming.query_string, _REPLACED), search.window_body)
            answer = _read(text)
            fetched = time.perf_counter()

            def look_up(bodies: Sequence[tuple[int, bytes]]) -> list[Any]:
                kept = only_parameters(incoming.query_string, _LOOK_UP_PARAMETERS)
                return [calls.ask(f"{incoming.path}?{kept}", body) for _, body in bodies]

            (outcome,) = self._ranker.rank([window_of(search, answer)], incoming, calls, look_up, turn)
            added_ms = (time.perf_counter() - fetched) * 1000
            body = write_document(text, answer.raw, written(search, answer, outcome, added_ms))
            if search.filter_path is not None:
                body = filter_path(search.filter_path, headers, search.is_pretty).apply(body)
            done = time.perf_counter()
        return Answer(headers, json_bytes(body), [outcome], (fetched - started) * 1000, (done - fetched) * 1000)


def filter_path(value: str, headers: Headers, is_pretty: bool) -> FilterPath:
    """The caller's filter, by the rules of the engine that has answered."""
    is_elasticsearch = any(name.lower() == "x-elastic-product" for name, _ in headers)
    return FilterPath(value, is_elasticsearch, is_pretty)


def _read(text: str) -> SearchAnswer:
    try:
        answer = read_answer(text)
    except (ValueError, RecursionError):
        raise Fallback("answer_not_json", "the engine's answer is no JSON object") from None
    if answer.hits is None:
        raise Fallback("answer_not_json", "the engine's answer holds no list of hits")
    return answer
