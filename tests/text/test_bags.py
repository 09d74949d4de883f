"""Bags of words and their packed form."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.base.errors import BadInput
from reranker.text.bags import (
    MAX_UNKNOWN_HASHES,
    BagOfWords,
    WeightedBag,
    WeightedBags,
    pack,
    unknown_hash,
    unknown_hashes,
    unpack,
)


def bag(term_ids, counts, n_unknown=0, hashes=()):
    return BagOfWords(np.array(term_ids, np.int32), np.array(counts, np.int32), n_unknown, np.array(hashes, np.uint32))


@given(
    st.dictionaries(st.integers(0, 2**31 - 1), st.integers(1, 65_535), max_size=50),
    st.integers(0, 2**32 - 1),
    st.sets(st.integers(0, 2**32 - 1), max_size=50),
)
def test_unpack_gives_back_what_was_packed(counts, n_unknown, hashes):
    ids = sorted(counts)
    found = unpack(pack(bag(ids, [counts[i] for i in ids], n_unknown, sorted(hashes))))
    assert found.unknown_hashes.tolist() == sorted(hashes)
    assert found.term_ids.tolist() == ids
    assert found.counts.tolist() == [counts[i] for i in ids]
    assert found.n_unknown == n_unknown


@pytest.mark.parametrize("n_hashes", [0, 1, 2])
def test_a_bag_without_the_padding_of_its_base64_is_read(n_hashes: int) -> None:
    packed = pack(bag([3, 258], [1, 5], 2, list(range(n_hashes))))
    found = unpack(packed.rstrip("="))
    assert (found.term_ids.tolist(), found.counts.tolist(), found.n_unknown) == ([3, 258], [1, 5], 2)


def test_the_packed_form_is_little_endian_and_fixed():
    # format 2, 2 unknown tokens, 1 hash, 0x01020304, term ids 3 and 258, counts 1 and 5: written by hand
    by_hand = bytes([2, 2, 0, 0, 0, 1, 0, 4, 3, 2, 1, 3, 0, 0, 0, 2, 1, 0, 0, 1, 0, 5, 0])
    assert base64.b64decode(pack(bag([3, 258], [1, 5], 2, [0x01020304]))) == by_hand


def test_the_packed_form_of_a_long_text_ends_with_the_parts_of_its_words():
    # format 3, 2 unknown tokens, 1 hash, 0x01020304, term ids 3 and 258, counts 1 and 5, parts: written by hand
    by_hand = bytes([3, 2, 0, 0, 0, 1, 0, 4, 3, 2, 1, 3, 0, 0, 0, 2, 1, 0, 0, 1, 0, 5, 0])
    by_hand += bytes([1, 0, 0, 0, 6, 0, 0, 0x80, 2, 0, 0, 0])
    long = bag([3, 258], [1, 5], 2, [0x01020304])
    long.parts = np.array([1, 0x80000006, 2], np.uint32)
    assert base64.b64decode(pack(long)) == by_hand
    found = unpack(pack(long))
    assert (found.term_ids.tolist(), found.counts.tolist(), found.n_unknown) == ([3, 258], [1, 5], 2)
    assert (found.unknown_hashes.tolist(), found.parts.tolist()) == ([0x01020304], [1, 0x80000006, 2])


def test_of_some_parts_of_a_text_each_word_comes_once():
    long = bag([3, 5, 258], [1, 6, 4], 3, [7, 8])
    # 5 stands in the parts 1, 2 and 31, 258 in 2 and 3; the hashes in 0 and 1
    long.parts = np.array([0b1, 0x80000006, 0b1100, 0b1, 0b10], np.uint32)
    found = long.at_parts(0b0110)
    assert (found.term_ids.tolist(), found.counts.tolist()) == ([5, 258], [1, 1])
    assert (found.unknown_hashes.tolist(), found.n_unknown, found.parts) == ([8], 1, None)


def test_a_token_s_hash_is_its_crc_32():
    assert unknown_hash("123456789") == 0xCBF43926  # the check value of CRC-32 in every catalogue of it


def test_half_a_surrogate_pair_has_a_hash():
    assert unknown_hash("\ud800") != unknown_hash("\ud801")


def test_hashes_are_distinct_ascending_and_limited():
    tokens = [f"token{i}" for i in range(3_000)]
    found = unknown_hashes([*tokens, *tokens])
    assert len(found) == MAX_UNKNOWN_HASHES
    assert (np.diff(found.astype(np.int64)) > 0).all()


def test_a_count_that_does_not_fit_is_kept_as_the_largest():
    assert unpack(pack(bag([0], [70_000]))).counts.tolist() == [65_535]


@pytest.mark.parametrize(
    "packed",
    [
        "",
        "not base64!",
        base64.b64encode(b"\x02\0\0\0\0").decode(),
        base64.b64encode(b"\x04\0\0\0\0\0\0").decode(),
        base64.b64encode(b"\x03\0\0\0\0\x01\0\1\2\3\4").decode(),  # a hash without its part
        base64.b64encode(b"\x02\0\0\0\0\0\0\0").decode(),
        base64.b64encode(b"\x02\0\0\0\0\x05\0").decode(),  # five hashes, none there
    ],
)
def test_what_was_not_packed_here_is_refused_with_the_cure(packed):
    with pytest.raises(BadInput, match="index the document again"):
        unpack(packed)


def test_a_bag_is_within_a_store_that_has_all_its_terms():
    # written by others: the ids need not ascend, and 0xFFFFFFFF is read as -1
    for ids, n_terms, is_within in [
        ([], 1, True),
        ([0], 1, True),
        ([7, 3], 8, True),
        ([7, 3], 7, False),
        ([7, 3], 4, False),
        ([-1], 8, False),
        ([2, -(2**31)], 2**31 - 1, False),
    ]:
        assert bag(ids, [1] * len(ids)).is_within(n_terms) is is_within


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
