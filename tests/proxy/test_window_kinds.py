"""When a window is asked for without its contents, without an engine."""

from __future__ import annotations

import base64
import json
import weakref
from typing import Any

import pytest

from reranker.proxy.window_kinds import (
    SEQUENCE_NUMBERS,
    STORED_BAGS,
    WindowKinds,
    WindowPlan,
    is_same_window,
    read_window_plan,
)

CALLER, NAMES, TEXT = b"caller", ("pages",), "black cat"
PLAN = WindowPlan((SEQUENCE_NUMBERS, STORED_BAGS))
MATCH = {"match": {"t": "cat"}}
NESTED = {"nested": {"path": "p", "query": MATCH, "inner_hits": {}}}
NAMED = {"bool": {"must": MATCH, "_name": "n"}}


def wrapped(query: Any) -> dict[str, Any]:
    return {"wrapper": {"query": base64.b64encode(json.dumps(query).encode()).decode()}}


def hit(n: int, **stored: Any) -> dict[str, Any]:
    return {"_index": "i", "_id": f"d{n}", "_seq_no": n, "_primary_term": 1, **stored}


def ids_only_hit(n: int, **values: Any) -> dict[str, Any]:
    fields = {"doc_id": [f"d{n}"], "bag": ["AgA="], **values}
    return {"_index": "i", "_seq_no": n, "_primary_term": 1, "fields": fields}


def answer(n_shards: int = 1, **members: Any) -> dict[str, Any]:
    return {"took": 1, "_shards": {"total": n_shards}, "hits": {}, **members}


WHOLE = (answer(), [hit(1), hit(2)])


@pytest.mark.parametrize("kind", [STORED_BAGS, SEQUENCE_NUMBERS])
@pytest.mark.parametrize(
    "ids_only",
    [
        (answer(), [ids_only_hit(2), ids_only_hit(1)]),  # a processor puts them in another order
        (answer(), [ids_only_hit(1)]),
        (answer(), [ids_only_hit(1), {**ids_only_hit(2), "_seq_no": 3}]),
        (answer(ext={"generated": "of the hits"}), [ids_only_hit(1), ids_only_hit(2)]),
    ],
)
def test_a_pipeline_or_a_change_shows_in_the_comparison(kind: str, ids_only: Any) -> None:
    assert not is_same_window(kind, WHOLE, ids_only)


def test_stored_bags_need_a_bag_and_the_right_id_on_each_hit() -> None:
    assert not is_same_window(STORED_BAGS, WHOLE, (answer(), [ids_only_hit(1), ids_only_hit(2, bag=[])]))
    assert not is_same_window(STORED_BAGS, WHOLE, (answer(), [ids_only_hit(1), ids_only_hit(2, doc_id=["d3"])]))
    assert is_same_window(STORED_BAGS, (answer(3), WHOLE[1]), (answer(3), [ids_only_hit(1), ids_only_hit(2)]))


@pytest.mark.parametrize(
    ("body", "parameters", "header", "expected"),
    [
        ({"query": MATCH}, {}, b"", PLAN),
        ({"query": MATCH, "highlight": {"fields": {"t": {}}}}, {}, b"", WindowPlan(PLAN.kinds, True, needs_page=True)),
        ({"query": MATCH, "_source": False}, {}, b"", PLAN),
        ({"query": MATCH}, {"docvalue_fields": "n"}, b"", WindowPlan(PLAN.kinds, needs_page=True)),
        ({"query": NAMED}, {}, b"", WindowPlan(PLAN.kinds, needs_query=True)),
        ({"query": wrapped(NAMED)}, {}, b"", WindowPlan(PLAN.kinds, needs_query=True)),
        ({"query": MATCH}, {"routing": "1"}, b"", WindowPlan((STORED_BAGS,))),
        ({"query": MATCH}, {}, b'{"preference": "_shards:1"}', WindowPlan((STORED_BAGS,))),
        ({"query": MATCH}, {}, b'{"index": "i", "unheard": 1}', WindowPlan()),
        ({"query": MATCH}, {"search_pipeline": "p"}, b"", WindowPlan()),
        ({"query": MATCH, "search_pipeline": "p"}, {}, b"", WindowPlan()),
        ({"query": MATCH, "collapse": {"field": "f"}}, {}, b"", WindowPlan()),
        ({"query": MATCH, "rescore": {}}, {}, b"", WindowPlan()),
        ({"query": {"hybrid": {"queries": [MATCH]}}}, {}, b"", WindowPlan()),
        ({"query": NESTED}, {}, b"", WindowPlan()),
        ({"query": {"bool": {"filter": [wrapped(NESTED)]}}}, {}, b"", WindowPlan()),
        ({"highlight": {"fields": {}}}, {"q": "cat"}, b"", WindowPlan()),
    ],
)
def test_only_searches_that_mean_the_same_in_two_requests_can_have_an_ids_only_window(
    body: dict[str, Any], parameters: dict[str, str], header: bytes, expected: WindowPlan
) -> None:
    assert read_window_plan(body, parameters, header, page_size=10, n_fetch=100) == expected


