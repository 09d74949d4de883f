"""Asks the engine for the windows of a request's searches: in one request, and in a second one those in translation.

Windows are asked for without their text where that is enough (`bare_windows.py`).

A `_msearch` differs from a `_search` only here and in `write`: its searches go and come as lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from reranker.base.raw_json import Reader
from reranker.proxy.bare_windows import (
    PAGE_ONLY_PARAMETERS,
    URL_QUERY,
    WINDOW_ONLY_PARAMETERS,
    WindowMemory,
    is_same_window,
)
from reranker.proxy.guard import Turn
from reranker.proxy.read import written_lines
from reranker.proxy.search import Search, SearchRequest, Skipped, TranslatedQuery
from reranker.proxy.translation import SearchTranslator
from reranker.query_dsl.answer_filters import URL_PARAMETERS
from reranker.upstream.answers import Fetched, SearchAnswer, read_answer, read_answers, read_bare, read_whole
from reranker.upstream.calls import Fallback, Refused
from reranker.upstream.connections import Headers
from reranker.upstream.incoming import only_parameters, without_parameters

# They stand in the body of the search for the window, or are ours to apply.
_OF_WHOLE = (
    "rerank",
    "from",
    "size",
    "seq_no_primary_term",
    "filter_path",
    "source",
    "source_content_type",
    *URL_PARAMETERS,
)
_OF_BARE = (*_OF_WHOLE, *PAGE_ONLY_PARAMETERS)
# By whether the window is bare, and whether the query is translated.
_REPLACED = {
    (False, False): _OF_WHOLE,
    (False, True): (*_OF_WHOLE, *URL_QUERY),
    (True, False): _OF_BARE,
    (True, True): (*_OF_BARE, *URL_QUERY),
}
REPLACED_FOR_PAGE = tuple({*_OF_WHOLE, *WINDOW_ONLY_PARAMETERS} - set(URL_PARAMETERS))
_REPLACED_OF_SEVERAL = ("rerank", "filter_path")
_LOOK_UP_PARAMETERS = ("routing", "preference", "ignore_unavailable", "allow_no_indices", "expand_wildcards")
_NDJSON = "application/x-ndjson"

Send = Callable[[str, bytes], tuple[Headers, str]]
"""From a query string and a body to the headers and the text of the engine's answer."""


def fetch(
    request: SearchRequest,
    translator: SearchTranslator,
    memory: WindowMemory,
    turn: Turn,
    meanwhile: Callable[[], None],
) -> Fetched:
    """Asks for all searches, and gives each its answer. A bare window that the engine refuses is asked for again as a
    whole one.

    Args:
        meanwhile: called while the engine works on the windows.

    Raises:
        Refused, Fallback: there is no answer to take pages of.
        EngineUnreachable, EngineTimeout: the engine does not answer.
    """
    calls, first = request.calls, request.searches[0]
    at_once = [search for search in request.searches if search.is_translated_at_once]
    if at_once:
        translations = turn.run(lambda: [translator.at_once(search) for search in at_once], calls.deadline)
        for search, translation in zip(at_once, translations, strict=True):
            search.translation = translation
    for search in request.searches:
        search.bare_kind = memory.kind_for(search.bare_plan, calls.incoming.caller, search.indices)
    started = time.perf_counter()
    try:
        fetched = _ask_windows(request, request.lines, partial(calls.search, meanwhile=meanwhile))
    except Refused:
        raise
    except Fallback:
        if request.is_multi or first.bare_kind is None:
            raise
        memory.failed(calls.incoming.caller, first.indices)
        first.bare_kind = None
        fetched = _ask_windows(request, request.lines, calls.search)
    for line, answer in zip(request.lines, fetched.answers, strict=True):
        line.answer = answer
    empty = [search for search in request.searches if not search.found and search.is_empty]
    if not empty:
        return fetched
    answered = time.perf_counter()
    again = _fetch_translated(request, empty, translator, turn, started)
    if not request.is_multi:
        return again or fetched
    fetched.added_ms = (time.perf_counter() - answered) * 1000
    return fetched


def _fetch_translated(
    request: SearchRequest, empty: Sequence[Search], translator: SearchTranslator, turn: Turn, started: float
) -> Fetched | None:
    """Asks for the searches that found nothing again, in translation; None where there is no translation, or no
    answer. Then they keep the answer that they have."""
    found: list[tuple[Search, TranslatedQuery]] = []
    try:
        translations = turn.run(
            lambda: [translator.when_nothing_is_found(search) for search in empty], request.calls.deadline
        )
        found = [(search, one) for search, one in zip(empty, translations, strict=True) if one is not None]
        if not found:
            return None
        added_ms = (time.perf_counter() - started) * 1000
        bodies = [(search.header, search.window_body(translation, search.bare_kind)) for search, translation in found]
        replaced = _REPLACED[found[0][0].bare_kind is not None, True]
        again = ask(request, bodies, request.calls.search_again, replaced)
    except Fallback as failed:
        turn.succeeded = None  # re-ranking itself did not fail
        for search in [search for search, _ in found] or empty:
            search.failed(failed.reason, str(failed))
        return None
    for (search, translation), answer in zip(found, again.answers, strict=True):
        if answer.hits is None:
            search.failed("engine_refused", "the engine refused the translated search")
        else:
            search.translation, search.answer = translation, answer
    again.added_ms = added_ms
    return again


