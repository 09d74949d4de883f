"""Exact transport without the solver beneath POT's own entry, whose name is not public."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from reranker.text.bags import WeightedBags
from reranker.transport import distances, exact


@pytest.fixture
def without_it(monkeypatch):
    yield lambda: (monkeypatch.setitem(sys.modules, "ot.lp.emd_wrap", None), exact._solver.cache_clear())
    exact._solver.cache_clear()


def test_the_public_entry_gives_the_same(table, random_bag, without_it):
    query, documents = random_bag(5), WeightedBags.join([random_bag(n) for n in (1, 3, 30)])
    before = distances(query, documents, table, "emd").values
    solver = exact._solver()
    without_it()
    after = distances(query, documents, table, "emd").values
    assert exact._solver() is not solver
    np.testing.assert_allclose(after, before, rtol=1e-12)
