"""Answers the proxy's searches: re-ranked where that can be, else the engine's own answer, marked with the reason."""

from __future__ import annotations

import gzip
import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from flask import Response, request
from werkzeug.datastructures import Headers as HeaderList

from reranker.base.errors import NoEmbeddings, SinkrankError
from reranker.proxy.counters import Counters
from reranker.proxy.document_key import caller_key
from reranker.proxy.guard import Guard, NotNow
from reranker.proxy.index_figures import IndexFigures
from reranker.proxy.multi_search import MultiSearchRunner
from reranker.proxy.multi_search_lines import read_multi_search
from reranker.proxy.query.field_types import CallerMappings, FieldTypeCache
from reranker.proxy.rules import Skip, speaks_json
from reranker.proxy.search import Answer, SearchRunner
from reranker.proxy.search_body import read_body
from reranker.proxy.search_request import read_search
from reranker.proxy.translation import SearchTranslator
from reranker.proxy.upstream.calls import Deadline, EngineCalls, Fallback, Incoming, Refused
from reranker.proxy.upstream.nodes import Upstream
from reranker.proxy.upstream.passing import (
    compressed,
    raw_target,
    read_ahead,
    read_parameters,
    request_headers,
    send_on,
    streamed,
    without_headers,
    without_parameters,
)
from reranker.proxy.window_ranking import Outcome, WindowRanker
from reranker.service.late import Late
from reranker.service.service import Service

STATUS_HEADER = "X-Rerank-Status"
REASON_HEADER = "X-Rerank-Reason"

_SOURCE_PARAMETERS = ("source", "source_content_type")
# The engines' own level; below this length it would save nothing.
_GZIP_LEVEL = 3
_LEAST_GZIPPED_BYTES = 1_400

_log = logging.getLogger(__name__)

# From a decoded body to how its answer is found, and the body to pass on where that fails (None for that which came).
Reading = tuple[Callable[[], Answer], bytes | None]


@dataclass(frozen=True, slots=True)
class ProxyRanking:
    """What orders hits and translates queries: it needs embeddings."""

    figures: IndexFigures
    ranker: WindowRanker
    translator: SearchTranslator


