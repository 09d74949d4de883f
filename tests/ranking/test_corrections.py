"""The order of `auto` by hand: (1 - u) · distance + u · lacking + 0.2 · hubness."""

import math

import numpy as np
import pytest

from reranker.ranking.corrections import NO_CORRECTION, Correction, Corrections


def test_the_order_distance_is_the_sum_of_the_issue():
    correction = Correction(unknown_share=0.25, lacking_words=("a",), lacking_share=0.5, hubness=0.4)
    assert correction.order_distance(0.6) == pytest.approx(0.75 * 0.6 + 0.25 * 0.5 + 0.2 * 0.4)
    assert correction.added_by_lacking_words == pytest.approx(0.125)
    assert correction.added_by_hubness == pytest.approx(0.08)


def test_the_offset_orders_as_the_order_distance_does():
    near, holding = Correction(0.5, ("a",), 1.0, 0.3), Correction(0.5, (), 0.0, 0.5)
    for nearer in (0.0, 0.4, 0.95, 0.97, 1.5):
        by_offset = nearer + near.offset < 1.0 + holding.offset
        assert by_offset == (near.order_distance(nearer) < holding.order_distance(1.0))


def test_without_anything_to_correct_a_distance_stays_as_it_is():
    assert NO_CORRECTION.order_distance(0.3) == 0.3
    assert NO_CORRECTION.offset == 0.0


def test_a_document_without_a_known_word_stays_last():
    assert math.isinf(Correction(0.5, (), 0.0, 0.0).order_distance(math.inf))


def test_the_corrections_of_many_are_those_of_each():
    lacking = np.array([[True, False], [False, False], [True, True]])
    many = Corrections.make(3, np.array([0.3, 0.0, 1.0]), 0.25, ("foo", "bar"), lacking)
    one = many[0]
    assert one == Correction(0.25, ("foo",), 0.5, 0.3)
    for place in range(3):
        for name in ("added_by_lacking_words", "added_by_hubness", "offset"):
            assert getattr(many, name)[place] == pytest.approx(getattr(many[place], name))


def test_without_hubness_and_unknown_words_nothing_is_corrected():
    nothing = Corrections.make(2)
    assert nothing.offset.tolist() == [0.0, 0.0]
    assert [nothing[0], nothing[1]] == [NO_CORRECTION] * 2
