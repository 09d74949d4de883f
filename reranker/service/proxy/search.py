"""Re-ranks one search on its way: asks the engine for the window, orders its hits, cuts the caller's page out.

Whatever goes wrong here ends in `Fallback`, for which the proxy passes the caller's own request on as it came.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

from reranker.service.json_text import json_bytes, to_json
from reranker.service.proxy.hit_ranking import HitRanker
from reranker.service.proxy.search_request import ProxySearch, only_parameters
from reranker.service.proxy.source_filter import FIELDS
from reranker.service.proxy.upstream import Headers, Upstream, response_headers
from reranker.settings import Settings

# Down to `_score` in answer → hits → hits → hit.
_SCORE_DEPTH = 4
# The engine's own limit on a page.
_MAX_LOOKED_UP = 10_000
_LOOK_UP_PARAMETERS = ("routing", "preference", "ignore_unavailable", "allow_no_indices", "expand_wildcards")

_log = logging.getLogger(__name__)


class Fallback(Exception):
    """The search could not be re-ranked: `reason` is one of a fixed set of words, the message is for the log."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Answer:
    """A re-ranked answer: status 200, the engine's headers, and times in ms."""

    headers: Headers
    body: bytes
    engine_ms: float
    rerank_ms: float


@dataclass(frozen=True, slots=True)
class Incoming:
    """A search as it came: raw path and query string, end-to-end headers."""

    method: str
    path: str
    query_string: str
    headers: Headers
    body: bytes


class ProxySearcher:
    """Runs re-ranked searches; safe to share between threads.

    Attributes:
        ranker: what orders the hits; a test may put another in its place.
    """

    def __init__(self, upstream: Upstream, ranker: HitRanker, settings: Settings) -> None:
        self.ranker = ranker
        self._upstream = upstream
        self._settings = settings
        # A kernel under way cannot be stopped: it is left to end in a thread of its own, and these are counted.
        self._threads = ThreadPoolExecutor(settings.workers, thread_name_prefix="proxy-rerank")

    def run(self, incoming: Incoming, search: ProxySearch) -> Answer:
        """The caller's page of the re-ranked window.

        Raises:
            Fallback: for whatever reason there is none.
            EngineUnreachable, EngineTimeout: the engine does not answer.
        """
        started = time.perf_counter()
        headers, answer = self._fetch(incoming, search)
        try:
            hits = _hits(answer)
            window = hits[: search.page.window]
            sources = self._sources(incoming, search, window)
            fetched = time.perf_counter()
            ranked = self._in_time(lambda: self.ranker.rank(search, window, sources)) if window else []
            if ranked is None:
                raise Fallback("no_text_in_hits", "no hit has a word with an embedding")
            body = _write(_rearranged(answer, hits, ranked, search), search.is_pretty)
        except Fallback:
            raise
        except Exception as error:  # whatever it is, a search is worth more than its re-ranking
            raise Fallback("rerank_failed", f"{type(error).__name__}: {error}") from error
        done = time.perf_counter()
        return Answer(headers, body, (fetched - started) * 1000, (done - fetched) * 1000)

    def _fetch(self, incoming: Incoming, search: ProxySearch) -> tuple[Headers, dict[str, Any]]:
        left_out = ("accept-encoding",) if search.body is None else ("accept-encoding", "content-encoding")
        body = incoming.body if search.body is None else search.body
        target = f"{incoming.path}?{search.query_string}"
        headers = _without(incoming.headers, *left_out)
        response = self._upstream.send(incoming.method, target, headers, body or None, len(body) or None)
        return response_headers(response), self._read(response)

    def _sources(self, incoming: Incoming, search: ProxySearch, window: Sequence[dict[str, Any]]) -> list[Any]:
        """The `_source` of each hit; looked up where the caller's filter keeps the text back."""
        if window and search.source_filter.is_partial and self.ranker.lacks_source(window):
            return self._look_up(incoming, window)
        return [hit.get("_source") for hit in window]

    def _look_up(self, incoming: Incoming, window: Sequence[dict[str, Any]]) -> list[Any]:
        """One more search, by ids, with the caller's own rights and through the same path or alias."""
        fields = self._settings.proxy_text_fields
        ids = sorted({str(hit.get("_id")) for hit in window})
        n_indices = len({hit.get("_index") for hit in window})
        body = {
            "query": {"ids": {"values": ids}},
            "size": min(_MAX_LOOKED_UP, len(ids) * n_indices),
            "_source": [*FIELDS, *fields] if fields else {"excludes": ["nbow"]},
        }
        kept = only_parameters(incoming.query_string, _LOOK_UP_PARAMETERS)
        headers = _without(incoming.headers, "accept-encoding", "content-encoding", "content-type")
        headers.append(("Content-Type", "application/json"))
        encoded = json.dumps(body).encode()
        response = self._upstream.send("POST", f"{incoming.path}?{kept}", headers, encoded, len(encoded))
        found = {(hit.get("_index"), hit.get("_id")): hit.get("_source") for hit in _hits(self._read(response))}
        return [found.get((hit.get("_index"), hit.get("_id"))) for hit in window]

    def _read(self, response: BaseHTTPResponse) -> dict[str, Any]:
        limit = self._settings.proxy_max_body_bytes
        try:
            # urllib3 gives no more than it is asked for, however far a compressed body goes on.
            data = response.read(limit + 1, decode_content=True) if response.status == 200 else b""
        except HTTPError as error:
            raise Fallback("answer_broken", f"the engine's answer broke off ({type(error).__name__})") from error
        finally:
            response.close() if response.status != 200 else response.release_conn()
        if response.status != 200:
            raise Fallback("engine_refused", f"the engine answered {response.status} to the search for the window")
        try:
            answer = json.loads(data) if len(data) <= limit else None
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise Fallback("answer_not_json", "the engine's answer is no JSON object, or too large")
        return answer

    def _in_time(self, work: Callable[[], list[tuple[int, float]] | None]) -> list[tuple[int, float]] | None:
        running: Future[list[tuple[int, float]] | None] = self._threads.submit(work)
        try:
            return running.result(self._settings.proxy_budget_ms / 1000)
        except TimeoutError:
            if running.done():
                raise  # the work's own error
            running.cancel()
            raise Fallback(
                "out_of_time", f"re-ranking took longer than proxy_budget_ms, {self._settings.proxy_budget_ms} ms"
            ) from None


def _without(headers: Headers, *names: str) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in names]


def _hits(answer: dict[str, Any]) -> list[dict[str, Any]]:
    outer = answer.get("hits")
    hits = outer.get("hits") if isinstance(outer, dict) else None
    if not isinstance(hits, list) or not all(isinstance(hit, dict) for hit in hits):
        raise Fallback("answer_not_json", "the engine's answer holds no list of hits")
    return hits


def _rearranged(
    answer: dict[str, Any], hits: Sequence[dict[str, Any]], ranked: Sequence[tuple[int, float]], search: ProxySearch
) -> dict[str, Any]:
    """The answer with the caller's page of hits; totals, aggregations and all else stay."""
    page = [
        {**search.source_filter.restore(hits[place]), "_score": score}
        for place, score in search.page.cut(ranked, len(hits))
    ]
    outer = {**answer["hits"], "hits": page}
    if "max_score" in outer:
        outer["max_score"] = ranked[0][1] if ranked else None
    return {**answer, "hits": outer}


def _write(answer: dict[str, Any], is_pretty: bool) -> bytes:
    if is_pretty:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    else:
        text = to_json(answer, _SCORE_DEPTH)
    return json_bytes(text)
