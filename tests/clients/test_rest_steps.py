"""The runner of the engines' REST tests reads their format: requests, expected errors, values and what is left out."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

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
    ("path", "value"),
    [("n", 3), ("list.0.b", 2), ("a\\.b.c", 1), ("list.0._arbitrary_key_", "a"), ("$body.text", "one two")],
)
def test_a_value_of_an_answer_is_kept_for_later_requests(path: str, value: Any) -> None:
    engine = Engine()
    kept = {"set": {path: "kept"}}
    assert outcome(engine, SEARCH, kept, {"do": {"get": {"index": "i", "id": "${kept}"}}}) == "passed"
    assert engine.asked[1][1] == f"/i/_doc/{quote(str(value))}"


def test_a_value_that_is_missing_ends_the_test() -> None:
    assert outcome(Engine(), SEARCH, {"set": {"nothing": "x"}}, SEARCH) == "step 1 (set)"


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


def test_a_sample_calls_every_api_once_and_some_searches_more() -> None:
    def test(name: str, *names: str) -> RestTest:
        return RestTest(name, steps=[*({"do": {name: {}}} for name in names), {"length": {"hits.hits": 1}}])

    tests = [test("a", "get"), test("b", "get", "bulk"), test("c", "search"), test("d", "search"), test("e", "search")]
    assert [one.name for one in sample(tests, frozenset(APIS), every=2)] == ["b", "c", "e"]
