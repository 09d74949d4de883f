"""What is asked of an engine's mappings, what is made of its answers, and how long these are kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from reranker.query_dsl.field_types import RETRY_S, TRUST_S, CallerMappings, FieldTypeCache
from reranker.query_dsl.scoring import FieldType
from reranker.upstream.calls import Deadline, EngineCalls, Fallback
from reranker.upstream.incoming import read_parameters
from tests.support.clock import Clock

TITLE = {"title": {"mapping": {"title": {"type": "text"}}}}
ENGLISH = {"title.en": {"mapping": {"en": {"type": "text"}}}}


class Calls:
    """Answers each question for a mapping from a list."""

    def __init__(self, *answers: Any, clock: Clock | None = None) -> None:
        clock = clock or Clock()
        self.deadline = Deadline(clock.now + 2.0, clock)
        self.answers = list(answers)
        self.targets: list[str] = []
        self.limits: list[float] = []

    def ask(self, target: str, limit_s: float) -> Any:
        self.targets.append(target)
        self.limits.append(limit_s)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def mappings(
    calls: Calls, cache: FieldTypeCache | None = None, caller: bytes = b"a", query: str = ""
) -> CallerMappings:
    calls.incoming = SimpleNamespace(caller=caller, parameters=read_parameters(query))
    return CallerMappings(cache or FieldTypeCache(), cast(EngineCalls, calls))


def index(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"mappings": {name: one for field in fields for name, one in field.items()}}


def test_fields_are_asked_for_with_those_that_they_may_be_a_part_of() -> None:
    calls = Calls({"i": index(TITLE, ENGLISH)})
    types = mappings(calls, query="expand_wildcards=all&routing=7&q=x").searched("/i,j%2A/_search")[0](["title.en"])
    assert types == {"title.en": FieldType(is_text=True, source="title")}
    assert calls.targets == [
        "/i,j%2A/_mapping/field/title,title.en?ignore_unavailable=true&allow_no_indices=true&expand_wildcards=all"
    ]
    assert calls.limits == [0.5]  # a quarter of what is left


def test_a_field_with_a_dot_in_its_name_is_filled_by_itself() -> None:
    """As Elasticsearch answers for `a` with the sub-field `en`, `a.b` and its sub-field `en`, without subobjects."""
    own = {"a.b": {"mapping": {"a.b": {"type": "text"}}}}
    en = {"a.en": {"mapping": {"en": {"type": "text"}}}, "a.b.en": {"mapping": {"en": {"type": "text"}}}}
    answer = index({"a": {"mapping": {"a": {"type": "text"}}}}, own, en)
    types = mappings(Calls({"i": answer})).searched("/i/_search")[0](["a", "a.b", "a.en", "a.b.en"])
    assert {name: kind.source for name, kind in types.items()} == {"a": "a", "a.b": "a.b", "a.en": "a", "a.b.en": "a.b"}


def test_a_name_cannot_lead_to_another_path() -> None:
    calls = Calls({"i": index(TITLE)})
    mappings(calls).searched("/i/_search")[0](["a/../../_nodes?x#y", "ti tle"])
    assert calls.targets[0].startswith("/i/_mapping/field/")
    assert calls.targets[0].count("/") == 4
    assert calls.targets[0].count("?") == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"i": index(TITLE)}, FieldType(is_text=True, source="title")),
        ({"i": index({"title": {"mapping": {"title": {"type": "keyword"}}}})}, FieldType(False, "title")),
        # Text in one index of several.
        (
            {"h": index({"title": {"mapping": {"title": {"type": "long"}}}}), "i": index(TITLE)},
            FieldType(True, "title"),
        ),
        # A field that no mapping has holds no text.
        ({"i": index()}, FieldType(False, "title")),
        ({"i": {"mappings": 3}, "j": None}, FieldType(False, "title")),
    ],
)
def test_a_field_is_text_where_a_mapping_says_so(answer: Any, kind: FieldType) -> None:
    assert mappings(Calls(answer)).searched("/i/_search")[0](["title"]) == {"title": kind}


def test_what_is_known_is_asked_for_again_after_some_minutes_and_by_another_caller_at_once() -> None:
    clock = Clock()
    cache = FieldTypeCache(clock)
    calls = Calls(*[{"i": index(TITLE)}] * 4)
    for _ in range(3):
        mappings(calls, cache).searched("/i/_search")[0](["title"])
    assert len(calls.targets) == 1
    mappings(calls, cache, caller=b"b").searched("/i/_search")[0](["title"])
    mappings(calls, cache).searched("/j/_search")[0](["title"])
    assert len(calls.targets) == 3
    clock.now += TRUST_S + 1
    mappings(calls, cache).searched("/i/_search")[0](["title"])
    assert len(calls.targets) == 4


def test_a_field_that_is_missing_is_asked_for_again_soon() -> None:
    clock = Clock()
    cache = FieldTypeCache(clock)
    calls = Calls({"i": index()}, {"i": index(TITLE)})
    for _ in range(2):
        assert not mappings(calls, cache).searched("/i/_search")[0](["title"])["title"].is_text
    clock.now += RETRY_S + 1
    assert mappings(calls, cache).searched("/i/_search")[0](["title"])["title"].is_text


@pytest.mark.parametrize(
    "answer", [Fallback("engine_refused", "403"), Fallback("look_up_failed", "too late"), {}, [], "text"]
)
def test_without_an_answer_nothing_is_known_and_nothing_asked_for_a_while(answer: Any) -> None:
    clock = Clock()
    cache = FieldTypeCache(clock)
    calls = Calls(answer, {"i": index(TITLE)})
    for _ in range(2):
        assert mappings(calls, cache).searched("/i/_search")[0](["title"]) == {}
    assert len(calls.targets) == 1
    clock.now += RETRY_S + 1
    assert mappings(calls, cache).searched("/i/_search")[0](["title"])["title"].is_text


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/i/_search", [f"f{n}" for n in range(200)]),
        ("/i/_search", ["f" * 5_000]),
        ("/i/_search", [".".join("f" * 1_400)]),
    ],
)
def test_what_no_path_can_hold_is_not_asked_for(path: str, names: list[str]) -> None:
    calls = Calls()
    assert mappings(calls).searched(path)[0](names) == {}
    assert calls.targets == []


def test_the_header_of_a_line_names_its_indices() -> None:
    calls = Calls(*[{"i": index(TITLE)}] * 9)
    found = mappings(calls)
    for indices in ("i", ["i", "j*"], None, [], [3], {"a": 1}, "a/../b"):
        found.searched("/p/_msearch", indices)[0](["title"])
    # A request makes five calls at most.
    assert [target.split("/_mapping")[0] for target in calls.targets] == ["/i", "/i,j*", "/p", "/a%2F..%2Fb"]


@pytest.mark.parametrize(
    ("path", "named", "expected"),
    [
        ("/pages/_search", None, ("pages",)),
        ("/a,b%2A/_search", None, ("a", "b*")),
        ("/_search", None, ()),
        ("/_msearch", ["a", "b,c"], ("a", "b", "c")),
        ("/pages/_msearch", "other", ("other",)),
        ("/pages/_msearch", [], ("pages",)),
    ],
)
def test_the_searched_indices_are_those_of_the_header_or_of_the_path(
    path: str, named: Any, expected: tuple[str, ...]
) -> None:
    assert mappings(Calls()).searched(path, named)[1] == expected
