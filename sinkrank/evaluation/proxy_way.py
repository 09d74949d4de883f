"""Runs judged queries through the proxy in this process, over any index: with the results of its callers, fallbacks
too."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ingest.progress import Progress, no_progress
from reranker.answers.explanation import ExplainAnswer
from reranker.base.errors import BadInput
from reranker.proxy import Proxy
from reranker.proxy.explain import refusal, window_search
from reranker.upstream.incoming import Incoming
from sinkrank.evaluation.comparison import N_HITS, Run, Way, measures_of
from sinkrank.evaluation.judgments import JudgedQuery
from sinkrank.evaluation.query_template import QueryTemplate

FIRST_STAGE = "engine"
"""Name of the first stage of a `Way` whose candidates are the hits of the caller's own query."""

_LEARNING_S = 60.0


class ProxyIndex:
    """An index that is asked through a proxy, as a caller asks it.

    Args:
        name: of the index.
        template: the query that stands for a text.
        headers: of the caller, with credentials.
    """

    def __init__(self, proxy: Proxy, name: str, template: QueryTemplate, headers: Mapping[str, str]) -> None:
        self.proxy = proxy
        self.name = name
        self.template = template
        self.headers = headers
        self._has_learned = False

    def learn(self, search: Callable[[], object]) -> None:
        """Learns by a search how rare the words of the index are, as a running service has; once."""
        if not self._has_learned:
            self._has_learned = True
            search()
            self.proxy.ranking.statistics.wait(_LEARNING_S)

    def ask(
        self, body: Mapping[str, Any], index: str | None = None, what: str = "the search", cure: str = "change it"
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The answer to a search, and its headers, with their names in lower case.

        Args:
            index: another one than `name`.
            what, cure: for the message of an error.

        Raises:
            SinkrankError: the engine or the proxy refuses the search.
        """
        incoming = Incoming.of_search(index or self.name, body, list(self.headers.items()))
        reply = self.proxy.search(incoming, is_multi=False)
        answer, status = json.loads(b"".join(reply.body)), int(reply.status[:3])
        if status != 200:
            raise refusal(status, answer.get("error", answer), what, cure)
        return answer, {name.lower(): value for name, value in reply.headers}

    def explain(self, body: Mapping[str, Any], doc_id: str) -> ExplainAnswer:
        """Raises SinkrankError: as `Proxy.explain`."""
        incoming = Incoming.of_search(self.name, window_search(body), list(self.headers.items()))
        return self.proxy.explain(incoming, doc_id)


def outcome_of(headers: Mapping[str, str]) -> str:
    """`applied`, or status and reason of a search that keeps the engine's order."""
    return " ".join(filter(None, (headers.get("x-rerank-status"), headers.get("x-rerank-reason"))))


class ProxySearches:
    """Runs ways to search through one proxy.

    Attributes:
        index: name of the index of the queries that name none.
        outcomes: number of searches with each outcome (`outcome_of`), by the name of the way.
    """

    first_stage = FIRST_STAGE

    def __init__(self, index: ProxyIndex) -> None:
        self.index = index.name
        self._index = index
        self.outcomes: dict[str, Counter[str]] = {}

    def run(self, way: Way, queries: Sequence[JudgedQuery], progress: Progress = no_progress) -> Run:
        """Runs every query in one way and measures the results. The method `none` is the engine's own order.

        Raises:
            BadInput: the engine or the proxy refuses the template, or a query names languages of documents.
            NotFound, StoreUnavailable: the index cannot be searched.
        """
        outcomes = self.outcomes.setdefault(way.name, Counter())
        if way.method != "none":
            self._index.learn(lambda: self._search(way, queries[0]))
        ranking = {}
        for done, query in enumerate(queries, start=1):
            ranking[query.query_id], outcome = self._search(way, query)
            outcomes[outcome] += 1
            progress(done, len(queries), f"searching by {way.name}")
        return Run(way, ranking, measures_of(queries, ranking))

    def _search(self, way: Way, query: JudgedQuery) -> tuple[tuple[str, ...], str]:
        if query.languages:
            raise BadInput(
                f"query {query.query_id!r} is for documents in {', '.join(query.languages)}, which only an index of "
                f"ours can choose; leave `languages` out and put a filter into the template"
            )
        what = f"the search of query {query.query_id!r}"
        body = self._index.template.search(query.text, _section(way, query)) | {"from": 0, "size": N_HITS}
        answer, headers = self._index.ask(body, query.index, what, "change the template")
        return tuple(dict.fromkeys(str(hit["_id"]) for hit in answer["hits"]["hits"])), outcome_of(headers)


def _section(way: Way, query: JudgedQuery) -> dict[str, Any]:
    """Of `ext.rerank`."""
    rerank: dict[str, Any] = {"method": way.method}
    if way.method == "none":
        return rerank
    rerank |= {"window_size": way.depth, "epsilon": way.parameters.epsilon}
    rerank["n_iterations"] = way.parameters.n_iterations
    if way.parameters.tau is not None:
        rerank["tau"] = way.parameters.tau
    if query.language is not None:
        rerank["language"] = query.language
    return rerank
