"""Re-ranks the searches of a `_msearch`: one request to the engine, in which each search that can be re-ranked asks for
its window, and the others stand as they came."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reranker.proxy.answer import SearchAnswer, read_answers
from reranker.proxy.guard import Guard, Turn
from reranker.proxy.multi_search_lines import Line, MultiSearch, index_of, written_lines
from reranker.proxy.raw_json import RawArray, RawObject, write_array, write_document, write_object
from reranker.proxy.search import Answer, filter_path
from reranker.proxy.search_request import ProxySearch
from reranker.proxy.translation import SearchTranslator, searched_indices
from reranker.proxy.upstream.calls import Deadline, EngineCalls, Fallback, Incoming
from reranker.proxy.upstream.nodes import Upstream
from reranker.proxy.upstream.passing import without_parameters
from reranker.proxy.window_ranking import Outcome, WindowRanker, window_of, written
from reranker.service.json_text import json_bytes
from reranker.service.settings import Settings

_REPLACED = ("rerank", "filter_path")
_NDJSON = "application/x-ndjson"


class MultiSearchRunner:
    """Runs multi-searches; safe to share between threads."""

    def __init__(
        self,
        upstream: Upstream,
        ranker: WindowRanker,
        translator: SearchTranslator,
        guard: Guard,
        settings: Settings,
    ) -> None:
        self._upstream = upstream
        self._ranker = ranker
        self._translator = translator
        self._guard = guard
        self._settings = settings

    def run(self, incoming: Incoming, multi: MultiSearch, calls: EngineCalls) -> Answer:
        """The answers to all searches, in their order.

        Raises:
            NotNow, Fallback, EngineUnreachable, EngineTimeout: as `SearchRunner.run`.
        """
        with self._guard.turn() as turn:
            query_string = without_parameters(incoming.query_string, _REPLACED)
            started = time.perf_counter()
            lines = self._translated_at_once(multi.lines, incoming, calls, turn)
            headers, text = calls.search(query_string, written_lines((line.header, line.sent) for line in lines))
            fetched = time.perf_counter()
            raw, responses, answers = _read(text, len(lines))
            failed = self._ask_translated(lines, answers, incoming, query_string, calls, turn)
            numbers = [
                number
                for number, (line, answer) in enumerate(zip(lines, answers, strict=True))
                if line.search is not None and answer.hits is not None and number not in failed
            ]

            def look_up(bodies: Sequence[tuple[int, bytes]]) -> list[Any]:
                pairs = [(lines[numbers[window]].header, body) for window, body in bodies]
                return _responses(
                    calls.ask(f"{incoming.path}?{query_string}", written_lines(pairs), _NDJSON), len(pairs)
                )

            windows = [window_of(_search(lines[number]), answers[number]) for number in numbers]
            ranked = self._ranker.rank(windows, incoming, calls, look_up, turn)
            added_ms = (time.perf_counter() - fetched) * 1000
            outcomes = {**dict(zip(numbers, ranked, strict=True)), **failed}
            pieces, refused = _pieces(lines, answers, outcomes, added_ms)
            if refused:
                self._ask_again(incoming, query_string, lines, refused, pieces)
            changes = {"responses": write_array(text, responses, pieces), **_took(raw.get("took"), added_ms)}
            body = write_document(text, raw, write_object(text, raw, replace=changes))
            if multi.filter_path is not None:
                body = filter_path(multi.filter_path, headers, multi.is_pretty).apply(body)
            done = time.perf_counter()
        in_order = [_outcome(number, line, outcomes) for number, line in enumerate(lines)]
        return Answer(headers, json_bytes(body), in_order, (fetched - started) * 1000, (done - fetched) * 1000)

    def _translated_at_once(
        self, lines: Sequence[Line], incoming: Incoming, calls: EngineCalls, turn: Turn
    ) -> list[Line]:
        """The lines, in translation those that are to be asked so from the first."""
        wanted = [n for n, line in enumerate(lines) if line.search is not None and line.search.is_translated_at_once]
        translate = self._translator.at_once
        found = turn.run(lambda: _translations(translate, wanted, lines, incoming), calls.deadline) if wanted else {}
        return [replace(line, search=found.get(number, line.search)) for number, line in enumerate(lines)]

    def _ask_translated(
        self,
        lines: list[Line],
        answers: list[SearchAnswer],
        incoming: Incoming,
        query_string: str,
        calls: EngineCalls,
        turn: Turn,
    ) -> dict[int, Outcome]:
        """Asks the searches that found nothing again, in translation: puts them and their answers in place.

        Returns:
            how those went that should have been asked again and were not.
        """
        empty = [
            number
            for number, (line, answer) in enumerate(zip(lines, answers, strict=True))
            if line.search is not None and answer.is_empty(line.search.page.fetched_from)
        ]
        if not empty:
            return {}
        translate = self._translator.when_nothing_is_found
        found: dict[int, ProxySearch] = {}
        try:
            found = turn.run(lambda: _translations(translate, empty, lines, incoming), calls.deadline)
            if not found:
                return {}
            body = written_lines((lines[number].header, search.window_body) for number, search in found.items())
            _, text = calls.search_again(query_string, body)
            _, _, again = _read(text, len(found))
        except Fallback as failed:
            turn.succeeded = None  # re-ranking itself did not fail
            return dict.fromkeys(found or empty, Outcome(None, failed.reason, str(failed)))
        refused = {}
        for (number, search), answer in zip(found.items(), again, strict=True):
            if answer.hits is None:
                refused[number] = Outcome(None, "engine_refused", "the engine refused the translated search")
            else:
                lines[number], answers[number] = replace(lines[number], search=search), answer
        return refused

    def _ask_again(
        self, incoming: Incoming, query_string: str, lines: Sequence[Line], numbers: Sequence[int], pieces: list[str]
    ) -> None:
        """Asks for the searches whose windows the engine refused as they came: it may refuse the window alone, and its
        errors are to be about what the caller wrote."""
        calls = EngineCalls(
            self._upstream,
            incoming,
            Deadline(self._settings.proxy_timeout_s),
            self._settings.proxy_max_answer_bytes,
        )
        body = written_lines((lines[number].header, lines[number].body_without_ours) for number in numbers)
        _, text = calls.search(query_string, body)
        _, _, answers = _read(text, len(numbers))
        for number, answer in zip(numbers, answers, strict=True):
            pieces[number] = answer.whole()


def _read(text: str, n: int) -> tuple[RawObject, RawArray, list[SearchAnswer]]:
    """The answer to `n` searches, as `read_answers`.

    Raises:
        Fallback: it is none.
    """
    try:
        raw, responses, answers = read_answers(text)
    except (ValueError, RecursionError):
        raise Fallback("answer_not_json", "the engine's answer holds no responses") from None
    if len(answers) != n:
        raise Fallback("answer_not_json", "the engine's answer holds another number of responses")
    return raw, responses, answers


def _translations(
    translate: Callable[[ProxySearch, Sequence[str]], ProxySearch | None],
    numbers: Sequence[int],
    lines: Sequence[Line],
    incoming: Incoming,
) -> dict[int, ProxySearch]:
    """Those of the searches that there is a translation of, by their numbers."""
    found = {
        number: translate(_search(lines[number]), searched_indices(incoming.path, index_of(lines[number].header)))
        for number in numbers
    }
    return {number: search for number, search in found.items() if search is not None}


def _search(line: Line) -> ProxySearch:
    if line.search is None:
        raise ValueError("the search is not to be re-ranked")
    return line.search


def _pieces(
    lines: Sequence[Line], answers: Sequence[SearchAnswer], outcomes: Mapping[int, Outcome], added_ms: float
) -> tuple[list[str], list[int]]:
    """The answers' texts, and the numbers of the searches whose windows the engine refused."""
    pieces, refused = [], []
    for number, (line, answer) in enumerate(zip(lines, answers, strict=True)):
        if number in outcomes:
            pieces.append(written(_search(line), answer, outcomes[number], added_ms))
        else:
            pieces.append(answer.whole())
            if line.search is not None:
                refused.append(number)
    return pieces, refused


def _outcome(number: int, line: Line, outcomes: Mapping[int, Outcome]) -> Outcome:
    if line.search is None:
        return Outcome(None, line.reason, is_skipped=True)
    return outcomes.get(number, Outcome(None, "engine_refused", "the engine refused the search for the window"))


def _took(took: Any, added_ms: float) -> dict[str, str]:
    return {"took": str(took + round(added_ms))} if isinstance(took, int) else {}


def _responses(answer: Any, n: int) -> list[Any]:
    found = answer.get("responses") if isinstance(answer, dict) else None
    if not isinstance(found, list) or len(found) != n:
        raise Fallback("answer_not_json", "the engine's answer holds no responses")
    return found