@dataclass(frozen=True, slots=True)
class Searches:
    """What answers searches; safe to share between threads."""

    service: Service
    upstream: Upstream
    _ranking: Late[ProxyRanking]
    guard: Guard
    counters: Counters
    field_types: FieldTypeCache

    @property
    def ranking(self) -> ProxyRanking:
        """Raises NoEmbeddings."""
        ranking = self._ranking.get()
        if ranking is None:
            raise NoEmbeddings(self.service.no_embeddings())
        return ranking

    @property
    def ranker(self) -> WindowRanker:
        """A test may put another into it."""
        return self.ranking.ranker

    def search(self, raw_path: str, query_string: str) -> Response:
        """`_search`."""
        parameters = read_parameters(query_string)
        # The whole body as a parameter; the engines read it where there is no other.
        source = parameters.get("source")
        kind = parameters.get("source_content_type")

        def read(incoming: Incoming, body: bytes) -> Reading:
            if source is not None and not body.strip():
                _check_json(kind, incoming)
                body = source.encode("utf-8", "surrogatepass")
                incoming = replace(incoming, headers=without_headers(incoming.headers, "content-type"))
            calls = self._calls(incoming)
            types = self._mappings(incoming, calls).searched_by(incoming.path)
            search = read_search(self.service, parameters, read_body(body), types)
            runner = SearchRunner(self.ranker, self.ranking.translator, self.guard)
            return lambda: runner.run(incoming, search, calls), search.body_without_ours

        return self._answer(raw_path, query_string, read)

    def multi_search(self, raw_path: str, query_string: str) -> Response:
        """`_msearch`."""

        def read(incoming: Incoming, body: bytes) -> Reading:
            calls = self._calls(incoming)
            multi = read_multi_search(self.service, query_string, body, self._mappings(incoming, calls), raw_path)
            ranking, settings = self.ranking, self.service.settings
            runner = MultiSearchRunner(self.upstream, ranking.ranker, ranking.translator, self.guard, settings)
            return lambda: runner.run(incoming, multi, calls), multi.body_without_ours

        return self._answer(raw_path, query_string, read)

    def _calls(self, incoming: Incoming) -> EngineCalls:
        """Those of one request, whose time begins now."""
        settings = self.service.settings
        deadline = Deadline(settings.proxy_budget_ms / 1000)
        return EngineCalls(self.upstream, incoming, deadline, settings.proxy_max_answer_bytes)

    def _mappings(self, incoming: Incoming, calls: EngineCalls) -> CallerMappings:
        return CallerMappings(self.field_types, calls, caller_key(incoming.headers), incoming.query_string)

    def _answer(self, raw_path: str, query_string: str, read: Callable[[Incoming, bytes], Reading]) -> Response:
        limit = self.service.settings.max_body_bytes
        start, rest = read_ahead(limit)
        headers = request_headers(request.headers.items())
        incoming = Incoming(request.method, raw_path, query_string, headers, start)
        new_body: bytes | None = None
        try:
            if rest is not None:
                raise Skip("body_too_large")
            _check_json(incoming.header("content-type"), incoming)
            run, new_body = read(incoming, decoded(start, limit))
            return self._ranked(run())
        except Skip as skip:
            return self._unranked(incoming, skip.status, skip.reason, skip.body, rest)
        except NotNow as not_now:
            return self._unranked(incoming, "fallback", not_now.reason, new_body)
        except Refused as refused:
            self._count([Outcome(None, refused.reason)])
            # The engine was asked for the window without compression, and compresses an error of any length.
            takes_gzip = request.accept_encodings["gzip"]
            answer = compressed(refused.response, _GZIP_LEVEL) if takes_gzip else streamed(refused.response)
            return _marked(answer, "fallback", refused.reason)
        except Fallback as failed:
            self._log(raw_path, failed.reason, str(failed))
            return self._unranked(incoming, "fallback", failed.reason, new_body)
        except SinkrankError:
            raise  # a broken `ext.rerank`, or no engine
        except Exception as error:  # whatever it is, a search is worth more than its re-ranking
            self._log(raw_path, "rerank_failed", f"{type(error).__name__}: {error}")
            return self._unranked(incoming, "fallback", "rerank_failed", new_body)

    def _ranked(self, answer: Answer) -> Response:
        self._count(answer.outcomes)
        self.service.metrics.stage_seconds.labels("engine").observe(answer.engine_ms / 1000)
        for outcome in answer.outcomes:
            if outcome.status == "fallback":
                self._log(request.path, outcome.reason, outcome.message)
        response = Response(b"")
        response.headers = HeaderList(without_headers(answer.headers, "content-length", "content-encoding"))
        response.set_data(_encoded(answer.body, response))
        statuses = {outcome.status for outcome in answer.outcomes}
        status = next(status for status in ("applied", "fallback", "skipped") if status in statuses)
        reasons = Counter(outcome.reason or "applied" for outcome in answer.outcomes)
        # Of several searches how many went which way.
        mixed = ", ".join(f"{reason}={n}" for reason, n in sorted(reasons.items()))
        reason = (
            answer.outcomes[0].reason if len(answer.outcomes) == 1 else mixed if set(reasons) != {"applied"} else ""
        )
        response.headers.add("Server-Timing", f"engine;dur={answer.engine_ms:.1f}, rerank;dur={answer.rerank_ms:.1f}")
        return _marked(response, status, reason)

    def _unranked(
        self,
        incoming: Incoming,
        status: str,
        reason: str,
        new_body: bytes | None,
        rest: Iterable[bytes] | None = None,
    ) -> Response:
        """The engine's own answer; `new_body` stands in for the caller's, which our section had to be taken out of."""
        self.counters.add_search(status, reason)
        # An engine would refuse a parameter that it does not know; all else stays byte for byte.
        query_string = without_parameters(incoming.query_string, ("rerank",))
        headers = incoming.headers
        if new_body is not None:
            query_string = without_parameters(query_string, _SOURCE_PARAMETERS)
            headers = without_headers(headers, "content-encoding")
            if incoming.header("content-type") is None:
                headers = [*headers, ("Content-Type", "application/json")]
        was_asked = "?" in raw_target(request.environ)
        target = f"{incoming.path}?{query_string}" if query_string or was_asked else incoming.path
        body = incoming.body if new_body is None else new_body
        if rest is not None:
            response = send_on(self.upstream, target, headers, chain([body], rest), request.content_length)
        else:
            response = send_on(self.upstream, target, headers, body or None, len(body) or None, is_safe=True)
        return _marked(response, status, reason)

    def _count(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            self.counters.add_search(outcome.status, outcome.reason)

    def _log(self, path: str, reason: str, message: str) -> None:
        # One line, whatever is in it.
        _log.warning("search %r is not re-ranked (%s): %s", path, reason, " ".join(message.split()))


def _check_json(content_type: str | None, incoming: Incoming) -> None:
    """Raises Skip where request or answer are in another form than JSON."""
    if not speaks_json(content_type, incoming.header("accept")):
        raise Skip("not_json")


def _encoded(body: bytes, response: Response) -> bytes:
    """The body as the caller takes it, compressed as the engine would have."""
    if len(body) < _LEAST_GZIPPED_BYTES or not request.accept_encodings["gzip"]:
        return body
    response.headers["Content-Encoding"] = "gzip"
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)


def _marked(response: Response, status: str, reason: str) -> Response:
    response.headers[STATUS_HEADER] = status
    if reason:
        response.headers[REASON_HEADER] = reason
    return response


def decoded(body: bytes, limit: int) -> bytes:
    """The body without its compression.

    Raises:
        Skip: it is compressed in a way that we cannot read, or larger than the limit.
    """
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise Skip("body_encoding")
    try:
        plain = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(body, limit + 1)
    except zlib.error:
        raise Skip("body_encoding") from None  # the engine says what is wrong with it
    if len(plain) > limit:
        raise Skip("body_too_large")
    return plain
