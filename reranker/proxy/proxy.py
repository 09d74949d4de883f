"""Answers the proxy's searches: read → fetch → rank → page → write.

Re-ranking that fails never fails a search: the engine's own answer is passed on, marked `X-Rerank-Status: fallback`,
counted, and logged in one line.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

from reranker.answers.explanation import ExplainAnswer
from reranker.base.errors import BadInput, Busy, SinkrankError, StoreUnavailable
from reranker.proxy.explain import explain_hit, not_reranked, refusal, with_document
from reranker.proxy.fetch import FetchedWindows, compare_kinds, fetch
from reranker.proxy.guard import BREAKER_FAILURES, BREAKER_REST_S, CircuitBreaker, Guard, Slot
from reranker.proxy.highlights import with_highlights
from reranker.proxy.hit_texts import HitTexts
from reranker.proxy.index_statistics import IndexStatistics, SampledStore
from reranker.proxy.indices import Indices
from reranker.proxy.interleave import Interleaver
from reranker.proxy.page import Page, fetch_pages
from reranker.proxy.rank import RankedWindow, WindowRanker
from reranker.proxy.read import Skip, check_not_off, may_have_section, read_request, without_sections
from reranker.proxy.search import Outcome, ProxyRequest
from reranker.proxy.translation import SearchTranslator
from reranker.proxy.window import AsItCame, Misfit, Window
from reranker.proxy.window_kinds import IDS_ONLY, WindowKinds
from reranker.proxy.write import write_answer
from reranker.query_dsl.field_types import FieldTypeCache
from reranker.service.engine import engine_access
from reranker.service.service import Service
from reranker.upstream.addresses import EngineAddress
from reranker.upstream.answers import Fetched
from reranker.upstream.calls import Deadline, EngineCalls, Fallback, Refused
from reranker.upstream.connections import Headers
from reranker.upstream.incoming import Incoming, end_to_end, without_parameters
from reranker.upstream.nodes import Upstream
from reranker.upstream.passing import Reply, own_reply, pass_on, streamed

STATUS_HEADER = "X-Rerank-Status"
REASON_HEADER = "X-Rerank-Reason"
SEARCH_ID_HEADER = "X-Rerank-Search-Id"
TEAMS_HEADER = "X-Rerank-Teams"

_SEARCHES = frozenset(["_search", "_msearch"])

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProxyRanking:
    """What orders hits and translates queries: it needs embeddings."""

    statistics: IndexStatistics
    ranker: WindowRanker
    translator: SearchTranslator

    @classmethod
    def build(cls, service: Service) -> ProxyRanking:
        """Raises NoEmbeddings."""
        embeddings = service.embeddings
        store = service.store if service.settings.proxy_learn_weights else None
        statistics = IndexStatistics(store if isinstance(store, SampledStore) else None, embeddings)
        indices = Indices(service, statistics)
        texts = HitTexts(embeddings, indices.is_ours, service.texts)
        return cls(statistics, WindowRanker(indices, texts), SearchTranslator(service, indices))


@dataclass(frozen=True, slots=True)
class Answered:
    """What the answer to a request is written from.

    Attributes:
        base: the engine's answer, in whose text the lines are written.
        engine_s: how long the engine took for all.
    """

    base: Fetched
    lines: Sequence[Page | AsItCame]
    engine_s: float


class Proxy:
    """The proxy in front of an engine; safe to share between threads.

    Args:
        kinds: which kind of window serves; a test may give one that keeps to whole windows.
        shadow: takes each search whose answer stays the engine's own, to rank it elsewhere (`reranker.proxy.shadow`);
            None where searches are re-ranked.
        interleaver: mixes our order with the engine's; None where ours counts alone.
    """

    def __init__(
        self,
        service: Service,
        address: EngineAddress,
        kinds: WindowKinds | None = None,
        shadow: Callable[[Incoming], None] | None = None,
        interleaver: Interleaver | None = None,
    ) -> None:
        settings = service.settings
        self._interleaver = interleaver
        self._shadow = shadow
        self._kinds = kinds or WindowKinds()
        self._service = service
        self.upstream = Upstream(address, engine_access(settings), settings.proxy_timeout_s)
        self.breaker = CircuitBreaker(BREAKER_FAILURES, BREAKER_REST_S, on_state=service.metrics.note_circuit)
        self._guard = Guard(settings.workers, self.breaker)
        self._field_types = FieldTypeCache()

    @cached_property
    def ranking(self) -> ProxyRanking:
        """Made as soon as there are embeddings. If two threads make it at once, both serve and one stays.

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
        metrics = self._service.metrics
        rest = incoming.read_search(self._service.settings.max_body_bytes)
        if rest is not None:
            return self._unranked(incoming, is_multi, "skipped", "body_too_large", rest)
        try:
            check_not_off(incoming)
            if self._shadow is not None:
                return self._in_shadow(incoming, is_multi, self._shadow)
            request = self._read(incoming, is_multi)
            with self._guard.slot() as slot:
                started = time.perf_counter()
                answered = self._rerank(request, slot)
                added_s = time.perf_counter() - started - answered.base.took_s
                body = write_answer(request, answered.base, answered.lines, added_s * 1000)
                rerank_s = time.perf_counter() - started - answered.engine_s
            metrics.engine_seconds.observe(answered.engine_s)
            reply = own_reply(incoming, answered.base.headers, body)
            durations = f"engine;dur={answered.engine_s * 1000:.1f}, rerank;dur={rerank_s * 1000:.1f}"
            reply.headers.append(("Server-Timing", durations))
            if self._interleaver is not None:
                self._interleaver.record(answered.lines)
                reply.headers += _teams_of(answered.lines)
            return _marked(reply, *self._outcome(incoming, [line.outcome for line in answered.lines]))
        except Skip as skip:
            return self._unranked(incoming, is_multi, skip.status, skip.reason)
        except Refused as refused:
            metrics.searches.labels("fallback", refused.reason).inc()
            answer = refused.response
            reply = own_reply(incoming, answer.headers, answer.body, answer.status_line)
            return _marked(reply, "fallback", refused.reason)
        except Fallback as failed:
            return self._failed_open(incoming, is_multi, failed)
        except SinkrankError:
            raise  # a broken `ext.rerank`, or no engine
        except Exception as error:  # whatever it is, a search is worth more than its re-ranking
            why = Fallback("rerank_failed", f"{type(error).__name__}: {error}")
            return self._failed_open(incoming, is_multi, why)

    def rank(self, incoming: Incoming, is_multi: bool) -> Answered:
        """What `search` would write its answer from, of a search whose body is read.

        Raises:
            Skip, Fallback, SinkrankError: it would not be re-ranked.
        """
        request = self._read(incoming, is_multi)
        with self._guard.slot() as slot:
            return self._rerank(request, slot)

    def explain(self, incoming: Incoming, doc_id: str) -> ExplainAnswer:
        """Takes the score of one hit of a search apart. The search is run as `search` runs it.

        Args:
            incoming: the search (`Incoming.of_search`, of a body by `window_search`).

        Raises:
            NotFound, NotAllowed, BadInput, StoreUnavailable: the hit is not found, or cannot be explained.
        """
        try:
            request = self._read(incoming, is_multi=False)
            with self._guard.slot() as slot:
                _, (ranked,) = self._rank(request, [None], slot)
                found = with_document(request, ranked, doc_id, self.ranking.ranker)
        except Skip as skip:
            raise not_reranked(skip.reason) from None
        except Refused as refused:
            raise refusal(refused.response.status, _error_of(refused.response.body)) from refused
        except Fallback as failed:
            if failed.reason in ("busy", "breaker_open"):
                raise Busy(f"too many searches are re-ranked, or they fail ({failed.reason}); try again") from failed
            if failed.reason == "engine_refused":
                raise BadInput(f"{failed}; send it as a search to see what is wrong with it") from failed
            raise StoreUnavailable(f"the search could not be re-ranked ({failed.reason}): {failed}") from failed
        return explain_hit(found)

    def _in_shadow(self, incoming: Incoming, is_multi: bool, shadow: Callable[[Incoming], None]) -> Reply:
        """The engine's own answer to a search, which `shadow` takes.

        Raises:
            BadInput: as `read_request`, of a search that may have a section of ours.
        """
        if may_have_section(incoming):  # other searches are read by the process that ranks them
            with suppress(Skip):
                self._read(incoming, is_multi)
        reply = self._unranked(incoming, is_multi, "skipped", "shadow")
        shadow(incoming)
        return reply

    def _read(self, incoming: Incoming, is_multi: bool) -> ProxyRequest:
        """Raises Skip and BadInput as `read_request`."""
        deadline = Deadline(time.monotonic() + self._service.settings.proxy_budget_ms / 1000)
        calls = EngineCalls(self.upstream, incoming, deadline)
        return read_request(self._service, calls, self._field_types, is_multi)

    def _rerank(self, request: ProxyRequest, slot: Slot) -> Answered:
        """The pages of a request's searches. Where an ids-only window does not fit, all is done again with whole
        ones."""
        caller = request.calls.incoming.caller
        kinds = [self._kinds.kind_for(one.window_plan, caller, one.indices, one.query.text) for one in request.searches]
        try:
            return self._pages(request, kinds, slot)
        except Misfit as misfit:
            for search in misfit.searches:
                self._kinds.failed(caller, search.indices)
            self.ranking.ranker.texts.forget()  # an index that was made anew has other documents by the same numbers
        return self._pages(request, [None] * len(kinds), slot)

    def _pages(self, request: ProxyRequest, kinds: Sequence[str | None], slot: Slot) -> Answered:
        found, ranked = self._rank(request, kinds, slot)
        if self._interleaver is not None:
            ranked = self._interleaver.interleave(request, ranked)
        fetched, engine_s = fetch_pages(request, ranked, self.ranking.ranker.texts)
        self._learn_kinds(request, ranked)
        pages = iter(with_highlights(request, fetched, slot))
        lines = [next(pages) if isinstance(line, Window) else line for line in found.lines]
        return Answered(found.base, lines, found.engine_s + engine_s)

    def _rank(
        self, request: ProxyRequest, kinds: Sequence[str | None], slot: Slot
    ) -> tuple[FetchedWindows, list[RankedWindow]]:
        """The windows of a request's searches, and the same in their new order."""
        found = fetch(request, kinds, self.ranking.translator, slot)
        return found, self.ranking.ranker.rank(request, found.windows, slot)

    def _learn_kinds(self, request: ProxyRequest, ranked: Sequence[RankedWindow]) -> None:
        """Learns which ids-only windows serve the searches whose windows were larger than the page."""
        caller, texts = request.calls.incoming.caller, self.ranking.ranker.texts
        larger = [one for one in ranked if len(one.window.hits) > one.window.search.page.size]
        for kind in IDS_ONLY:
            whole = [one.window for one in larger if one.window.kind is None]
            compare_kinds(request, whole, kind, self._kinds, texts.has_bags)
        for one in larger:
            if one.collected is not None:
                search, cached_share = one.window.search, one.collected.n_cached / len(one.collected.bags)
                self._kinds.is_answered(caller, search.indices, search.query.text, cached_share)

    def _outcome(self, incoming: Incoming, outcomes: Sequence[Outcome]) -> tuple[str, str]:
        """The status and reason of all searches together: of several how many went which way."""
        for status, reason, message in outcomes:
            self._service.metrics.searches.labels(status, reason).inc()
            if status == "fallback":
                _log_fallback(incoming, reason, message)
        if len(outcomes) == 1:
            return outcomes[0].status, outcomes[0].reason
        statuses = {outcome.status for outcome in outcomes}
        reasons = Counter(outcome.reason or "applied" for outcome in outcomes)
        mixed = ", ".join(f"{reason}={n}" for reason, n in sorted(reasons.items()))
        status = next(status for status in ("applied", "fallback", "skipped") if status in statuses)
        return status, mixed if set(reasons) != {"applied"} else ""

    def _failed_open(self, incoming: Incoming, is_multi: bool, failed: Fallback) -> Reply:
        """The engine's own answer to a search that could not be re-ranked."""
        _log_fallback(incoming, failed.reason, str(failed))
        return self._unranked(incoming, is_multi, "fallback", failed.reason)

    def _unranked(
        self, incoming: Incoming, is_multi: bool, status: str, reason: str, rest: Iterable[bytes] | None = None
    ) -> Reply:
        """The engine's own answer to a search without our sections.

        Args:
            rest: as of `Incoming.read_search`.
        """
        self._service.metrics.searches.labels(status, reason).inc()
        # An engine would refuse a parameter that it does not know; all else stays byte for byte.
        query_string = without_parameters(incoming.query_string, ("rerank",))
        target = f"{incoming.path}?{query_string}" if query_string or incoming.has_query else incoming.path
        send = partial(self.upstream.send, incoming.method, target)
        headers, body = incoming.headers, incoming.body
        if rest is not None:
            return _marked(streamed(send(headers, chain([body], rest), incoming.n_body_bytes)), status, reason)
        new_body = without_sections(self._service, incoming, is_multi)
        if new_body is None:
            answer = send(headers, body or None, len(body) or None, is_safe=True)
        else:
            answer = send(end_to_end(headers, "content-encoding"), new_body, len(new_body), is_safe=True)
            if answer.status == 500:
                # The engine's own `rerank` processor reads the same section as we, and fails without it.
                with suppress(StoreUnavailable):
                    as_it_came = send(headers, body, len(body), is_safe=True)
                    if as_it_came.status == 200:
                        answer, as_it_came = as_it_came, answer
                    as_it_came.close()
        return _marked(streamed(answer), status, reason)


def _teams_of(lines: Sequence[Page | AsItCame]) -> Headers:
    """For the headers: which order each hit of an interleaved page came from. A multi-search says it in its body."""
    if len(lines) != 1 or isinstance(lines[0], AsItCame) or (teams := lines[0].ranked.teams) is None:
        return []
    return [(SEARCH_ID_HEADER, teams.search_id), (TEAMS_HEADER, ",".join(lines[0].teams))]


def _error_of(body: bytes) -> Any:
    """What an answer of the engine says is wrong."""
    with suppress(ValueError, RecursionError):
        answer = json.loads(body)
        return answer.get("error", answer) if isinstance(answer, dict) else answer
    return "no reason"


def _marked(reply: Reply, status: str, reason: str) -> Reply:
    ours = [(STATUS_HEADER, status), (REASON_HEADER, reason)]
    names = (STATUS_HEADER.lower(), REASON_HEADER.lower())
    reply.headers = [header for header in reply.headers if header[0].lower() not in names]
    reply.headers += ours if reason else ours[:1]
    return reply


def _log_fallback(incoming: Incoming, reason: str, message: str) -> None:
    if message:
        _log.warning("search %r is not re-ranked (%s): %s", incoming.path, reason, message)
