"""Asks the engine for the windows of a request's searches: in one request, and in a second one those in translation.

A `_msearch` differs from a `_search` only here and in `write`: its searches go and come as lines.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from reranker.proxy.guard import Slot
from reranker.proxy.search import Outcome, ProxyRequest, Search, Skipped, TranslatedQuery, written_lines
from reranker.proxy.translation import SearchTranslator
from reranker.proxy.window import AsItCame, Misfit, Window
from reranker.proxy.window_kinds import (
    PAGE_ONLY_PARAMETERS,
    URL_QUERY,
    WINDOW_ONLY_PARAMETERS,
    WindowKinds,
    is_same_window,
)
from reranker.ranking.corrections import start_encoding
from reranker.upstream.answers import EngineAnswer, Fetched, read_answer, read_answers
from reranker.upstream.calls import Fallback, Refused
from reranker.upstream.connections import Headers
from reranker.upstream.incoming import only_parameters, without_parameters

_log = logging.getLogger(__name__)

# They stand in the body of each search of ours, or are ours to apply.
_REPLACED = ("rerank", "from", "size", "seq_no_primary_term", "filter_path")
REPLACED_FOR_PAGE = (*_REPLACED, *WINDOW_ONLY_PARAMETERS)
_REPLACED_OF_SEVERAL = ("rerank", "filter_path")
_LOOK_UP_PARAMETERS = ("routing", "preference", "ignore_unavailable", "allow_no_indices", "expand_wildcards")

Send = Callable[[str, bytes], tuple[Headers, bytes]]
"""From a query string and a body to the headers and the body of the engine's answer."""


@dataclass(frozen=True, slots=True)
class FetchedWindows:
    """The windows of a request's searches.

    Attributes:
        base: the engine's answer, in whose text the pages are written.
        lines: of the request; those that are not to be re-ranked as they came.
        engine_s: how long the engine took.
    """

    base: Fetched
    lines: Sequence[Window | AsItCame]
    engine_s: float

    @property
    def windows(self) -> list[Window]:
        """One for each of the request's searches."""
        return [line for line in self.lines if isinstance(line, Window)]


def fetch(
    request: ProxyRequest,
    kinds: Sequence[str | None],
    translator: SearchTranslator,
    slot: Slot,
) -> FetchedWindows:
    """Asks for all searches, and for those that find nothing again in translation.

    Args:
        kinds: of window, one for each search.

    Raises:
        Misfit: the engine refuses an ids-only window.
        Refused, Fallback: there is no answer to take pages of.
        EngineUnreachable, EngineTimeout: the engine does not answer.
    """
    translations: list[TranslatedQuery | None] = [None] * len(kinds)
    deadline = request.calls.deadline
    if any(search.is_translated_at_once for search in request.searches):
        translations = slot.run(
            lambda: [translator.at_once(one, deadline) for one in request.searches], deadline, counts=False
        )
    asked = dict(zip(request.searches, zip(kinds, translations, strict=True), strict=True))
    bodies = []
    for line in request.lines:
        if isinstance(line, Skipped):
            bodies.append((line.header, line.as_it_came))
        else:
            kind, translation = asked[line]
            bodies.append((line.header, line.window_body(translation, kind)))
    try:
        send = partial(request.calls.search, meanwhile=partial(_start_encoding, request.searches))
        fetched = ask(request, bodies, send, _query_string(request, kinds[0], translations[0]))
    except Refused:
        raise
    except Fallback as failed:
        if not any(kinds):
            raise
        raise Misfit(request.searches) from failed
    lines = [
        Window(line, *asked[line], answer)
        if isinstance(line, Search)
        else AsItCame(answer, Outcome("skipped", line.reason))
        for line, answer in zip(request.lines, fetched.answers, strict=True)
    ]
    found = FetchedWindows(fetched, lines, fetched.took_s)
    refused = [window.search for window in found.windows if window.is_refused and window.kind is not None]
    if refused:
        raise Misfit(refused)
    # Without time left nothing is asked again, and the ranking says why.
    may_translate = deadline.left_s and any(window.is_empty for window in found.windows)
    return _fetch_translated(request, found, translator, slot) if may_translate else found


def _start_encoding(searches: Sequence[Search]) -> None:
    """Begins to encode the queries. To be called once the request is sent: the encoder's thread takes the
    interpreter."""
    for search in searches:
        if not search.page.is_behind:
            with suppress(Exception):  # whatever it is, the ranking meets it again
                start_encoding(search.query, search.method)


