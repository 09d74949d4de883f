"""The mean cosine to the nearest queries of a sample, against NumPy in double precision."""

import numpy as np
import pytest

from reranker.transport.query_sample import QuerySample
from tests.transport.conftest import unit_rows


def by_sorting(means, queries, n_nearest):
    cosines = means.astype(np.float64) @ queries.astype(np.float64).T
    return np.clip(np.sort(cosines, axis=1)[:, -n_nearest:].mean(axis=1), 0, 1)


@pytest.mark.parametrize("n_documents", [1, 5, 6, 7, 40])
@pytest.mark.parametrize(("n_queries", "n_nearest", "dim"), [(10, 10, 8), (50, 10, 33), (400, 10, 300), (17, 1, 20)])
def test_the_mean_cosine_to_the_nearest_is_that_of_sorting_them_all(n_documents, n_queries, n_nearest, dim):
    means, queries = unit_rows(n_documents, dim, 1), unit_rows(n_queries, dim, 2)
    sample, expected = QuerySample(queries, n_nearest), by_sorting(means, queries, n_nearest)
    np.testing.assert_allclose(sample.hubness(means), expected, atol=1e-6)


def test_a_document_without_a_mean_has_cosines_of_0():
    sample = QuerySample(unit_rows(60, 20, 3), 10)
    assert sample.hubness(np.zeros((2, 20), np.float32)).tolist() == [0.0, 0.0]


def test_what_comes_out_for_a_document_does_not_depend_on_those_beside_it():
    means, sample = unit_rows(23, 300, 4), QuerySample(unit_rows(400, 300, 5), 10)
    together = sample.hubness(means)
    for place in range(23):
        assert sample.hubness(means[place : place + 1])[0] == together[place]
