import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.service.json_text import float_text, to_json


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_has_a_point_and_no_exponent_and_reads_back_as_the_same(value: float) -> None:
    text = float_text(value)
    assert re.fullmatch(r"-?\d+\.\d+", text)
    assert json.loads(text) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.integers(0, 5),
)
def test_what_is_written_reads_back_as_the_same(value: object, depth: int) -> None:
    assert json.loads(to_json(value, depth)) == value


def test_numpy_free_values_that_json_cannot_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="nan"):
        to_json({"score": float("nan")})
