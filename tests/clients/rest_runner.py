"""Runs one of the engines' REST tests at an address, and removes what it leaves behind.

A runner needs a node of its own: it removes all indices of it. A run ends at the first step that fails, as in the
engines' own runner.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import urllib3

from tests.clients.recording import Exchange, send_recorded
from tests.clients.rest_steps import Steps
from tests.clients.rest_suite import RestSuite, RestTest
from tests.support.engines.nodes import Node

# Paths that show that a test leaves more than indices behind, and how it is removed.
_LEFT_OVER = {
    "/_template": ["/_template/*"],
    "_index_template": ["/_index_template/*"],
    "_component_template": ["/_index_template/*", "/_component_template/*"],
    "_data_stream": ["/_data_stream/*", "/_index_template/*"],
    "_ingest/pipeline": ["/_ingest/pipeline/*"],
    "_search/pipeline": ["/_search/pipeline/*"],
    "_search/point_in_time": ["/_search/point_in_time/_all"],
    "scroll": ["/_search/scroll/_all"],
}
_INDICES = "/*?expand_wildcards=open,closed,hidden&ignore_unavailable=true"
_OF_A_FORM = ("content-type", "accept")
_LIMIT_S = 60


@dataclass(frozen=True)
class Run:
    """How a test went.

    Attributes:
        outcome: `passed`, `skipped`, or the number and kind of the step that failed.
        detail: why, for people.
        exchanges: its requests and their answers.
    """

    outcome: str
    detail: str
    exchanges: list[Exchange] = field(repr=False)


class RestRunner:
    """Runs tests of a suite at `url`.

    Args:
        node: the engine itself; what is left is removed there.
        media_version: asks for that version of the API in each request (Elasticsearch's `compatible-with`).
        rerank_text: has every search with a body re-ranked by it, whatever the search asks for.
    """

    def __init__(
        self,
        http: urllib3.PoolManager,
        suite: RestSuite,
        url: str,
        node: Node,
        media_version: int | None,
        rerank_text: str | None = None,
    ) -> None:
        self._http = http
        self._suite = suite
        self._url = url
        self._node = node
        self._media_version = media_version
        self._rerank_text = rerank_text

    def run(self, test: RestTest) -> Run:
        steps = Steps(self._node.distribution, self._node.version, self._suite.apis, self._send)
        try:
            outcome, detail = steps.run([*test.setup, *test.steps])
            if outcome != "skipped":
                steps.run(test.teardown)
        finally:
            self._clean([exchange.target for exchange in steps.exchanges])
        return Run(outcome, detail, steps.exchanges)

    def _send(self, method: str, target: str, body: bytes | None, headers: dict[str, str], is_lines: bool) -> Exchange:
        sent = {}
        if body is not None:
            sent["Content-Type"] = f"application/{'x-ndjson' if is_lines else 'json'}"
        if self._media_version and not target.startswith("/_cat"):
            sent["Accept"] = "application/json"  # the engine wants the version in both headers or in none
        sent |= headers
        if self._media_version:
            sent = {name: self._versioned(name, value) for name, value in sent.items()}
        exchange = send_recorded(self._http, self._url, method, target, self._for_proxy(target, body), sent, _LIMIT_S)
        return replace(exchange, sent=body or b"")

    def _for_proxy(self, target: str, body: bytes | None) -> bytes | None:
        """The body with our section, which the proxy takes out again."""
        path = target.partition("?")[0]
        if self._rerank_text is None or body is None or not path.endswith(("/_search", "/_msearch")):
            return body
        section = b'"ext":%s' % json.dumps({"rerank": {"query_context": {"query_text": self._rerank_text}}}).encode()
        lines = body.split(b"\n") if path.endswith("/_msearch") else [b"", body]
        searches = [_with(section, line) if number % 2 else line for number, line in enumerate(lines)]
        return b"\n".join(searches) if path.endswith("/_msearch") else searches[1]

    def _versioned(self, name: str, value: str) -> str:
        family, _, form = value.partition("/")
        if name.lower() not in _OF_A_FORM or family != "application":
            return value
        return f"application/vnd.elasticsearch+{form};compatible-with={self._media_version}"

    def _clean(self, targets: list[str]) -> None:
        if not targets:
            return
        for sign, paths in _LEFT_OVER.items():
            if any(sign in target for target in targets):
                for path in paths:
                    self._ask("DELETE", path)
        if any("_snapshot" in target for target in targets):
            self._clean_repositories()
        self._ask("DELETE", _INDICES)
        if any("_cluster/settings" in target for target in targets):
            nothing = {"persistent": {"*": None}, "transient": {"*": None}}
            self._http.request("PUT", f"{self._node.url}/_cluster/settings", json=nothing)

    def _clean_repositories(self) -> None:
        for name in self._ask("GET", "/_snapshot/_all").json():
            found = self._ask("GET", f"/_snapshot/{name}/_all").json()
            for snapshot in found.get("snapshots", []):
                self._ask("DELETE", f"/_snapshot/{name}/{snapshot['snapshot']}")
            self._ask("DELETE", f"/_snapshot/{name}")

    def _ask(self, method: str, path: str) -> urllib3.BaseHTTPResponse:
        return self._http.request(method, f"{self._node.url}{path}", timeout=_LIMIT_S)


def _with(section: bytes, search: bytes) -> bytes:
    """An object with a section before all others; what is no object stays."""
    start = search.find(b"{") + 1
    if not start or b'"ext"' in search:
        return search
    is_empty = search[start:].lstrip()[:1] == b"}"
    return search[:start] + section + (b"" if is_empty else b",") + search[start:]
