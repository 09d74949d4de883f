"""Re-ranks one search on its way: asks the engine for the window, orders its hits, cuts the caller's page out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reranker.proxy.answer import SearchAnswer, read_answer
from reranker.proxy.answer_filters import URL_PARAMETERS, FilterPath
from reranker.proxy.guard import Guard, Turn
from reranker.proxy.raw_json import write_document
from reranker.proxy.search_request import ProxySearch
from reranker.proxy.translation import SearchTranslator, searched_indices
from reranker.proxy.upstream.calls import EngineCalls, Fallback, Incoming
from reranker.proxy.upstream.nodes import Headers
from reranker.proxy.upstream.passing import only_parameters, without_parameters
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

    def __init__(self, ranker: WindowRanker, translator: SearchTranslator, guard: Guard) -> None:
        self._ranker = ranker
        self._translator = translator
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
            asked, failed = self._asked(incoming, search, calls, turn)
            fetched = time.perf_counter()
            outcome = failed or self._rank(incoming, asked, calls, turn)
            added_ms = (time.perf_counter() - fetched) * 1000 + asked.before_ms
            written_body = written(asked.search, asked.answer, outcome, added_ms)
            body = write_document(asked.answer.text, asked.answer.raw, written_body)
            if search.filter_path is not None:
                body = filter_path(search.filter_path, asked.headers, search.is_pretty).apply(body)
            done = time.perf_counter()
        return Answer(asked.headers, json_bytes(body), [outcome], (fetched - started) * 1000, (done - fetched) * 1000)

    def _asked(
        self, incoming: Incoming, search: ProxySearch, calls: EngineCalls, turn: Turn
    ) -> tuple[_Asked, Outcome | None]:
        """The search as it was asked at last, and how it went where it should have been asked again and was not."""
        indices = searched_indices(incoming.path)
        if search.is_translated_at_once:
            search = turn.run(lambda: self._translator.at_once(search, indices), calls.deadline) or search
        started = time.perf_counter()
        first = _ask(incoming, search, calls.search, 0.0)
        if not first.answer.is_empty(search.page.fetched_from):
            return first, None
        try:
            again = turn.run(lambda: self._translator.when_nothing_is_found(search, indices), calls.deadline)
            if again is None:
                return first, None
            return _ask(incoming, again, calls.search_again, (time.perf_counter() - started) * 1000), None
        except Fallback as failed:
            turn.succeeded = None  # re-ranking itself did not fail
            return first, Outcome(None, failed.reason, str(failed))

    def _rank(self, incoming: Incoming, asked: _Asked, calls: EngineCalls, turn: Turn) -> Outcome:
        def look_up(bodies: Sequence[tuple[int, bytes]]) -> list[Any]:
            kept = only_parameters(incoming.query_string, _LOOK_UP_PARAMETERS)
            return [calls.ask(f"{incoming.path}?{kept}", body) for _, body in bodies]

        (outcome,) = self._ranker.rank([window_of(asked.search, asked.answer)], incoming, calls, look_up, turn)
        return outcome


@dataclass(frozen=True, slots=True)
class _Asked:
    """A search and the engine's answer to it.

    Attributes:
        before_ms: what went before this request, which `took` is to count.
    """

    search: ProxySearch
    headers: Headers
    answer: SearchAnswer
    before_ms: float


def _ask(
    incoming: Incoming, search: ProxySearch, send: Callable[[str, bytes], tuple[Headers, str]], before_ms: float
) -> _Asked:
    parameters = without_parameters(incoming.query_string, (*_REPLACED, *search.replaced_parameters))
    headers, text = send(parameters, search.window_body)
    return _Asked(search, headers, _read(text), before_ms)


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
