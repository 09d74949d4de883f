"""The L1 distance between bags of words (Sato et al. 2022)."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.spatial.distance import cityblock

from papers.systems.bags_l1 import BagsL1

DOCUMENTS = [["cat", "cat", "dog"], ["dog", "bread"], []]
ALL = np.arange(3)


def test_the_distance_is_the_sum_of_differences_of_weights_that_sum_to_1() -> None:
    found = BagsL1(DOCUMENTS, [["cat", "dog"]], is_idf=False).distances(["cat", "dog"], ALL)
    # Weights of bread, cat and dog. A document without a word is as far as can be.
    query, first, second = (0, 1 / 2, 1 / 2), (0, 2 / 3, 1 / 3), (1 / 2, 0, 1 / 2)
    assert found == pytest.approx([cityblock(query, first), cityblock(query, second), 2.0])


def test_idf_weighs_words_by_the_documents_that_have_them() -> None:
    query = ["cat", "dog"]
    found = BagsL1(DOCUMENTS, [query], is_idf=True).distances(query, np.array([0]))
    # Of three documents one has cat, two have dog.
    cat, dog = log(4 / 2), log(4 / 3)
    expected = cityblock((cat / (cat + dog), dog / (cat + dog)), (2 * cat / (2 * cat + dog), dog / (2 * cat + dog)))
    assert found == pytest.approx([expected])


def test_a_word_that_no_document_has_takes_its_part_of_the_weight() -> None:
    query = ["moon", "dog"]
    found = BagsL1(DOCUMENTS, [query], is_idf=False).distances(query, np.array([1]))
    # bread, dog, moon: (0, 1/2, 1/2) and (1/2, 1/2, 0).
    assert found == pytest.approx([1.0])


def test_rows_are_those_that_are_asked_for() -> None:
    bags = BagsL1(DOCUMENTS, [["dog"]], is_idf=False)
    assert bags.distances(["dog"], np.array([1, 0])) == pytest.approx(bags.distances(["dog"], ALL)[[1, 0]])
