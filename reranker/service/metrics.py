"""Holds what the service counts and times, and writes it in the formats of Prometheus.

Every label has a small, fixed set of values; none comes from the text of a request. Where several processes serve
(`PROMETHEUS_MULTIPROC_DIR` names a folder) each keeps its numbers in a file there, and any of them answers for all.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

from reranker.ranking.query import Query
from reranker.ranking.ranked import Reranking

# Read by prometheus_client when it is imported: who wants several processes sets it before.
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

disable_created_metrics()  # type: ignore[no-untyped-call]  # when each series began: twice the lines, and nobody asks

_CIRCUIT_STATES = {"closed": 0, "half_open": 1, "open": 2}
STAGES = ("first_stage", "rerank", "engine")
CHECKED_PARTS = ("store", "embeddings")

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_CANDIDATES = (1, 10, 20, 50, 100, 200, 500, 1000)
_WORDS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)


class Metrics:
    """The instruments of one app; safe to share between threads. docs/operations.md says what each one means."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        if not is_multiprocess():
            ProcessCollector(registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"sinkrank_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"sinkrank_{name}", text, labels, buckets=buckets, registry=registry)

        self.requests = counter("http_requests", "Requests answered.", "route", "method", "status")
        self.request_seconds = histogram(
            "http_request_duration_seconds", "From a request's arrival to the start of its answer.", _SECONDS, "route"
        )
        self.requests_in_progress = Gauge(
            "sinkrank_http_requests_in_progress",
            "Requests in progress.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.stage_seconds = histogram("stage_duration_seconds", "Time of one stage of a search.", _SECONDS, "stage")
        self.rerankings = counter("rerankings", "Lists of candidates that were re-ranked.", "method")
        self.candidates = histogram("candidates", "Candidates of a re-ranking.", _CANDIDATES)
        self.solved = counter("solved_candidates", "Candidates whose transport was solved completely.")
        self.ranked = counter("ranked_candidates", "Candidates ranked.")
        self.iterations = counter("iterations", "Sinkhorn iterations of the ranked candidates.")
        self.converged = counter("converged_candidates", "Ranked candidates whose iteration converged.")
        self.wordless = counter("wordless_candidates", "Candidates without a known word.")
        self.query_words = histogram("query_words", "Distinct known words of a query.", _WORDS)
        self.unknown_words = counter("query_unknown_words", "Words of queries without an embedding.")
        self.searches = counter("proxy_searches", "Searches through the proxy.", "outcome", "reason")
        self.passed = counter("proxy_passed_requests", "Requests other than searches, passed to the engine.")
        self.cache_hits = counter("bag_cache_hits", "Texts whose bag of words was cached.")
        self.cache_misses = counter("bag_cache_misses", "Texts whose bag of words was not cached.")
        self.checked_blocks = counter("checked_blocks", "Blocks of files that were checked and are undamaged.", "part")
        self.damaged_parts = counter("damaged_parts", "Parts whose files are damaged.", "part")
        self.circuit_openings = counter("proxy_circuit_openings", "Times that failures paused re-ranking.")
        self.circuit_state = Gauge(
            "sinkrank_proxy_circuit_state",
            "0: re-ranking runs; 1: one search is tried; 2: re-ranking is paused.",
            registry=registry,
            multiprocess_mode="livemax",
        )
        self.first_stage_seconds, self.rerank_seconds, self.engine_seconds = map(self.stage_seconds.labels, STAGES)
        for part in CHECKED_PARTS:
            self.checked_blocks.labels(part)
            self.damaged_parts.labels(part)

    def observe_reranking(self, query: Query, reranking: Reranking, seconds: float) -> None:
        """Counts one re-ranking, of whichever route."""
        self.rerankings.labels(reranking.method).inc()
        self.rerank_seconds.observe(seconds)
        self.candidates.observe(reranking.n_candidates)
        self.ranked.inc(len(reranking.documents))
        self.solved.inc(reranking.n_solved)
        self.converged.inc(reranking.n_converged)
        self.iterations.inc(reranking.n_iterations)
        self.wordless.inc(reranking.n_without_known_word)
        self.query_words.observe(len(query.weighted))
        self.unknown_words.inc(len(query.unknown_words))

    def count_bags(self, n_hits: int, n_misses: int) -> None:
        """Counts one look-up in the cache of bags."""
        self.cache_hits.inc(n_hits)
        self.cache_misses.inc(n_misses)

    def note_circuit(self, state: str) -> None:
        """Takes a new state of the proxy's circuit breaker."""
        self.circuit_state.set(_CIRCUIT_STATES[state])
        if state == "open":
            self.circuit_openings.inc()

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """All numbers, of all processes where there are several, and their content type.

        Args:
            accept: the request's header, by which Prometheus chooses between its formats.
        """
        try:
            encode, content_type = choose_encoder(accept)
        except TypeError:  # it asks for a version that is no number
            encode, content_type = choose_encoder("")
        registry = self.registry
        if is_multiprocess():
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return encode(registry), content_type


def is_multiprocess() -> bool:
    """Whether the numbers of several processes are to add up."""
    return bool(os.environ.get(MULTIPROCESS_VARIABLE))
