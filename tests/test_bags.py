"""Bags of words and their packed form."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.bags import BagOfWords, WeightedBag, WeightedBags, pack, unpack
from reranker.errors import BadInput


def bag(term_ids, counts, n_unknown=0):
    return BagOfWords(np.array(term_ids, np.int32), np.array(counts, np.int32), n_unknown)


@given(
    st.dictionaries(st.integers(0, 2**31 - 1), st.integers(1, 65_535), max_size=50),
    st.integers(0, 2**32 - 1),
)
def test_unpack_gives_back_what_was_packed(counts, n_unknown):
    ids = sorted(counts)
    found = unpack(pack(bag(ids, [counts[i] for i in ids], n_unknown)))
    assert found.term_ids.tolist() == ids
    assert found.counts.tolist() == [counts[i] for i in ids]
    assert found.n_unknown == n_unknown


def test_the_packed_form_is_little_endian_and_fixed():
    # format 1, 2 unknown tokens, term ids 3 and 258, counts 1 and 5: written by hand
    by_hand = bytes([1, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 0, 0, 1, 0, 5, 0])
    assert base64.b64decode(pack(bag([3, 258], [1, 5], 2))) == by_hand


def test_a_count_that_does_not_fit_is_kept_as_the_largest():
    assert unpack(pack(bag([0], [70_000]))).counts.tolist() == [65_535]


@pytest.mark.parametrize(
    "packed",
    [
        "",
        "not base64!",
        base64.b64encode(b"\x02\0\0\0\0").decode(),
        base64.b64encode(b"\x01\0\0\0\0\0").decode(),
    ],
)
def test_what_was_not_packed_here_is_refused_with_the_cure(packed):
    with pytest.raises(BadInput, match="index the document again"):
        unpack(packed)


def test_joined_bags_come_apart_again():
    first = WeightedBag(np.array([1, 4], np.int32), np.array([0.25, 0.75]))
    empty = WeightedBag(np.array([], np.int32), np.array([]))
    last = WeightedBag(np.array([2], np.int32), np.array([1.0]))
    joined = WeightedBags.join([first, empty, last])
    assert joined.offsets.tolist() == [0, 2, 2, 3]
    assert [len(joined[i]) for i in range(3)] == [2, 0, 1]
    assert joined[0].weights.tolist() == [0.25, 0.75]
    with pytest.raises(IndexError):
        joined[3]


def test_no_bags_join_to_none():
    assert len(WeightedBags.join([])) == 0
