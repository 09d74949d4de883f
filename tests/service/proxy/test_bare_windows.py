"""When a window is asked for without its text, without an engine."""

from __future__ import annotations

from typing import Any

import pytest

from reranker.base.raw_json import TOO_DEEP
from reranker.proxy.bare_windows import (
    BAGS,
    NUMBERS,
    BarePlan,
    WindowMemory,
    is_same_window,
    read_bare_plan,
)

CALLER, NAMES = b"caller", ("pages",)
PLAN = BarePlan((BAGS, NUMBERS))
MATCH = {"match": {"t": "cat"}}


def hit(n: int, **stored: Any) -> dict[str, Any]:
    return {"_index": "i", "_id": f"d{n}", "_seq_no": n, "_primary_term": 1, **stored}


def bare_hit(n: int, **values: Any) -> dict[str, Any]:
    fields = {"doc_id": [f"d{n}"], "bag": ["AgA="], **values}
    return {"_index": "i", "_seq_no": n, "_primary_term": 1, "fields": fields}


def answer(n_shards: int = 1, **members: Any) -> dict[str, Any]:
    return {"took": 1, "_shards": {"total": n_shards}, "hits": {}, **members}


WHOLE = (answer(), [hit(1), hit(2)])


@pytest.mark.parametrize("kind", [BAGS, NUMBERS])
def test_a_bare_window_with_the_same_hits_is_the_same(kind: str) -> None:
    assert is_same_window(kind, WHOLE, (answer(), [bare_hit(1), bare_hit(2)]))


@pytest.mark.parametrize("kind", [BAGS, NUMBERS])
@pytest.mark.parametrize(
    "bare",
    [
        (answer(), [bare_hit(2), bare_hit(1)]),  # a processor puts them in another order
        (answer(), [bare_hit(1)]),
        (answer(), [bare_hit(1), {**bare_hit(2), "_seq_no": 3}]),
        (answer(ext={"generated": "of the hits"}), [bare_hit(1), bare_hit(2)]),
    ],
)
def test_a_pipeline_or_a_change_shows_in_a_trial(kind: str, bare: Any) -> None:
    assert not is_same_window(kind, WHOLE, bare)


def test_stored_bags_need_a_bag_and_the_right_id_on_each_hit() -> None:
    assert not is_same_window(BAGS, WHOLE, (answer(), [bare_hit(1), bare_hit(2, bag=[])]))
    assert not is_same_window(BAGS, WHOLE, (answer(), [bare_hit(1), bare_hit(2, doc_id=["d3"])]))
    assert is_same_window(BAGS, (answer(3), WHOLE[1]), (answer(3), [bare_hit(1), bare_hit(2)]))


def test_sequence_numbers_name_documents_of_one_shard_alone() -> None:
    assert not is_same_window(NUMBERS, (answer(3), WHOLE[1]), (answer(3), [bare_hit(1), bare_hit(2)]))


@pytest.mark.parametrize(
    ("body", "parameters", "header", "expected"),
    [
        ({"query": MATCH}, {}, b"", PLAN),
        ({"query": MATCH, "highlight": {"fields": {"t": {}}}}, {}, b"", BarePlan(PLAN.kinds, needs_query=True)),
        ({"query": {"bool": {"must": MATCH, "_name": "n"}}}, {}, b"", BarePlan(PLAN.kinds, needs_query=True)),
        ({"query": MATCH}, {"routing": "1"}, b"", BarePlan((BAGS,))),
        ({"query": MATCH}, {}, b'{"preference": "_shards:1"}', BarePlan((BAGS,))),
        ({"query": MATCH}, {}, b'{"index": "i", "unheard": 1}', BarePlan()),
        ({"query": MATCH}, {"search_pipeline": "p"}, b"", BarePlan()),
        ({"query": MATCH, "search_pipeline": "p"}, {}, b"", BarePlan()),
        ({"query": MATCH, "collapse": {"field": "f"}}, {}, b"", BarePlan()),
        ({"query": MATCH, "rescore": {}}, {}, b"", BarePlan()),
        ({"query": {"hybrid": {"queries": [MATCH]}}}, {}, b"", BarePlan()),
        ({"query": {"nested": {"path": "p", "query": MATCH, "inner_hits": {}}}}, {}, b"", BarePlan()),
        ({"query": {"bool": {"must": [TOO_DEEP]}}}, {}, b"", BarePlan()),
        ({"query": MATCH, "suggest": {"s": {"prefix": "c", "completion": {"field": "f"}}}}, {}, b"", BarePlan()),
        ({"highlight": {"fields": {}}}, {"q": "cat"}, b"", BarePlan()),
    ],
)
def test_only_searches_that_mean_the_same_in_two_requests_can_have_a_bare_window(
    body: dict[str, Any], parameters: dict[str, str], header: bytes, expected: BarePlan
) -> None:
    assert read_bare_plan(body, parameters, header, page_size=10, n_fetch=100) == expected