@pytest.mark.parametrize(("page_size", "kinds"), [(50, PLAN.kinds), (51, ()), (100, ())])
def test_a_page_of_most_of_the_window_comes_with_the_window(page_size: int, kinds: tuple[str, ...]) -> None:
    assert read_window_plan({"query": MATCH}, {}, b"", page_size, n_fetch=100).kinds == kinds


def test_an_index_is_asked_for_ids_only_windows_after_a_comparison_and_rests_after_a_failure() -> None:
    now = [0.0]
    kinds = WindowKinds(clock=lambda: now[0])
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) is None
    assert kinds.is_to_compare(STORED_BAGS, PLAN, CALLER, NAMES)
    kinds.is_same(NAMES, STORED_BAGS)
    assert not kinds.is_to_compare(STORED_BAGS, PLAN, CALLER, NAMES)
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) == STORED_BAGS
    assert kinds.kind_for(PLAN, CALLER, ("others",), TEXT) is None
    assert kinds.kind_for(WindowPlan((SEQUENCE_NUMBERS,)), CALLER, NAMES, TEXT) is None
    kinds.failed(CALLER, NAMES)
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) is None
    assert kinds.kind_for(PLAN, b"another", NAMES, TEXT) == STORED_BAGS
    now[0] = 31.0
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) == STORED_BAGS
    now[0] = 301.0
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) is None
    assert kinds.is_to_compare(STORED_BAGS, PLAN, CALLER, NAMES)


def test_a_text_is_searched_by_sequence_numbers_once_its_bags_are_cached() -> None:
    now = [0.0]
    kinds = WindowKinds(clock=lambda: now[0])
    kinds.is_same(NAMES, SEQUENCE_NUMBERS)
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) is None
    kinds.is_answered(CALLER, NAMES, TEXT, 0.0)
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) == SEQUENCE_NUMBERS
    for caller, names, text in ((b"another", NAMES, TEXT), (CALLER, ("others",), TEXT), (CALLER, NAMES, "red car")):
        assert kinds.kind_for(PLAN, caller, names, text) is None
    now[0] = 299.0
    kinds.is_same(NAMES, SEQUENCE_NUMBERS)
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) == SEQUENCE_NUMBERS
    now[0] = 301.0
    assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) is None


def test_a_new_text_is_searched_by_sequence_numbers_where_many_documents_of_the_last_new_one_were_cached() -> None:
    kinds = WindowKinds()
    kinds.is_same(NAMES, SEQUENCE_NUMBERS)
    for number, (share, expected) in enumerate([(0.3, None), (0.5, SEQUENCE_NUMBERS), (0.1, None)]):
        kinds.is_answered(CALLER, NAMES, f"text {number}", share)
        kinds.is_answered(CALLER, NAMES, "text 0", 1.0)  # it is not new any more
        assert kinds.kind_for(PLAN, CALLER, NAMES, TEXT) == expected
        assert kinds.kind_for(PLAN, b"another", NAMES, TEXT) is None


class Name(str):
    """A string that can be watched."""


def test_the_names_of_indices_are_not_kept() -> None:
    """A multi-search names as many as its body holds."""
    kinds, name = WindowKinds(), Name("x" * 1_000)
    watched = weakref.ref(name)
    kinds.is_same((name,), SEQUENCE_NUMBERS)
    kinds.is_answered(CALLER, (name,), TEXT, 1.0)
    assert kinds.kind_for(PLAN, CALLER, ("x" * 1_000,), TEXT) == SEQUENCE_NUMBERS
    kinds.failed(CALLER, (name,))
    del name
    assert watched() is None