def _ask_windows(request: SearchRequest, lines: Sequence[Search | Skipped], send: Send) -> Fetched:
    """The windows of some searches, each as its `bare_kind` and `translation` say."""
    first = request.searches[0]
    replaced = _REPLACED[first.bare_kind is not None, first.translation is not None]
    read = read_bare if first.bare_kind is not None and not request.is_multi else read_whole
    bodies = [
        line.as_it_came if isinstance(line, Skipped) else line.window_body(line.translation, line.bare_kind)
        for line in lines
    ]
    return ask(request, [(line.header, body) for line, body in zip(lines, bodies, strict=True)], send, replaced, read)


def fetch_whole(request: SearchRequest, searches: Sequence[Search]) -> Fetched | None:
    """Asks for windows whole whose bare ones were of no use; None where none can be had. Those without one are of
    `fetch_refused`, with the reason why.

    Raises:
        Fallback: the request's only search cannot be asked for.
    """
    for search in searches:
        search.bare_kind, search.shown = None, ()
    try:
        fetched = _ask_windows(request, searches, request.calls.search_again)
    except Fallback as failed:
        if not request.is_multi:
            raise
        for search in searches:
            search.failed(failed.reason, str(failed))
        return None
    for search, answer in zip(searches, fetched.answers, strict=True):
        search.answer, search.is_lost = answer, False
    return fetched


def try_bare_windows(request: SearchRequest, memory: WindowMemory) -> None:
    """Asks once for bare windows beside whole ones, to learn whether they say the same. No search waits for a second
    trial before the memory forgets the first."""
    caller, tried = request.calls.incoming.caller, []
    for search in request.searches:
        if search.known_share is not None:
            memory.note_known(caller, search.indices, search.known_share)
        if search.bare_kind is None and not search.is_lost and len(search.window) > search.page.size:
            kind = memory.kind_to_try(search.bare_plan, caller, search.indices, search.has_stored_bags)
            if kind is not None:
                tried.append((search, kind))
    if not tried:
        return
    replaced = _REPLACED[True, tried[0][0].translation is not None]
    bodies = [(search.header, search.window_body(search.translation, kind)) for search, kind in tried]
    answers: Sequence[SearchAnswer] = ()
    with suppress(Fallback):
        answers = ask(request, bodies, request.calls.search_again, replaced).answers
    for number, (search, kind) in enumerate(tried):
        whole = search.answer
        is_same = number < len(answers) and whole is not None
        if is_same and whole is not None and is_same_window(kind, _said(whole), _said(answers[number])):
            memory.fits(search.indices, kind)
        else:
            memory.failed(caller, search.indices)


def _said(answer: SearchAnswer) -> tuple[Mapping[str, Any], Sequence[dict[str, Any]]]:
    return answer.raw.parsed, answer.found


def look_up(request: SearchRequest, bodies: Sequence[tuple[Search, bytes]]) -> list[Any]:
    """What the engine finds by other bodies, each in the indices of a search of the request; as JSON.

    Raises:
        Fallback: it answers an error, too late, or not in JSON.
    """
    calls, incoming = request.calls, request.calls.incoming
    if not request.is_multi:
        target = f"{incoming.path}?{only_parameters(incoming.query_string, _LOOK_UP_PARAMETERS)}"
        return [calls.ask(target, body) for _, body in bodies]
    target = f"{incoming.path}?{without_parameters(incoming.query_string, _REPLACED_OF_SEVERAL)}"
    answer = calls.ask(target, written_lines((search.header, body) for search, body in bodies), _NDJSON)
    found = answer.get("responses") if isinstance(answer, dict) else None
    if not isinstance(found, list) or len(found) != len(bodies):
        raise Fallback("answer_not_json", "the engine's answer holds no responses")
    return found


def fetch_refused(request: SearchRequest) -> None:
    """Asks for those searches of a multi-search whose windows the engine refused as they came: it may refuse the window
    alone, and its errors are to be about what the caller wrote. The same for those whose page was lost, and those that
    only the engine can go on with.
    """
    refused = [
        search
        for search in request.searches
        if search.is_lost or search.is_passed_on or (search.answer is not None and search.answer.hits is None)
    ]
    if refused:
        bodies = [(search.header, search.as_it_came) for search in refused]
        for search, answer in zip(refused, ask(request, bodies, request.calls.search, ()).answers, strict=True):
            if not search.status:
                search.failed("engine_refused", "the engine refused the search for the window")
            search.is_refused, search.answer = True, answer


def ask(
    request: SearchRequest,
    bodies: Sequence[tuple[bytes, bytes]],
    send: Send,
    replaced: Sequence[str],
    read: Reader = read_whole,
) -> Fetched:
    """The engine's answer to searches with these headers and bodies.

    Args:
        replaced: the parameters that the body of a `_search` stands for.
        read: as of `read_answer`.
    """
    query_string = request.calls.incoming.query_string
    if request.is_multi:
        headers, text = send(without_parameters(query_string, _REPLACED_OF_SEVERAL), written_lines(bodies))
        return read_answers(headers, text, len(bodies), read)
    headers, text = send(without_parameters(query_string, replaced), bodies[0][1])
    answer = read_answer(text, read)
    return Fetched(headers, text, answer.raw, None, [answer])