@pytest.mark.parametrize(("page_size", "kinds"), [(50, PLAN.kinds), (51, ()), (100, ())])
def test_a_page_of_most_of_the_window_comes_with_the_window(page_size: int, kinds: tuple[str, ...]) -> None:
    assert read_bare_plan({"query": MATCH}, {}, b"", page_size, n_fetch=100).kinds == kinds


def test_an_index_is_asked_for_bare_windows_after_a_trial_and_rests_after_a_failure() -> None:
    now = [0.0]
    memory = WindowMemory(clock=lambda: now[0])
    assert memory.kind_for(PLAN, CALLER, NAMES) is None
    assert memory.kind_to_try(PLAN, CALLER, NAMES, has_stored_bags=True) == BAGS
    memory.fits(NAMES, BAGS)
    assert memory.kind_for(PLAN, CALLER, NAMES) == BAGS
    assert memory.kind_for(PLAN, CALLER, ("others",)) is None
    memory.failed(CALLER, NAMES)
    assert memory.kind_for(PLAN, CALLER, NAMES) is None
    assert memory.kind_for(PLAN, b"another", NAMES) == BAGS
    now[0] = 31.0
    assert memory.kind_for(PLAN, CALLER, NAMES) == BAGS
    now[0] = 301.0
    assert memory.kind_for(PLAN, CALLER, NAMES) is None


def test_sequence_numbers_are_asked_for_while_most_bags_are_known() -> None:
    memory = WindowMemory()
    assert memory.kind_to_try(PLAN, CALLER, NAMES, has_stored_bags=False) is None
    for _ in range(3):
        memory.note_known(CALLER, NAMES, 1.0)  # 0.5, 0.75, 0.875
    assert memory.kind_to_try(PLAN, CALLER, NAMES, has_stored_bags=False) == NUMBERS
    memory.fits(NAMES, NUMBERS)
    assert memory.kind_for(PLAN, CALLER, NAMES) == NUMBERS
    assert memory.kind_for(PLAN, b"another", NAMES) is None
    memory.note_known(CALLER, NAMES, 0.0)
    assert memory.kind_for(PLAN, CALLER, NAMES) is None


def test_an_index_of_ours_has_stored_bags_until_those_of_the_last_windows_were_known() -> None:
    memory = WindowMemory()
    memory.fits(NAMES, BAGS)
    kinds = []
    for share in (0.0, 1.0, 1.0, 1.0, 0.0):  # 0, 0.5, 0.75, 0.875, 0.4375
        kinds.append(memory.kind_for(PLAN, CALLER, NAMES))
        memory.note_known(CALLER, NAMES, share)
    assert kinds == [BAGS, BAGS, BAGS, BAGS, NUMBERS]
    assert memory.kind_for(PLAN, CALLER, NAMES) == BAGS
    memory.note_known(CALLER, NAMES, 1.0)
    memory.note_known(CALLER, NAMES, 1.0)
    assert memory.kind_for(PLAN, CALLER, NAMES) == NUMBERS
    assert memory.kind_for(PLAN, b"another", NAMES) == BAGS
    assert memory.kind_for(BarePlan((BAGS,)), CALLER, NAMES) == BAGS


def test_a_window_of_unknown_bags_is_followed_by_whole_ones_until_most_are_known_again() -> None:
    memory = WindowMemory(clock=lambda: 0.0)
    for _ in range(3):
        memory.note_known(CALLER, NAMES, 1.0)
    memory.fits(NAMES, NUMBERS)
    memory.lost(CALLER, NAMES, known_share=0.5)  # 0.875 and 0.5: 0.6875
    assert memory.kind_for(PLAN, CALLER, NAMES) is None
    memory.note_known(CALLER, NAMES, 1.0)
    assert memory.kind_for(PLAN, CALLER, NAMES) == NUMBERS
    memory.lost(CALLER, NAMES, known_share=1.0)
    memory.note_known(CALLER, NAMES, 1.0)
    assert memory.kind_for(PLAN, CALLER, NAMES) is None


def test_whole_windows_can_be_kept() -> None:
    memory = WindowMemory(kinds=())
    assert memory.kind_to_try(PLAN, CALLER, NAMES, has_stored_bags=True) is None
