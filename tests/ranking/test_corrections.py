"""What moves candidates in the order of `auto`, by hand: (1 - u) · distance + u · lacking + 0.2 · hubness."""

import numpy as np
import pytest

from reranker.ranking.corrections import Corrections


def test_a_candidate_is_moved_by_its_hubness_and_the_words_that_it_lacks():
    lacking = np.array([[True, False], [False, False], [True, True]])
    many = Corrections.make(3, np.array([0.3, 0.0, 1.0]), 0.25, ("foo", "bar"), lacking)
    assert [many[place].lacking_words for place in range(3)] == [("foo",), (), ("foo", "bar")]
    assert (many[0].added_by_lacking_words, many[0].added_by_hubness) == pytest.approx((0.25 / 2, 0.06))
    assert many[0].order_distance(0.6) == pytest.approx(0.75 * 0.6 + 0.25 / 2 + 0.06)
    assert many[1].order_distance(0.6) == pytest.approx(0.75 * 0.6)
    assert many[2].order_distance(0.6) == pytest.approx(0.75 * 0.6 + 0.25 + 0.2)
