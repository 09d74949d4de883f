"""Makes searches of the query DSL: valid ones, ones with a changed part, and ones with damaged bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from urllib.parse import quote

import urllib3

from campaign.tools.indexed import FOREIGN
from campaign.tools.material import query as words
from campaign.tools.mutation import mutated

INDEX = FOREIGN
WINDOW = 100
MAPPING = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0},
    "mappings": {
        "properties": {
            "lang": {"type": "keyword"},
            "title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
            "text": {"type": "text"},
            "year": {"type": "integer"},
        }
    },
}
FIELDS = ("title", "text", "title.keyword", "lang", "year", "none", "*", "t*", "_id")
# Replacements for a value.
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 10**9, 10**19, 1.5, "", "a", "*", "_score", [], {}, [None], ["title"], {"match_all": {}},
    "\x00", "\u202e", "x" * 5000, {"x": {"y": {}}}, [[[]]], "1d", "NaN",
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """A search, with its path and body. `for_window` is the search whose hits are re-ranked."""

    path: str
    body: bytes
    parsed: Any = None

    def for_engine(self) -> Request:
        """The request without our own parameter."""
        return replace(self, path=self.path.replace("rerank=false", "pretty=false"))

    def send(self, http: urllib3.PoolManager, url: str) -> urllib3.BaseHTTPResponse:
        is_lines = "_msearch" in self.path
        kind = "application/x-ndjson" if is_lines else "application/json"
        return http.request("POST", url + self.path, body=self.body, headers={"Content-Type": kind}, timeout=120)

    def for_window(self) -> Request | None:
        """The search for the window; None if this is not a single search with an intact body."""
        if not isinstance(self.parsed, dict) or "_msearch" in self.path or "size=" in self.path or "from=" in self.path:
            return None
        remaining = {name: value for name, value in self.parsed.items() if name not in ("ext", "from", "size")}
        return replace(self, body=json.dumps({**remaining, "size": WINDOW}).encode())

    def __str__(self) -> str:
        return f"{self.path} {self.body[:400].decode(errors='replace')}"


def make_request(random: Random) -> Request:
    """Makes a search. A third are valid, a third have changed parts, a third have changed bytes or parameters."""
    path = random.choice((f"/{INDEX}/_search",) * 8 + ("/art*/_search", f"/{INDEX},none/_search"))
    body = _body(random)
    kind = random.random()
    if kind < 0.35:
        for _ in range(random.randint(1, 3)):
            body = _changed(body, random)
    if random.random() < 0.2:
        path += random.choice(("?", "?pretty&")) + random.choice(_PARAMETERS)(random)
    if random.random() < 0.1:
        return _many(random, body)
    content = json.dumps(body).encode()
    if 0.35 <= kind < 0.5:
        return Request(path, mutated(content, random, most=2))
    return Request(path, content, body)


_PARAMETERS = (
    lambda random: f"q={quote(words(random))}",
    lambda random: f"q={quote(random.choice(FIELDS))}:({quote(words(random))})",
    lambda random: f"size={random.choice((0, 1, 5, 100, -1, 'x', 99999))}",
    lambda random: f"from={random.choice((0, 1, 90, 101, -1, 'x'))}",
    lambda random: "sort=year:desc",
    lambda random: "filter_path=hits.hits._id,hits.total",
    lambda random: "rerank=false",
    lambda random: "_source=title",
    lambda random: "_source=false",
    lambda random: "typed_keys=true&rest_total_hits_as_int=true",
    lambda random: "routing=1",
    lambda random: "preference=_local",
    lambda random: f"unknown{random.randint(0, 9)}=1",
    lambda random: "format=yaml",
    lambda random: "track_total_hits=false",
    lambda random: "search_type=dfs_query_then_fetch",
)


def _many(random: Random, first: Any) -> Request:
    """Makes a multi-search of one to four searches."""
    lines = []
    for number in range(random.randint(1, 4)):
        body = _body(random) if number else first
        if isinstance(body, dict):
            body.pop("ext", None)
        lines += [json.dumps(random.choice(({}, {"index": INDEX}, {"index": "none"}))), json.dumps(body)]
    content = ("\n".join(lines) + "\n").encode()
    return Request(f"/{INDEX}/_msearch", mutated(content, random, most=1) if random.random() < 0.2 else content)


def _body(random: Random) -> Any:
    body: dict[str, Any] = {"query": _query(random, 0)}
    chosen: dict[str, Any] = {
        "size": random.choice((0, 1, 3, 10, 50, 100)),
        "from": random.choice((0, 1, 5, 40)),
        "_source": random.choice((True, False, ["title"], {"excludes": ["text"]})),
        "aggs": {"years": {"histogram": {"field": "year", "interval": 20}}, "languages": {"terms": {"field": "lang"}}},
        "highlight": {"fields": {"text": {}}},
        "sort": random.choice((["_score"], [{"year": "asc"}], ["_doc"], [{"_score": "desc"}])),
        "track_total_hits": random.choice((True, False, 5)),
        "min_score": random.choice((0, 0.5, 100)),
        "post_filter": {"term": {"lang": random.choice(("en", "fr"))}},
        "explain": True,
        "collapse": {"field": "year"},
        "fields": ["title", "year"],
        "stored_fields": random.choice(("_none_", ["_source"], [])),
        "rescore": {"window_size": 10, "query": {"rescore_query": _query(random, 3)}},
        "suggest": {"one": {"text": words(random), "term": {"field": "text"}}},
        "version": True,
        "timeout": "10s",
        "terminate_after": random.choice((0, 5, 1000)),
    }
    for name in random.sample(sorted(chosen), k=random.choice((0,) * 6 + (1, 1, 2, 3))):
        body[name] = chosen[name]
    return body


def _query(random: Random, depth: int) -> dict[str, Any]:
    field, text = random.choice(FIELDS[:6]), words(random, random.choice(("en", "fr")))
    leaves: tuple[dict[str, Any], ...] = (
        {"match": {random.choice(("title", "text", field)): text}},
        {"match": {"text": {"query": text, "operator": random.choice(("and", "or")), "fuzziness": "AUTO"}}},
        {"multi_match": {"query": text, "fields": random.sample(("title", "text", "t*", *FIELDS), 2)}},
        {"multi_match": {"query": text, "fields": ["title^3", "text"], "type": "cross_fields"}},
        {"match_phrase": {"text": text}},
        {"query_string": {"query": text + random.choice(("", " AND", "*", '"', " -x", " title:(y", "~2"))}},
        {"simple_query_string": {"query": f"{text} | +{text}", "fields": ["text"]}},
        {"term": {"lang": random.choice(("en", "fr"))}},
        {"terms": {"year": [1900, 1950, random.randint(1900, 2020)]}},
        {"range": {"year": {"gte": random.randint(1890, 2030)}}},
        {"ids": {"values": ["d1", "d2", "nobody"]}},
        {"wildcard": {"title": {"value": "b*"}}},
        {"prefix": {"title": "b"}},
        {"match_all": {}},
        {"match_none": {}},
        {"exists": {"field": field}},
        {"combined_fields": {"query": text, "fields": ["title", "text"]}},
        {"more_like_this": {"like": text, "fields": ["text"], "min_term_freq": 1, "min_doc_freq": 1}},
    )
    if depth >= 3 or random.random() < 0.6:
        return random.choice(leaves[:8] if depth == 0 else leaves)  # alone mostly a text, which is re-ranked
    inner = [_query(random, depth + 1) for _ in range(random.randint(1, 3))]
    return random.choice(
        (
            {"bool": {random.choice(("must", "should", "filter", "must_not")): inner, "must": [random.choice(leaves)]}},
            {"bool": {"should": inner, "minimum_should_match": random.choice((0, 1, "50%"))}},
            {"dis_max": {"queries": inner, "tie_breaker": 0.3}},
            {"constant_score": {"filter": inner[0]}},
            {"function_score": {"query": inner[0], "field_value_factor": {"field": "year"}}},
            {"function_score": {"query": inner[0]}},
            {"boosting": {"positive": inner[0], "negative": random.choice(leaves), "negative_boost": 0.2}},
        )
    )


def _changed(tree: Any, random: Random) -> Any:
    """The tree with one part replaced, renamed, removed, wrapped or repeated."""
    if isinstance(tree, dict) and tree and random.random() < 0.85:
        name = random.choice(list(tree))
        action = random.random()
        if action < 0.6:
            return {**tree, name: _changed(tree[name], random)}
        rest = {other: value for other, value in tree.items() if other != name}
        if action < 0.75:
            return rest
        if action < 0.9:
            return {**rest, random.choice((*FIELDS, name.upper(), name + " ", "bool", "query")): tree[name]}
        return {**tree, random.choice(("ext", "boost", "unknown", "size", "rewrite")): random.choice(VALUES)}
    if isinstance(tree, list) and tree and random.random() < 0.7:
        place = random.randrange(len(tree))
        return [*tree[:place], _changed(tree[place], random), *tree[place + 1 :]] * random.choice((1, 1, 2))
    return random.choice((random.choice(VALUES), [tree], {"query": tree}, tree))