def _fetch_translated(
    request: ProxyRequest, found: FetchedWindows, translator: SearchTranslator, slot: Slot
) -> FetchedWindows:
    """The windows, of which the empty ones were asked for again in translation; one that is refused then stays empty.

    Raises:
        Fallback: that fails.
    """
    empty = [window for window in found.windows if window.is_empty]
    deadline = request.calls.deadline
    translations = slot.run(
        lambda: [translator.when_nothing_is_found(one, deadline) for one in empty], deadline, counts=False
    )
    asked = [(window, one) for window, one in zip(empty, translations, strict=True) if one is not None]
    if not asked:
        return found
    bodies = [(window.search.header, window.search.window_body(one, window.kind)) for window, one in asked]
    window, translation = asked[0]
    fetched = ask(request, bodies, request.calls.search_again, _query_string(request, window.kind, translation))
    again = {}
    for (window, translation), answer in zip(asked, fetched.answers, strict=True):
        translated = replace(window, translation=translation, answer=answer)
        if translated.is_refused:
            _log.warning("a search stays without hits: %s", translated.failure)
        else:
            again[window] = translated
    lines = [again.get(line, line) if isinstance(line, Window) else line for line in found.lines]
    # Of a multi-search the first answer stays, with other pieces.
    base = fetched if again and not request.is_multi else found.base
    return FetchedWindows(base, lines, found.engine_s + fetched.took_s)


def _query_string(request: ProxyRequest, kind: str | None, translation: TranslatedQuery | None) -> str:
    """The caller's without the parameters that the body of a window stands for."""
    of_page = PAGE_ONLY_PARAMETERS if kind else ()
    replaced = (*_REPLACED, *of_page, *(URL_QUERY if translation else ()))
    return without_parameters(request.calls.incoming.query_string, replaced)


def compare_kinds(
    request: ProxyRequest,
    windows: Sequence[Window],
    kind: str,
    kinds: WindowKinds,
    has_bags: Callable[[Window, str], bool],
) -> None:
    """Asks for ids-only windows of a kind beside whole ones, to learn whether they say the same.

    Args:
        has_bags: as of `HitTexts`.
    """
    caller = request.calls.incoming.caller
    compared = [
        window
        for window in windows
        if kinds.is_to_compare(kind, window.search.window_plan, caller, window.search.indices)
        and has_bags(window, kind)
    ]
    if not compared:
        return
    bodies = [(window.search.header, window.search.window_body(window.translation, kind)) for window in compared]
    query_string = _query_string(request, kind, compared[0].translation)
    answers: Sequence[EngineAnswer] = ()
    with suppress(Fallback):
        answers = ask(request, bodies, request.calls.search_again, query_string).answers
    for number, window in enumerate(compared):
        if number < len(answers) and is_same_window(kind, _parsed(window.answer), _parsed(answers[number])):
            kinds.is_same(window.search.indices, kind)
        else:
            kinds.failed(caller, window.search.indices)


def _parsed(answer: EngineAnswer) -> tuple[Mapping[str, Any], Sequence[dict[str, Any]]]:
    return answer.raw.parsed, answer.found


def look_up(request: ProxyRequest, bodies: Sequence[tuple[Search, bytes]]) -> Sequence[EngineAnswer]:
    """What the engine finds by other bodies, each in the indices of a search of the request.

    Raises:
        Fallback: it answers an error, too late, or not in JSON.
    """
    calls = request.calls
    query_string = only_parameters(calls.incoming.query_string, _LOOK_UP_PARAMETERS)
    return ask(request, [(search.header, body) for search, body in bodies], calls.search_again, query_string).answers


def fetch_as_it_came(request: ProxyRequest, windows: Sequence[Window]) -> Fetched:
    """The engine's own answers to the searches of some windows, which are those of a multi-search, or translated.

    Raises:
        Refused, Fallback, EngineUnreachable, EngineTimeout: there are none.
    """
    bodies = [(window.search.header, window.as_it_came) for window in windows]
    query_string = without_parameters(request.calls.incoming.query_string, (*_REPLACED_OF_SEVERAL, *URL_QUERY))
    return ask(request, bodies, request.calls.search, query_string)


def ask(
    request: ProxyRequest,
    bodies: Sequence[tuple[bytes, bytes]],
    send: Send,
    query_string: str,
) -> Fetched:
    """The engine's answer to searches with these headers and bodies.

    Args:
        query_string: of a `_search`, without what its body says in its place; that of a multi-search says nothing of
            single searches.
    """
    started = time.perf_counter()
    if request.is_multi:
        query_string = without_parameters(request.calls.incoming.query_string, _REPLACED_OF_SEVERAL)
        headers, data = send(query_string, written_lines(bodies))
        return read_answers(headers, data, len(bodies), time.perf_counter() - started)
    headers, data = send(query_string, bodies[0][1])
    took_s = time.perf_counter() - started
    answer = read_answer(data)
    return Fetched(headers, answer.text, answer.raw, None, [answer], took_s)
