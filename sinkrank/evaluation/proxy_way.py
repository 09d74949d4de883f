"""Runs judged queries through the proxy, over any index, by the routes of the service in this process. The results are
those that callers of the proxy get, including fallbacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from flask import Flask
from werkzeug.test import TestResponse

from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput, SinkrankError
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.proxy.explain import refusal
from sinkrank.evaluation.comparison import Run, Way, measures_of
from sinkrank.evaluation.judgments import JudgedQuery
from sinkrank.evaluation.query_template import QueryTemplate

FIRST_STAGE = "engine"
"""Name of the first stage of a `Way` whose candidates are the hits of the caller's own query."""

# The number of hits that `R@100` needs.
_N_HITS = 100
_LEARNING_S = 60.0


class ProxySearches:
    """Runs ways to search through one app.

    Attributes:
        outcomes: number of searches with each outcome, by the name of the way: `applied`, or status and reason.
    """

    def __init__(self, app: Flask, template: QueryTemplate, index: str, headers: Mapping[str, str]) -> None:
        """
        Args:
            app: a service in front of an engine.
            index: default index of queries.
            headers: headers of the caller, with credentials.
        """
        self._client = app.test_client()
        self._proxy: Proxy = app.extensions[PROXY_EXTENSION]
        self._template = template
        self._index = index
        self._headers = {**headers, "Content-Type": "application/json"}
        self._has_learned = False
        self.outcomes: dict[str, Counter[str]] = {}

    def run(self, way: Way, queries: Sequence[JudgedQuery], progress: Progress = no_progress) -> Run:
        """Runs every query in one way and measures the results. The method `none` is the engine's own order.

        Raises:
            BadInput: the engine or the proxy refuses the template, or a query names languages of documents.
            NotFound, StoreUnavailable: the index cannot be searched.
        """
        outcomes = self.outcomes.setdefault(way.name, Counter())
        if way.method != "none" and not self._has_learned:
            # A running service has already learned the index's word frequencies.
            self._search(way, queries[0])
            self._proxy.ranking.figures.wait(_LEARNING_S)
            self._has_learned = True
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
        path = f"/{quote(query.index or self._index, safe='')}/_search"
        if way.method == "none":
            path += "?rerank=false"
        data = json.dumps(self._body(way, query)).encode()
        response = self._client.post(path, data=data, headers=self._headers)
        if response.status_code != 200:
            raise _error(response, query)
        hits = response.get_json()["hits"]["hits"]
        outcome = [response.headers.get(name, "") for name in ("X-Rerank-Status", "X-Rerank-Reason")]
        return tuple(dict.fromkeys(str(hit["_id"]) for hit in hits)), " ".join(filter(None, outcome))

    def _body(self, way: Way, query: JudgedQuery) -> dict[str, Any]:
        rerank: dict[str, Any] | None = None
        if way.method != "none":
            rerank = {"method": way.method, "window_size": way.depth, "epsilon": way.parameters.epsilon}
            rerank["n_iterations"] = way.parameters.n_iterations
            if way.parameters.tau is not None:
                rerank["tau"] = way.parameters.tau
            if query.language is not None:
                rerank["language"] = query.language
        return self._template.search(query.text, rerank) | {"from": 0, "size": _N_HITS}


def _error(response: TestResponse, query: JudgedQuery) -> SinkrankError:
    answer = response.get_json(silent=True)
    details = answer.get("error", answer.get("detail")) if isinstance(answer, dict) else None
    what = f"the search of query {query.query_id!r}"
    return refusal(response.status_code, details or response.status, what, "change the template")
