import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reranker.base.raw_json import (
    DuplicateKey,
    RawArray,
    RawObject,
    read_array,
    read_body,
    read_document,
    read_object,
    skip_value,
    write_array,
    write_object,
    write_value,
)
from reranker.native.json_array import element_starts
from reranker.upstream.answers import read_answer
from reranker.upstream.calls import Fallback

INTEGERS = st.integers(-(2**63), 2**64 - 1)  # more are read as floats in a list of hits
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
FORMS: list[dict[str, Any]] = [{}, {"indent": 2}, {"separators": (",", ":")}, {"indent": 0, "ensure_ascii": False}]


@given(value=st.dictionaries(st.text(max_size=4), VALUES, max_size=5), form=st.sampled_from(FORMS))
def test_an_object_is_read_where_it_stands(value: dict[str, Any], form: dict[str, Any]) -> None:
    text = f" \n{json.dumps(value, **form)}\t"
    raw: RawObject = read_document(text, read_object)
    assert raw.parsed == value
    assert json.loads(text[raw.start : raw.end]) == value
    for member in raw.members:
        assert json.loads(text[member.value_start : member.end]) == value[member.key]
    assert write_object(text, raw) == text[raw.start : raw.end]


@given(
    value=st.dictionaries(st.sampled_from("abcde"), VALUES, max_size=5),
    drop=st.sets(st.sampled_from("abcde")),
    form=st.sampled_from(FORMS),
)
def test_members_are_left_out_replaced_and_added(value: dict[str, Any], drop: set[str], form: dict[str, Any]) -> None:
    text = json.dumps(value, **form)
    raw: RawObject = read_document(text, read_object)
    written = json.loads(write_object(text, raw, drop=drop, replace={"a": "1.50", "b": "[2]"}, add={"new": '"x"'}))
    expected = {name: {"a": 1.5, "b": [2]}.get(name, one) for name, one in value.items() if name not in drop}
    assert written == {**expected, "new": "x"}
    assert list(written) == [*expected, "new"]


@given(value=st.lists(VALUES, max_size=5), form=st.sampled_from(FORMS), order=st.randoms())
def test_elements_are_put_in_another_order(value: list[Any], form: dict[str, Any], order: Any) -> None:
    text = json.dumps(value, **form)
    raw: RawArray = read_document(text, read_array)
    places = list(range(len(value)))
    order.shuffle(places)
    pieces = [text[raw.elements[place].start : raw.elements[place].end] for place in places]
    assert json.loads(write_array(text, raw, pieces)) == [value[place] for place in places]
    assert json.loads(write_array(text, raw, pieces[:1])) == [value[place] for place in places[:1]]


def test_an_array_that_stays_empty_keeps_its_blanks() -> None:
    assert write_array("[ ]", read_document("[ ]", read_array), []) == "[ ]"  # as the engines write it with `?pretty`
    assert write_array("[ 1 ]", read_document("[ 1 ]", read_array), []) == "[]"


@given(value=VALUES, form=st.sampled_from(FORMS))
@example({"v": [1.5, 2], "texts": ["]", "["], "lists": [[1], [2]], 'a"': [], "é": {"v": [1]}}, FORMS[0])
def test_a_value_is_skipped(value: Any, form: dict[str, Any]) -> None:
    text = json.dumps(value, **form)
    assert skip_value(f"  {text}, 1]", 2) == (None, 2 + len(text))


@given(text=st.text(alphabet='{}[]":,0a \\n', max_size=30))
@example(text="{}[]")
@example(text="[]{}")
def test_what_the_json_module_refuses_is_refused(text: str) -> None:
    for reader, kind in ((read_object, dict), (read_array, list)):
        try:
            expected = json.loads(text)
        except ValueError:
            expected = None
        if isinstance(expected, kind):
            read_document(text, reader)
        else:
            with pytest.raises(ValueError, match=r"\d|delimiter|control|Unterminated|escape"):
                read_document(text, reader)


@pytest.mark.parametrize(
    "hits", ["[1]", '[{"_id":"a"},[]]', '[{"_id":"a"},]', '[{"_id" "a"}]', '[{"_id":"a"}', "[{'_id':1}]"]
)
def test_an_answer_with_a_hit_that_is_no_object_is_no_answer(hits: str) -> None:
    with pytest.raises(Fallback, match="not a JSON object"):
        read_answer(f'{{"hits":{{"hits":{hits}}}}}'.encode())


@given(
    hits=st.lists(
        st.dictionaries(st.sampled_from(["_id", "_source", '\\"]', "é𝄞", "%"]), VALUES, max_size=4), max_size=5
    ),
    form=st.sampled_from(FORMS),
    rest=st.sampled_from([{}, {"aggregations": {"a": [1]}}, {"big": 2**70}]),
)
def test_each_hit_of_an_answer_is_found_where_it_stands(
    hits: list[dict[str, Any]], form: dict[str, Any], rest: dict[str, Any]
) -> None:
    text = json.dumps({"é": "ü", "hits": {"total": 1, "hits": hits}, **rest}, **form)
    answer = read_answer(text.encode())
    assert answer.found == hits
    for place, hit in enumerate(hits):
        raw = answer.hit(place)
        assert json.loads(text[raw.start : raw.end]) == hit
        assert {one.key: json.loads(text[one.value_start : one.end]) for one in raw.members} == hit


@given(value=st.lists(VALUES, max_size=5), form=st.sampled_from(FORMS))
def test_the_elements_of_an_array_begin_where_the_parser_finds_them(value: list[Any], form: dict[str, Any]) -> None:
    text = f"é {json.dumps(value, **form)}, 1]"
    raw, _ = read_array(text, 2)
    assert element_starts(text.encode(), 3, len(value)) == [one.start - 2 for one in raw.elements]


def test_numbers_and_escapes_are_left_as_they_are() -> None:
    text = '{"n":1.50E+2, "big":123456789012345678901234567890.5,"e":"\\u00e9\\/","x":1}'
    raw: RawObject = read_document(text, read_object)
    assert write_object(text, raw, drop=("x",)) == text.replace(',"x":1', "")


def test_of_two_members_of_one_name_the_last_counts() -> None:
    text = '{"a":1,"a":2}'
    raw: RawObject = read_document(text, read_object)
    assert raw.parsed["a"] == 2
    assert write_object(text, raw, drop=("a",)) == "{}"


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', '{"b": {"a": 1, "a": 1}}', '{"b": [{"a": 1, "\\u0061": 1}]}', '{"a": {"b": {"": 1, "": 1}}}'],
)
def test_a_body_with_a_key_twice_is_refused(text: str) -> None:
    with pytest.raises(DuplicateKey):
        read_body(text)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_a_body_says_what_the_json_module_reads(value: dict[str, Any]) -> None:
    assert read_body(json.dumps(value)).parsed == value


@pytest.mark.parametrize("value", [{"text": "half a pair: \ud83d", "n": 1}, {"n": 2**70, "text": "\u1ff3 é"}])
def test_a_value_is_written_that_orjson_refuses(value: dict[str, Any]) -> None:
    assert json.loads(write_value(value)) == value
