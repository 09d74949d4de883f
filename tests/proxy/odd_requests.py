"""Requests that a client may send by mistake or on purpose: what an engine answers, the proxy has to answer too."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
QUERY = b'{"query":{"match":{"t":"cat"}}}'
HEADER = b'{"index":"{index}"}\n'
LINES = HEADER + QUERY + b"\n"
COMPATIBLE = "application/vnd.elasticsearch+json;compatible-with="


@dataclass(frozen=True)
class OddRequest:
    """`{index}` stands for the index in target and body; no body is sent where it is None."""

    name: str
    target: str
    body: bytes | None = QUERY
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)
    method: str = "POST"


def nested(n: int) -> bytes:
    """A query below `n` times `bool`: three levels of JSON each."""
    return b'{"query":' + b'{"bool":{"must":[' * n + b'{"match":{"t":"cat"}}' + b"]}}" * n + b"}"


def odd_requests() -> Iterator[OddRequest]:
    yield from _methods()
    yield from _targets()
    yield from _content_types()
    yield from _sources()
    yield from _bodies()
    yield from _line_bodies()
    yield from _encodings()


def _methods() -> Iterator[OddRequest]:
    for method in ("HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "GET"):
        yield OddRequest(f"{method} of a search", "/{index}/_search", None, {}, method)
        if method != "TRACE":
            yield OddRequest(f"{method} of a search with a body", "/{index}/_search", QUERY, JSON, method)


TARGETS = [
    *("/{index}/_search/", "/{index}//_search", "//{index}/_search", "/{index}/_search//"),
    *("/{index}%2C{index}/_search", "/{index}*/_search", "/{index}%2A/_search", "/{index}%2F_search"),
    *("/{index}/%5Fsearch", "/{index}/_SEARCH", "/{index}/_search;x=1", "/{index}./_search"),
    *("/{index}/_search.", "/{index}%20/_search", "/-{index}/_search", "/{index},-{index}/_search"),
    *("/{index},missing/_search", "/missing/_search", "/_{index}/_search", "/{index}%00/_search"),
    *("/{index}%0A/_search", "/./{index}/_search", "/{index}/../{index}/_search"),
    *("/{index}/_search/template", "/_search/template", "/_msearch/template"),
    *("/{index}/_search/point_in_time", "/_search/scroll", "/{index}:{index}/_search"),
    "/%3C{index}-%7Bnow%2Fd%7D%3E/_search",
]
# Of a search.
PARAMETERS = [
    *("", "&", "&&pretty", "pretty", "pretty=x", "human", "error_trace=false", "format=yaml", "format=cbor"),
    *("format=smile", "format=xml", "format=", "filter_path=-hits", "filter_path=", "filter_path=,"),
    *("filter_path=hits.hits._id&pretty", "filter_path=nothing", "oops=1", "Pretty", "q=cat", "q=cat;size=1"),
    *("pretty;from=1", "q=cat%3Bsize=1", "q=", "size=1&size=2", "size=", "size=-1", "size=1.0", "size=%2B1"),
    *("size=1_0", "size=%201", "from=x", "from=9999", "from=10000", "size=10001", "a=%zz", "q=%", "q=%ff"),
    *("_source=", "_source_excludes=t", "stored_fields=_none_", "sort=", "sort=_score:desc,n"),
    *("seq_no_primary_term", "seq_no_primary_term=x", "scroll=", "search_type=count", "timeout=x"),
    *("ignore_unavailable=x", "rest_total_hits_as_int=true", "typed_keys", "track_total_hits=false"),
]


def _targets() -> Iterator[OddRequest]:
    for target in [*TARGETS, *(f"/{{index}}/_search?{one}" for one in PARAMETERS)]:
        yield OddRequest(f"POST {target}", target)
    for parameters in ("pretty", "filter_path=responses.hits.total", "oops=1", "format=yaml", "q=cat", "size=1"):
        yield OddRequest(f"_msearch?{parameters}", f"/_msearch?{parameters}", LINES, NDJSON)


def _content_types() -> Iterator[OddRequest]:
    for method in ("GET", "POST"):
        yield OddRequest(f"{method} without Content-Type", "/{index}/_search", QUERY, {}, method)
        yield OddRequest(f"{method} without body", "/{index}/_search", None, {}, method)
        yield OddRequest(f"{method} with an empty body", "/{index}/_search", b"", JSON, method)
        yield OddRequest(f"{method} of lines without Content-Type", "/_msearch", LINES, {}, method)
        yield OddRequest(f"{method} of no lines", "/_msearch", b"", NDJSON, method)
    yield OddRequest("blanks without Content-Type", "/{index}/_search", b" ", {})
    for kind in (
        *("", "application/json; charset=utf-8", "application/json;charset=latin1", "APPLICATION/JSON", "text/plain"),
        *("application/x-www-form-urlencoded", "application/x-ndjson", "application/yaml", "application/cbor", "json"),
        *("application/smile", "*/*", "application/json;", "application/vnd.api+json", f"{COMPATIBLE}8"),
    ):
        yield OddRequest(f"Content-Type {kind!r}", "/{index}/_search", QUERY, {"Content-Type": kind})
        yield OddRequest(f"Content-Type {kind!r} without body", "/{index}/_search", None, {"Content-Type": kind})
        yield OddRequest(f"Content-Type {kind!r} of lines", "/_msearch", LINES, {"Content-Type": kind})
    for accept in (
        *("", "*/*", "text/html", "text/html,*/*", "application/yaml", "application/cbor", "application/smile"),
        *("garbage", "application/json;q=0", "text/plain", f"{COMPATIBLE}8", f"{COMPATIBLE}7"),
    ):
        yield OddRequest(f"Accept {accept!r}", "/{index}/_search", QUERY, {**JSON, "Accept": accept})
    for version in "789":
        both = {"Content-Type": f"{COMPATIBLE}{version}", "Accept": f"{COMPATIBLE}{version}"}
        yield OddRequest(f"version {version} of the API", "/{index}/_search", QUERY, both)
    yaml = b'---\nquery:\n  match:\n    t: "cat"\n'
    yield OddRequest("YAML", "/{index}/_search", yaml, {"Content-Type": "application/yaml"})
    yield OddRequest("YAML as JSON", "/{index}/_search", yaml)
    cbor = b"\xa1\x65query\xa1\x65match\xa1\x61t\x63cat"
    yield OddRequest("CBOR", "/{index}/_search", cbor, {"Content-Type": "application/cbor"})
    yield OddRequest("CBOR as JSON", "/{index}/_search", cbor)


def _sources() -> Iterator[OddRequest]:
    source = quote(QUERY.decode())
    for parameters in (
        f"source={source}&source_content_type=application/json",
        f"source={source}&source_content_type=application/yaml",
        "source_content_type=application/json",
    ):
        yield OddRequest(f"?{parameters}", f"/{{index}}/_search?{parameters}", None, {}, "GET")
        yield OddRequest(f"?{parameters} and a body", f"/{{index}}/_search?{parameters}", QUERY, JSON, "GET")


# With two equal keys, at the top and below.
DUPLICATES = [
    b'{"query":{"match":{"t":"cat"}},"query":{"match":{"t":"cat"}}}',
    b'{"size":1,"size":1,"query":{"match":{"t":"cat"}}}',
    b'{"from":0,"from":1,"query":{"match":{"t":"cat"}}}',
    b'{"_source":["t"],"_source":["n"],"query":{"match":{"t":"cat"}}}',
    b'{"_source":{"includes":["t"],"includes":["n"]},"query":{"match":{"t":"cat"}}}',
    b'{"seq_no_primary_term":true,"seq_no_primary_term":false,"query":{"match":{"t":"cat"}}}',
    b'{"ext":{},"ext":{},"query":{"match":{"t":"cat"}}}',
    b'{"query":{"match":{"t":"cat","t":"dog"}}}',
    b'{"query":{"match":{"t":{"query":"cat","query":"dog"}}}}',
    b'{"query":{"bool":{"must":{"match":{"t":"cat"}},"must":{"match":{"t":"cat"}}}}}',
    b'{"qu\\u0065ry":{"match":{"t":"cat"}},"query":{"match":{"t":"cat"}}}',
    b'{"aggs":{"a":{"terms":{"field":"n"}},"a":{"terms":{"field":"n"}}},"query":{"match":{"t":"cat"}}}',
]
# Members in front of a query by a text.
MEMBERS = [
    *(
        b'"oops":1',
        b'"":1',
        b'"size":1.5',
        b'"size":"1"',
        b'"size":" 1"',
        b'"size":"1_0"',
        b'"size":true',
        b'"size":null',
    ),
    *(b'"size":-1', b'"size":[1]', b'"size":01', b'"size":+1', b'"size":99999999999999999999', b'"from":"1"'),
    *(b'"from":1.7', b'"from":10000', b'"min_score":NaN', b'"min_score":-Infinity', b'"min_score":1e400'),
    *(b'"seq_no_primary_term":"true"', b'"seq_no_primary_term":"x"', b'"seq_no_primary_term":null'),
    *(b'"seq_no_primary_term":1', b'"_source":1', b'"_source":null', b'"_source":""', b'"_source":[1]'),
    *(b'"_source":{"oops":1}', b'"_source":{"includes":null}', b'"_source":{"includes":["t"],"include":["n"]}'),
    *(b'"ext":null', b'"ext":"a"', b'"ext":[]', b'"ext":{}', b'"ext":{"oops":{}}', b'"ext":{"rerank":null}'),
    *(b'"sort":null', b'"sort":[]', b'"sort":{}', b'"sort":["_score"]', b'"sort":{"_score":{"order":"DESC"}}'),
    *(b'"stored_fields":[]', b'"search_after":null', b'"pit":null', b'"timeout":"x"', b'"explain":true'),
]
TEXTS = {
    "no end": b'{"query":',
    "a list": b"[]",
    "null": b"null",
    "two objects": b"{}{}",
    "a word behind": QUERY + b" x",
    "a NUL behind": QUERY + b"\0",
    "a byte order mark": b"\xef\xbb\xbf" + QUERY,
    "UTF-16": QUERY.decode().encode("utf-16"),
    "no UTF-8": b'{"query":{"match":{"t":"caf\xe9"}}}',
    "a control character": b'{"query":{"match":{"t":"c\x01at"}}}',
    "an unknown escape": b'{"query":{"match":{"t":"cat \\x"}}}',
    "a comma too many": b'{"query":{"match":{"t":"cat"}},}',
    "a comment": b"/* a */" + QUERY,
    "no quotes": b'{query:{match:{t:"cat"}}}',
    "blanks around": b" \n\r\t" + QUERY + b" \n\r\t",
    "only blanks": b"  \n",
    "a digit too many": b'{"min_score":' + b"9" * 5_000 + b',"query":{"match":{"t":"cat"}}}',
    "no query": b'{"query":{}}',
    "two queries": b'{"query":{"match":{"t":"cat"},"term":{"n":1}}}',
    "a list of queries": b'{"query":[{"match":{"t":"cat"}}]}',
    "a text as query": b'{"query":"cat"}',
    "a match of nothing": b'{"query":{"match":{}}}',
    "a match of a list": b'{"query":{"match":{"t":["cat"]}}}',
    "a match on two fields": b'{"query":{"match":{"t":"cat","u":"x"}}}',
}


def _bodies() -> Iterator[OddRequest]:
    texts = {**TEXTS, **{repr(body): body for body in DUPLICATES}}
    texts |= {member.decode(): b"{" + member + b',"query":{"match":{"t":"cat"}}}' for member in MEMBERS}
    texts |= {f"{n} nested queries": nested(n) for n in (24, 25, 100, 150)}
    for name, body in texts.items():
        yield OddRequest(name, "/{index}/_search", body)
        if b"\n" not in body:
            yield OddRequest(f"{name}, in lines", "/_msearch", HEADER + body + b"\n", NDJSON)


def _line_bodies() -> Iterator[OddRequest]:
    for name, body in {
        "no last line end": LINES[:-1],
        "carriage returns": LINES.replace(b"\n", b"\r\n"),
        "an empty line first": b"\n" + LINES,
        "an empty line between": LINES + b"\n" + LINES,
        "an empty line last": LINES + b"\n",
        "an odd number": LINES + b"{}\n",
        "an empty header": b"\n" + QUERY + b"\n",
        "a header that is a list": b"[]\n" + QUERY + b"\n",
        "a header that is no JSON": b"x\n" + QUERY + b"\n",
        "a header with a word behind": HEADER.rstrip() + b" x\n" + QUERY + b"\n",
        "a header with a key twice": b'{"index":"{index}","index":"{index}"}\n' + QUERY + b"\n",
        "a header with an unknown key": b'{"oops":1}\n' + QUERY + b"\n",
        "a header with a list of indices": b'{"index":["{index}"]}\n' + QUERY + b"\n",
        "a header with a number": b'{"index":1}\n' + QUERY + b"\n",
        "an index that is missing, and one that is not": b'{"index":"missing"}\n' + QUERY + b"\n" + LINES,
        "an empty body": HEADER + b"\n",
        "a body over two lines": HEADER + b'{"query":\n{"match":{"t":"cat"}}}\n',
        "a key twice behind a search that is sound": LINES + HEADER + DUPLICATES[1] + b"\n",
    }.items():
        yield OddRequest(f"lines: {name}", "/_msearch", body, NDJSON)


def _encodings() -> Iterator[OddRequest]:
    packed = gzip.compress(QUERY, mtime=0)
    for coding, body in [
        ("gzip", packed),
        ("GZIP", packed),
        ("deflate", zlib.compress(QUERY)),
        ("identity", QUERY),
        ("br", QUERY),
        ("gzip", QUERY),
        ("gzip", packed[:-4]),
        ("gzip", gzip.compress(QUERY[:9], mtime=0) + gzip.compress(QUERY[9:], mtime=0)),
        ("gzip", b""),
    ]:
        name = f"Content-Encoding {coding} of {body[:2]!r}, {len(body)} bytes"
        yield OddRequest(name, "/{index}/_search", body, {**JSON, "Content-Encoding": coding})
    for taken in (
        *("gzip", "deflate", "br", "zstd", "gzip;q=0", "*;q=0", "identity", "gzip, deflate, br, zstd", "", "gzip;q=x"),
        *("gzip;q=0.5, identity;q=1", "deflate;q=0.9, gzip;q=0.9", "deflate, gzip;q=0.1", "identity;q=0"),
    ):
        headers = {**JSON, "Accept-Encoding": taken}
        yield OddRequest(f"Accept-Encoding {taken!r}", "/{index}/_search", QUERY, headers)
        yield OddRequest(f"Accept-Encoding {taken!r}, an error", "/{index}/_search", b'{"query":{"oops":1}}', headers)
        yield OddRequest(f"Accept-Encoding {taken!r}, no index", "/missing/_search", QUERY, headers)
        tiny = "/{index}/_search?filter_path=hits.total.value"
        yield OddRequest(f"Accept-Encoding {taken!r}, a short answer", tiny, QUERY, headers)


# Where the body begins in a buffer of the engine's is another place each time.
_OFFSET = re.compile(rb"byte offset: #\d+")


def without_what_differs(body: bytes, is_reranked: bool) -> Any:
    """An answer without the time that it took and, if it is re-ranked, without order and scores."""
    body = _OFFSET.sub(b"", body)
    try:
        return _plain(json.loads(body), is_reranked)
    except ValueError:  # YAML, CBOR and SMILE begin with `took`; the scores come behind it
        return body.partition(b"timed_out")[2] or body
    except RecursionError:
        return body.partition(b"timed_out")[2]


def _plain(value: Any, is_reranked: bool) -> Any:
    if isinstance(value, list):
        return [_plain(one, is_reranked) for one in value]
    if not isinstance(value, dict):
        return value
    dropped = {"took", "ingest_took", "stack_trace"}
    if is_reranked:
        dropped |= {"_score", "max_score"}
    kept = {key: _plain(one, is_reranked) for key, one in value.items() if key not in dropped}
    if is_reranked and isinstance(kept.get("hits"), list):
        kept["hits"].sort(key=str)
    return kept
