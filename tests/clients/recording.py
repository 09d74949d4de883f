"""What went over the wire between a client and an address, in a form in which two runs can be compared.

Two runs are the same if they made the same requests and each was answered by the same status, headers and body, except:

- values that tell the time, a duration or a count of the node's own work: keys of `_VOLATILE`, what looks like a date,
  and all numbers in a `profile` and where the path asks for measurements (`_MEASURING`);
- ids that an engine draws by chance: of scrolls, points in time, tasks, nodes, and 20 to 22 letters long;
- what a request took of the node, which OpenSearch says in a header;
- `Content-Length`, which follows from those, and headers of the connection;
- headers that the proxy adds, which are those of `ADDED_HEADERS`;
- of a re-ranked answer the order of the hits, their scores and highlights, and which of them are on a page that does
  not hold all;
- the profile of an answer from a window, which is of the search for the window.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import regex
import urllib3

ADDED_HEADERS = frozenset(["x-rerank-status", "x-rerank-reason", "server-timing"])
# Of the connection, or of the server that ends it.
_OF_THE_CONNECTION = frozenset(
    ["connection", "content-length", "date", "keep-alive", "server", "transfer-encoding", "via"]
)
# Of a hit: words that match by meaning are marked too.
_OF_RANKING = frozenset(["_score", "highlight"])
# By it OpenSearch says what a search took of the node.
_MEASURED = "task_resource_usage"
_VOLATILE = regex.compile(
    r"took|ingest_took|_?scroll_id|pit_id|uuid|.*_uuid|commit|_seq_no|_primary_term|index-graveyard|translog.*"
    r"|size_in_bytes|creation_(date|time)|.*(_in_millis|_in_nanos|_time|_nanos|_date|timestamp)|epoch|uptime|(start|stop)_time.*"
    r"|tasks?|nodes?|number_of_pending_tasks|task_max_waiting_in_queue_millis|load.*|os|process|jvm|fs"
)
_MEASURING = regex.compile(r"/_(cat|nodes|tasks)|/_stats|/_segments|/_recovery|/_cluster/(stats|state|reroute)")
_DRAWN = regex.compile(
    r"[\w-]{20,22}(:|%3A)\d+|(?<![\w-])(?=[a-z_]*[A-Z\d-])[\w-]{20,22}(?=$|[\s\"'/?&:,\]])|[A-Za-z0-9_\-=]{50,}"  # ids
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z?|\d\d:\d\d:\d\d|\b1\d{9}\b"  # times
    r"|context found for id \[\d+\]|@[0-9a-f]{5,8}\b"
)
_NUMBER = regex.compile(r"\d+(\.\d+)?(micros|nanos|ms|[smhd]\b|[kmgt]?b\b)?|\s+")


@dataclass
class Exchange:
    """A request and its answer, as they went over the wire."""

    method: str
    target: str
    sent: bytes
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return _plain(self.body).decode(errors="replace")

    @property
    def is_reranked(self) -> bool:
        return self.header("x-rerank-status") == "applied"

    @property
    def is_from_a_window(self) -> bool:
        return self.is_reranked or self.header("x-rerank-reason") == "no_text_in_hits"

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers.items() if key.lower() == name), "")

    def end_to_end(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items() if name.lower() not in _OF_THE_CONNECTION}

    def comparable(self, without_order: bool, without_profile: bool) -> dict[str, Any]:
        """What is the same in two runs.

        Args:
            without_order: leaves out what re-ranking changes.
            without_profile: leaves out what the search for a window changes.
        """
        headers = {
            name: "…" if name == _MEASURED else _DRAWN.sub("…", value)
            for name, value in self.end_to_end().items()
            if name not in ADDED_HEADERS
        }
        measures = _MEASURING.search(self.target) is not None
        answer = _read(self.body)
        if without_order and isinstance(answer, dict):
            answer = _without_order(answer)
        if without_profile and isinstance(answer, dict) and "profile" in answer:
            answer = {**answer, "profile": "…"}
        return {
            "request": (self.method, _DRAWN.sub("…", self.target), timeless(_read(self.sent))),
            "status": self.status,
            "headers": headers,
            "body": timeless(answer, measures=measures),
        }


@dataclass
class Recording:
    """The exchanges of a client, in their order."""

    exchanges: list[Exchange] = field(default_factory=list)

    def taken(self) -> list[Exchange]:
        """Those since the last call."""
        taken, self.exchanges = self.exchanges, []
        return taken


def send_recorded(
    http: urllib3.PoolManager,
    url: str,
    method: str,
    target: str,
    body: bytes | None,
    headers: Mapping[str, str],
    limit_s: float,
) -> Exchange:
    """Sends a request to `target` at `url`."""
    answer = http.request(method, f"{url}{target}", body=body, headers=headers, timeout=limit_s)
    return Exchange(method, target, body or b"", answer.status, dict(answer.headers), answer.data)


def differences(direct: Sequence[Exchange], proxied: Sequence[Exchange]) -> list[str]:
    """What differs between the exchanges of two runs in turn; nothing if the proxy cannot be told from the engine."""
    found: list[str] = []
    for number, (one, other) in enumerate(zip_longest(direct, proxied)):
        if one is None or other is None:
            return [*found, f"{len(direct)} requests directly, {len(proxied)} through the proxy"]
        left_out = (other.is_reranked, other.is_from_a_window)
        first, second = (exchange.comparable(*left_out) for exchange in (one, other))
        found += [f"request {number}, {one.method} {one.target}: {wrong}" for wrong in unlike(first, second)]
    return found


def unlike(direct: Any, proxied: Any, path: str = "") -> list[str]:
    """Where two comparable values differ."""
    if direct == proxied:
        return []
    if isinstance(direct, dict) and isinstance(proxied, dict) and direct.keys() == proxied.keys():
        return [one for key in direct for one in unlike(direct[key], proxied[key], f"{path}.{key}")]
    if isinstance(direct, list) and isinstance(proxied, list) and len(direct) == len(proxied):
        pairs = zip(direct, proxied, strict=True)
        return [one for place, pair in enumerate(pairs) for one in unlike(*pair, f"{path}.{place}")]
    return [f"{path.lstrip('.')} is {direct!r}, through the proxy {proxied!r}"]


def timeless(value: Any, key: str = "", measures: bool = False) -> Any:
    """A value with what differs from run to run written as the name of its type."""
    if _VOLATILE.fullmatch(key):
        return type(value).__name__
    measures = measures or key == "profile"
    if isinstance(value, dict):
        return {_DRAWN.sub("…", str(name)): timeless(one, str(name), measures) for name, one in value.items()}
    if isinstance(value, list):
        # The names of a snapshot's indices come from a set.
        is_set = key == "indices" and all(isinstance(one, str) for one in value)
        return sorted(value) if is_set else [timeless(one, measures=measures) for one in value]
    if isinstance(value, str):
        value = _DRAWN.sub("…", value)
        # Columns are as wide as the numbers in them.
        return _NUMBER.sub(lambda match: " " if match.group().isspace() else "0", value) if measures else value
    return 0 if measures and isinstance(value, int | float) and not isinstance(value, bool) else value


def _without_order(answer: dict[str, Any]) -> dict[str, Any]:
    """A search's answer, or a multi-search's, without what re-ranking changes."""
    if isinstance(answer.get("responses"), list):
        return {**answer, "responses": [_without_order(one) for one in answer["responses"]]}
    if "profile" in answer:
        answer = {**answer, "profile": "…"}
    outer = answer.get("hits")
    if not isinstance(outer, dict) or not isinstance(outer.get("hits"), list):
        return answer
    found = [{key: value for key, value in hit.items() if key not in _OF_RANKING} for hit in outer["hits"]]
    total = outer.get("total")
    n_total = total.get("value") if isinstance(total, dict) else total
    hits = sorted(map(_sorted_text, found)) if n_total == len(found) else [len(found)]
    rest = {key: value for key, value in outer.items() if key not in ("hits", "max_score")}
    return {**answer, "hits": {**rest, "hits": hits}}


def _sorted_text(hit: Any) -> str:
    return json.dumps(timeless(hit), sort_keys=True)


def _plain(body: bytes) -> bytes:
    # The same text is compressed to other bytes at another time.
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def _read(body: bytes) -> Any:
    try:
        return json.loads(_plain(body))
    except ValueError:
        return _plain(body).decode(errors="replace")
