"""Answers the proxy's searches: read → fetch → rank → write.

Re-ranking that fails never fails a search: the engine's own answer is passed on, marked `X-Rerank-Status: fallback`,
counted, and logged in one line.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from http.client import HTTPException
from itertools import chain
from typing import Any

from reranker.answers import ExplainAnswer
from reranker.base.errors import BadInput, Busy, SinkrankError, StoreUnavailable
from reranker.proxy.bare_windows import WindowMemory
from reranker.proxy.explain import explain_hit, not_reranked, refusal
from reranker.proxy.fetch import fetch, fetch_refused, fetch_whole, try_bare_windows
from reranker.proxy.guard import BREAKER_FAILURES, BREAKER_REST_S, CircuitBreaker, Guard, NotNow, Turn
from reranker.proxy.hit_texts import HitTexts
from reranker.proxy.index_figures import IndexFigures, SampledStore
from reranker.proxy.indices import Indices
from reranker.proxy.page import complete
from reranker.proxy.rank import WindowRanker
from reranker.proxy.read import Skip, read_request
from reranker.proxy.search import Search, SearchRequest, Skipped
from reranker.proxy.translation import SearchTranslator
from reranker.proxy.write import write_answer
from reranker.query_dsl.field_types import FieldTypeCache
from reranker.ranking.explanation import PAIRS_PER_WORD
from reranker.service.engine import engine_access
from reranker.service.service import Service
from reranker.upstream.addresses import EngineAddress
from reranker.upstream.answers import Fetched
from reranker.upstream.calls import Deadline, EngineCalls, Fallback, Refused
from reranker.upstream.connections import Answer
from reranker.upstream.incoming import Incoming, end_to_end, without_parameters
from reranker.upstream.nodes import Upstream
from reranker.upstream.passing import Reply, compressed, own_reply, pass_on, send_on, streamed

STATUS_HEADER = "X-Rerank-Status"
REASON_HEADER = "X-Rerank-Reason"

_SEARCHES = frozenset(["_search", "_msearch"])
_MOST_OF_ERROR = 100_000  # bytes that are read of an engine's error
_SOURCE_PARAMETERS = ("source", "source_content_type")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProxyRanking:
    """What orders hits and translates queries: it needs embeddings."""

    figures: IndexFigures
    indices: Indices
    ranker: WindowRanker
    translator: SearchTranslator

    @classmethod
    def build(cls, service: Service) -> ProxyRanking:
        """Raises NoEmbeddings."""
        embeddings = service.embeddings
        store = service.store if service.settings.proxy_learn_weights else None
        figures = IndexFigures(store if isinstance(store, SampledStore) else None, embeddings)
        indices = Indices(service, figures)
        texts = HitTexts(embeddings, indices.is_ours, service.texts)
        return cls(figures, indices, WindowRanker(indices, texts), SearchTranslator(service, indices))


class Proxy:
    """The proxy in front of an engine; safe to share between threads.

    Args:
        memory: of how windows are asked for; a test may give one that keeps to whole windows.
    """

    def __init__(self, service: Service, address: EngineAddress, memory: WindowMemory | None = None) -> None:
        settings = service.settings
        self._memory = memory or WindowMemory()
        self._service = service
        self.upstream = Upstream(address, engine_access(settings), settings.proxy_timeout_s)
        self.breaker = CircuitBreaker(BREAKER_FAILURES, BREAKER_REST_S, on_opening=service.metrics.circuit_openings.inc)
        self._guard = Guard(settings.proxy_max_reranks, self.breaker)
        self._field_types = FieldTypeCache()

    @cached_property
    def ranking(self) -> ProxyRanking:
        """Made as soon as there are embeddings. If two threads make it at once, both serve and one is kept.

        Raises NoEmbeddings."""
        return ProxyRanking.build(self._service)

    def answer(self, incoming: Incoming) -> Reply:
        """The answer to any request for the engine."""
        if incoming.method in ("GET", "POST"):
            parts = incoming.path.rstrip("/").split("/")[1:]
            if len(parts) <= 2 and parts and parts[0] and parts[-1] in _SEARCHES:
                return self.search(incoming, is_multi=parts[-1] == "_msearch")
        self._service.metrics.passed.inc()
        return pass_on(self.upstream, incoming)

    def search(self, incoming: Incoming, is_multi: bool) -> Reply:
        """The answer to `_search` or `_msearch`."""
        settings, metrics = self._service.settings, self._service.metrics
        rest = incoming.read_search(settings.max_body_bytes)
        new_body: bytes | None = None
        try:
            if rest is not None:
                raise Skip("body_too_large")
            deadline = Deadline(time.monotonic() + settings.proxy_budget_ms / 1000)
            calls = EngineCalls(self.upstream, incoming, deadline, settings.proxy_max_answer_bytes)
            read = read_request(self._service, calls, self._field_types, is_multi)
            new_body, ranking = read.body_without_ours, self.ranking
            with self._guard.turn() as turn:
                started = time.perf_counter()
                prepare = partial(ranking.indices.prepare, read.searches)
                fetched = fetch(read, ranking.translator, self._memory, turn, prepare)
                answered = time.perf_counter()
                ranking.ranker.rank(read, read.searches, turn)
                fetched = self._complete(read, fetched, ranking.ranker, turn)
                rank_ms = (time.perf_counter() - answered) * 1000
                if is_multi:
                    fetch_refused(read)
                elif (search := read.searches[0]).status != "applied" and search.is_passed_on:
                    if search.status == "fallback":
                        raise Fallback(search.reason, search.message)
                    raise Skip(search.reason, new_body)
                body = write_answer(read, fetched, rank_ms)
                engine_ms = (answered - started + read.more_engine_s) * 1000
                rerank_ms = (time.perf_counter() - started) * 1000 - engine_ms
            metrics.engine_seconds.observe(engine_ms / 1000)
            headers = end_to_end(fetched.headers, "content-length", "content-encoding")
            reply = own_reply(incoming, "200 OK", headers, body)
            reply.headers.append(("Server-Timing", f"engine;dur={engine_ms:.1f}, rerank;dur={rerank_ms:.1f}"))
            return _marked(reply, *self._outcome(incoming, read.lines))
        except Skip as skip:
            return self._unranked(incoming, skip.status, skip.reason, skip.body, rest)
        except NotNow as not_now:
            return self._unranked(incoming, "fallback", not_now.reason, new_body)
        except Refused as refused:
            metrics.searches.labels("fallback", refused.reason).inc()
            # The engine was asked for the window without compression.
            return _marked(compressed(streamed(refused.response), incoming), "fallback", refused.reason)
        except Fallback as failed:
            _log_fallback(incoming, failed.reason, str(failed))
            return self._unranked(incoming, "fallback", failed.reason, new_body)
        except SinkrankError:
            raise  # a broken `ext.rerank`, or no engine
        except Exception as error:  # whatever it is, a search is worth more than its re-ranking
            _log_fallback(incoming, "rerank_failed", f"{type(error).__name__}: {error}")
            return self._unranked(incoming, "fallback", "rerank_failed", new_body)

    def explain(self, incoming: Incoming, doc_id: str, pairs_per_word: int = PAIRS_PER_WORD) -> ExplainAnswer:
        """Takes the score of one hit of a search apart. The search is run as `search` runs it.

        Args:
            incoming: the search (`Incoming.of_search`, of a body by `window_search`).

        Raises:
            NotFound, NotAllowed, BadInput, StoreUnavailable: the hit is not found, or cannot be explained.
        """
        settings = self._service.settings
        deadline = Deadline(time.monotonic() + settings.proxy_budget_ms / 1000)
        calls = EngineCalls(self.upstream, incoming, deadline, settings.proxy_max_answer_bytes)
        try:
            read, ranking = read_request(self._service, calls, self._field_types, is_multi=False), self.ranking
            with self._guard.turn() as turn:
                prepare = partial(ranking.indices.prepare, read.searches)
                fetch(read, ranking.translator, WindowMemory(kinds=()), turn, prepare)
                ranking.ranker.rank(read, read.searches, turn)
        except Skip as skip:
            raise not_reranked(skip.reason) from None
        except NotNow as not_now:
            raise Busy(f"too many searches are re-ranked, or re-ranking fails ({not_now.reason}); try again") from None
        except Refused as refused:
            raise refusal(refused.response.status, _error_of(refused.response)) from refused
        except Fallback as failed:
            if failed.reason == "engine_refused":
                raise BadInput(f"{failed}; send it as a search to see what is wrong with it") from failed
            raise StoreUnavailable(f"the search could not be re-ranked ({failed.reason}): {failed}") from failed
        return explain_hit(read.searches[0], doc_id, pairs_per_word)

    def _complete(self, read: SearchRequest, fetched: Fetched, ranker: WindowRanker, turn: Turn) -> Fetched:
        """Fetches the pages of bare windows, and does searches again whose bare windows were of no use.

        Raises:
            Fallback: the request's only search cannot be answered so.
        """
        started = time.perf_counter()
        complete(read)
        lost = [search for search in read.searches if search.is_lost]
        for search in lost:
            self._memory.lost(read.calls.incoming.caller, search.indices, search.known_share)
        failed = next((search for search in lost if search.status == "fallback"), None)
        if failed is not None and not read.is_multi:
            raise Fallback(failed.reason, failed.message)
        again = [search for search in lost if search.status != "fallback"]
        whole = fetch_whole(read, again) if again else None
        if whole is None:
            try_bare_windows(read, self._memory)
        read.more_engine_s = time.perf_counter() - started
        if whole is None:
            return fetched
        for search in again:
            search.status, search.ranking = "", None
        ranker.rank(read, again, turn)
        return fetched if read.is_multi else whole

    def _outcome(self, incoming: Incoming, lines: Sequence[Search | Skipped]) -> tuple[str, str]:
        """The status and reason of all searches together: of several how many went which way."""
        for line in lines:
            self._service.metrics.searches.labels(line.status, line.reason).inc()
            if line.status == "fallback":
                _log_fallback(incoming, line.reason, line.message)
        if len(lines) == 1:
            return lines[0].status, lines[0].reason
        statuses = {line.status for line in lines}
        reasons = Counter(line.reason or "applied" for line in lines)
        mixed = ", ".join(f"{reason}={n}" for reason, n in sorted(reasons.items()))
        status = next(status for status in ("applied", "fallback", "skipped") if status in statuses)
        return status, mixed if set(reasons) != {"applied"} else ""

    def _unranked(
        self,
        incoming: Incoming,
        status: str,
        reason: str,
        new_body: bytes | None,
        rest: Iterable[bytes] | None = None,
    ) -> Reply:
        """The engine's own answer; `new_body` stands in for the caller's, which our section had to be taken out of."""
        self._service.metrics.searches.labels(status, reason).inc()
        # An engine would refuse a parameter that it does not know; all else stays byte for byte.
        query_string = without_parameters(incoming.query_string, ("rerank",))
        headers = incoming.headers
        if new_body is not None:
            query_string = without_parameters(query_string, _SOURCE_PARAMETERS)
            headers = end_to_end(headers, "content-encoding")
            if incoming.content_type is None:  # it came as a parameter
                headers = [*headers, ("Content-Type", "application/json")]
        target = f"{incoming.path}?{query_string}" if query_string or incoming.has_query else incoming.path
        body = incoming.body if new_body is None else new_body
        if rest is not None:
            reply = send_on(self.upstream, incoming, target, headers, chain([body], rest), incoming.n_body_bytes)
        else:
            reply = send_on(self.upstream, incoming, target, headers, body or None, len(body) or None, is_safe=True)
        return _marked(reply, status, reason)


def _error_of(response: Answer) -> Any:
    """What an answer of the engine says is wrong."""
    with closing(response), suppress(OSError, HTTPException, ValueError, RecursionError):
        answer = json.loads(response.read(_MOST_OF_ERROR))
        return answer.get("error", answer) if isinstance(answer, dict) else answer
    return "no reason"


def _marked(reply: Reply, status: str, reason: str) -> Reply:
    ours = [(STATUS_HEADER, status), (REASON_HEADER, reason)]
    names = (STATUS_HEADER.lower(), REASON_HEADER.lower())
    reply.headers = [header for header in reply.headers if header[0].lower() not in names]
    reply.headers += ours if reason else ours[:1]
    return reply


def _log_fallback(incoming: Incoming, reason: str, message: str) -> None:
    # One line, whatever is in it.
    _log.warning("search %r is not re-ranked (%s): %s", incoming.path, reason, " ".join(message.split()))
