"""What was tried, over a task of five pages in the words of `tests.tiny`."""

from dataclasses import replace

import numpy as np
import pytest

from evaluation.runs import method_distances
from evaluation.study import ATTEMPTS, N_SAMPLE_WORDS, Trial, reciprocal_rank, study, trials
from reranker.transport import Parameters
from tests.evaluation.test_tasks_runs import corpus
from tests.tiny import tiny_embeddings


@pytest.fixture
def embeddings(tmp_path):
    return tiny_embeddings(tmp_path / "embeddings")


@pytest.fixture
def trial(embeddings):
    return next(trials(corpus(), embeddings, "pages", ["fr-en"], n_queries=5, n_threads=1))


def test_a_share_of_one_is_sinkhorn_and_of_a_half_is_tau_equal_to_epsilon(trial):
    np.testing.assert_array_equal(trial.relaxed(1.0), method_distances(trial.encoded, "sinkhorn"))
    np.testing.assert_array_equal(trial.relaxed(0.5), method_distances(trial.encoded, "relaxed"))


def test_a_share_of_none_is_settled_after_one_iteration(trial):
    settled = method_distances(trial.encoded, "relaxed", Parameters(n_iterations=50, tau=0.0))
    np.testing.assert_allclose(trial.relaxed(0.0), settled, rtol=1e-6)


def test_a_mixture_lies_between_its_ends_by_its_weight(trial):
    expected = 0.25 * trial.relaxed(0.0) + 0.75 * trial.relaxed(1.0)
    np.testing.assert_allclose(trial.mixed(0.75), expected)


def test_the_rank_is_that_of_the_querys_own_document_and_ties_keep_the_first_stages_order(trial):
    by_cosine = np.array([[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [0, 1, 2, 3, 4], [3, 0, 1, 2, 4], [0, 1, 2, 3, 4]])
    ordered = Trial(replace(trial.encoded, order=by_cosine.astype(np.int32)), ())
    found = np.ones((5, 5))
    found[0, 0] = 0.5  # alone in front: rank 1
    found[2, 4] = 0.5  # document 4 is nearer, and 0 and 1 tie before document 2: rank 4
    # The others tie with all: document 1 stands 1st by cosine for query 1, 3 1st for query 3, 4 last for query 4.
    assert reciprocal_rank(ordered, found) == pytest.approx((1 + 1 + 1 / 4 + 1 + 1 / 5) / 5)


def test_a_document_that_is_near_to_the_whole_sample_is_a_hub(trial):
    nearest_to_all = trial.hubness(0.5).argmin()
    shifted = trial.mixed(0.5) - 0.5 * trial.hubness(0.5)
    # Taking the hubness off moves the hub back against every other document, for each query.
    gain = (shifted - trial.mixed(0.5)) - (shifted - trial.mixed(0.5))[:, [nearest_to_all]]
    assert (gain <= 1e-12).all()
    assert all(len(bag) <= N_SAMPLE_WORDS for bag in trial.sample)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_every_attempt_places_every_document_for_every_query(trial, name):
    found = ATTEMPTS[name](trial)
    assert found.shape == (5, 5)
    assert np.isfinite(found).all()


def test_the_study_is_the_mean_over_directions(embeddings):
    both = study(corpus(), embeddings, ["sinkhorn"], ["pages"], ["fr-en", "en-fr"])
    each = [study(corpus(), embeddings, ["sinkhorn"], ["pages"], [name]) for name in ("fr-en", "en-fr")]
    assert both["sinkhorn"]["pages"] == pytest.approx(np.mean([one["sinkhorn"]["pages"] for one in each]))
