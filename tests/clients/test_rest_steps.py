"""The runner of the engines' REST tests reads their format: each kind of step holds and fails where it should."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients.recording import Exchange
from tests.clients.rest_comparison import sample
from tests.clients.rest_steps import Steps, is_for
from tests.clients.rest_suite import Api, RestTest

APIS = {
    "search": Api("search", [("/_search", ["GET", "POST"], frozenset()),
                             ("/{index}/_search", ["GET", "POST"], frozenset(["index"]))], False),
    "get": Api("get", [("/{index}/_doc/{id}", ["GET"], frozenset(["index", "id"]))], False),
    "bulk": Api("bulk", [("/_bulk", ["POST", "PUT"], frozenset())], True),
}  # fmt: skip
ANSWER = {"n": 3, "text": "one two", "list": [{"a": 1, "b": 2}], "none": None, "off": False, "a.b": {"c": 1}}


class Engine:
    """Answers each request with the same, and keeps what was asked."""

    def __init__(self, answer: Any = ANSWER, status: int = 200, **headers: str) -> None:
        self.answer = Exchange("", "", b"", status, {"content-type": "application/json", **headers}, b"")
        self.answer.body = json.dumps(answer).encode()
        self.asked: list[tuple[str, str, bytes | None]] = []

    def send(self, method: str, target: str, body: bytes | None, headers: dict[str, str], is_lines: bool) -> Exchange:
        self.asked.append((method, target, body))
        return self.answer


def outcome(engine: Engine, *steps: dict[str, Any]) -> str:
    return Steps("opensearch", "2.19.1", APIS, engine.send).run(list(steps))[0]


SEARCH = {"do": {"search": {}}}


@pytest.mark.parametrize(
    ("step", "holds"),
    [
        ({"match": {"n": 3}}, True),
        ({"match": {"n": 4}}, False),
        ({"match": {"n": "3"}}, True),  # as the engines' own runner
        ({"match": {"text": "/^ one \\s two $ # a comment/"}}, True),
        ({"match": {"text": "/^two/"}}, False),
        ({"match": {"list.0": {"a": 1}}}, False),
        ({"match": {"a\\.b.c": 1}}, True),
        ({"match": {"list._arbitrary_key_": 1}}, False),
        ({"length": {"list": 1}}, True),
        ({"length": {"list": 2}}, False),
        ({"length": {"nothing": 0}}, False),
        ({"is_true": "n"}, True),
        ({"is_true": "off"}, False),
        ({"is_true": "nothing"}, False),
        ({"is_false": "none"}, True),
        ({"is_false": "n"}, False),
        ({"gt": {"n": 2}}, True),
        ({"gt": {"n": 3}}, False),
        ({"gte": {"n": 3}}, True),
        ({"lt": {"n": 3}}, False),
        ({"lte": {"n": 3}}, True),
        ({"lt": {"text": 3}}, False),
        ({"contains": {"list": {"a": 1}}}, True),
        ({"contains": {"list": {"a": 2}}}, False),
        ({"set": {"nothing": "x"}}, False),
    ],
)
def test_an_assertion_holds_or_fails(step: dict[str, Any], holds: bool) -> None:
    (kind,) = step
    assert outcome(Engine(), SEARCH, step) == ("passed" if holds else f"step 1 ({kind})")


@pytest.mark.parametrize(
    ("status", "catch", "holds"),
    [(200, None, True), (404, None, False), (404, "missing", True), (400, "missing", False), (200, "missing", False),
     (400, "/one.two/", True), (200, "/one.two/", False), (400, "/three/", False), (503, "request", True)],
)  # fmt: skip
def test_an_expected_error_has_to_come(status: int, catch: str | None, holds: bool) -> None:
    step = {"do": {"search": {}, **({"catch": catch} if catch else {})}}
    assert outcome(Engine(status=status), step) == ("passed" if holds else "step 0 (do)")


def test_a_request_is_put_together_from_its_parts() -> None:
    engine = Engine()
    outcome(
        engine,
        {"do": {"search": {"index": ["a b", "c"], "body": {"size": 1}, "typed_keys": True}}},
        {"set": {"n": "number"}},
        {"do": {"get": {"index": "i", "id": "$number"}}},
        {"do": {"bulk": {"body": [{"index": {}}, {"n": "${number}"}]}}},
    )
    assert engine.asked == [
        ("POST", "/a%20b,c/_search?typed_keys=true", b'{"size": 1}'),
        ("GET", "/i/_doc/3", None),
        ("POST", "/_bulk", b'{"index": {}}\n{"n": 3}\n'),
    ]


def test_a_missing_part_is_an_error_that_a_test_may_expect() -> None:
    assert outcome(Engine(), {"do": {"get": {"index": "i"}}}) == "step 0 (do)"
    assert outcome(Engine(), {"do": {"get": {"index": "i", "id": ""}, "catch": "param"}}) == "passed"


@pytest.mark.parametrize(
    ("skip", "runs"),
    [
        ({"version": " - 2.19.0"}, True),
        ({"version": " - 2.19.1"}, False),
        ({"version": "2.4.0 - "}, False),
        ({"version": "all"}, False),
        ({"version": " - 1.9.9, 2.19.1 - 2.19.9"}, False),
        ({"version": " - 7.9.99"}, True),  # of the engine that OpenSearch was forked from at 7.10
        ({"features": "headers"}, True),
        ({"features": ["headers", "time_travel"]}, False),
    ],
)
def test_a_test_for_others_is_left_out_before_its_first_request(skip: dict[str, Any], runs: bool) -> None:
    engine = Engine()
    steps = [SEARCH, {"skip": {"reason": "none", **skip}}]
    assert outcome(engine, *steps) == ("passed" if runs else "skipped")
    assert len(engine.asked) == runs
    assert is_for(RestTest("t", steps=steps), "opensearch", "2.19.1") is runs


@pytest.mark.parametrize(
    ("path", "is_applied", "end"),
    [
        ("hits.hits.0._id", True, "passed"),
        ("hits.max_score", True, "passed"),
        ("hits.hits.0._id", False, "step 1 (match)"),
        ("hits.total.value", True, "step 1 (match)"),
        ("aggregations.hits.hits.0", True, "step 1 (match)"),
    ],
)
def test_the_order_of_re_ranked_hits_alone_may_be_another(path: str, is_applied: bool, end: str) -> None:
    headers = {"x-rerank-status": "applied" if is_applied else "skipped"}
    answer = {"hits": {"total": {"value": 1}, "max_score": 1, "hits": [{"_id": "1"}]}}
    assert outcome(Engine(answer, **headers), SEARCH, {"match": {path: "other"}}) == end


def test_a_sample_calls_every_api_once_and_some_searches_more() -> None:
    def test(name: str, *names: str) -> RestTest:
        return RestTest(name, steps=[*({"do": {name: {}}} for name in names), {"length": {"hits.hits": 1}}])

    tests = [test("a", "get"), test("b", "get", "bulk"), test("c", "search"), test("d", "search"), test("e", "search")]
    assert [one.name for one in sample(tests, frozenset(APIS), every=2)] == ["b", "c", "e"]
