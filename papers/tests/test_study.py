"""What was tried, over a task of five pages in the words of `tests.support.tiny`."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from papers.studies.study import ATTEMPTS, SHARES, reciprocal_rank, study
from papers.studies.study_trial import Trial, trials
from papers.systems.runs import method_distances
from papers.tests.test_tasks_runs import corpus
from reranker.transport import Parameters, distances
from tests.demo.small_pages import page

RECORD = Path(__file__).parents[1] / "results" / "order.md"


def trial_of(pages, embeddings, n_queries=5):
    return next(trials(pages, embeddings, "pages", ["fr-en"], n_queries))


@pytest.fixture
def trial(embeddings):
    return trial_of(corpus(), embeddings)


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
    ordered = Trial(replace(trial.encoded, order=by_cosine.astype(np.int32)))
    found = np.ones((5, 5))
    found[0, 0] = 0.5  # alone in front: rank 1
    found[2, 4] = 0.5  # document 4 is nearer, and 0 and 1 tie before document 2: rank 4
    # The others tie with all: document 1 stands 1st by cosine for query 1, 3 1st for query 3, 4 last for query 4.
    assert reciprocal_rank(ordered, found) == pytest.approx((1 + 1 + 1 / 4 + 1 + 1 / 5) / 5)


@pytest.fixture
def with_unknown_words(embeddings):
    more = (
        page("new", "fr", "chat chien chat chien zzyzx qwerty qwerty pain"),
        page("new", "en", "cat dog cat dog zzyzx bread bread"),
    )
    trained = tuple(page(f"t{number}", "fr", "chat eau" if number % 2 else "pain") for number in range(60))
    return trial_of(replace(corpus(*more), train_pages=trained), embeddings, n_queries=6)


def test_unknown_words_are_counted_with_the_share_of_the_distinct_ones_that_a_document_lacks(with_unknown_words):
    shares, lacking = with_unknown_words.unknown_words()
    encoded = with_unknown_words.encoded
    asked = encoded.query_ids.index("fr/new")

    assert shares[asked, 0] == pytest.approx(3 / 8)
    # zzyzx is one of two unknown words, and stands in the page's translation alone.
    expected = [1 / 2 if doc_id == "en/new" else 1.0 for doc_id in encoded.doc_ids]
    assert lacking[asked] == pytest.approx(expected)
    assert not np.delete(shares, asked).any()
    assert not np.delete(lacking, asked, axis=0).any()


def test_the_parts_add_up_and_an_unknown_word_costs_one_where_it_is_lacking(with_unknown_words):
    trial = with_unknown_words
    nearest, balanced = (trial.relaxed(share, cost="cosine") for share in (0.0, 1.0))
    known = SHARES[0] * nearest + SHARES[1] * balanced + SHARES[2] * trial.nbow
    asked, own = trial.encoded.query_ids.index("fr/new"), trial.encoded.doc_ids.index("en/new")

    assert sum(SHARES) == pytest.approx(1)
    found = ATTEMPTS["the same, and unknown words"](trial)
    np.testing.assert_allclose(np.delete(found, asked, axis=0), np.delete(known, asked, axis=0))
    assert found[asked, own] == pytest.approx(5 / 8 * known[asked, own] + 3 / 8 * 1 / 2)


@pytest.mark.parametrize("name", [name for name in ATTEMPTS if ": auto" in name or "auto: " in name])
def test_the_attempts_that_are_called_auto_go_by_what_a_search_goes_by(with_unknown_words, name):
    found = ATTEMPTS[name](with_unknown_words)
    assert with_unknown_words.hubness.any()
    np.testing.assert_allclose(found, method_distances(with_unknown_words.encoded, "auto"), atol=1e-6)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_every_attempt_places_every_document_for_every_query(trial, name):
    found = ATTEMPTS[name](trial)
    assert found.shape == (5, 5)
    assert np.isfinite(found).all()


def test_the_study_is_the_mean_over_directions(embeddings):
    both = study(corpus(), embeddings, ["sinkhorn"], ["pages"], ["fr-en", "en-fr"])
    each = [study(corpus(), embeddings, ["sinkhorn"], ["pages"], [name]) for name in ("fr-en", "en-fr")]
    assert both["sinkhorn"]["pages"] == pytest.approx(np.mean([one["sinkhorn"]["pages"] for one in each]))


def test_the_three_parts_are_the_distances_of_auto(trial):
    encoded = trial.encoded
    found = ATTEMPTS["three parts: 45% nearest, 35% sinkhorn, 20% nbow"](trial)
    for row, query in enumerate(encoded.queries):
        expected = distances(query, encoded.documents, encoded.embeddings.vectors, "auto").values
        np.testing.assert_allclose(found[row], expected, atol=1e-6)


def test_the_record_of_what_was_tried_names_every_attempt_in_its_order():
    table = RECORD.read_text(encoding="utf-8").split("## All attempts")[1].split("\n\n")[2]
    assert re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[1:] == list(ATTEMPTS)
