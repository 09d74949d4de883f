"""The order of `auto` by hand: (1 - u) · distance + u · lacking + 0.2 · hubness."""

import numpy as np
import pytest

from reranker.ranking.corrections import Correction, Corrections


def test_the_corrections_of_many_are_those_of_each():
    lacking = np.array([[True, False], [False, False], [True, True]])
    many = Corrections.make(3, np.array([0.3, 0.0, 1.0]), 0.25, ("foo", "bar"), lacking)
    one = many[0]
    assert one == Correction(0.25, ("foo",), 0.5, 0.3)
    for place in range(3):
        for name in ("added_by_lacking_words", "added_by_hubness"):
            assert getattr(many, name)[place] == pytest.approx(getattr(many[place], name))
        assert 0.75 * (0.6 + many.offset[place]) == pytest.approx(many[place].order_distance(0.6))
