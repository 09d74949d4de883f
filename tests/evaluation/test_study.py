"""What was tried, over a task of five pages in the words of `tests.tiny`."""

from dataclasses import replace

import numpy as np
import pytest

from evaluation.corpora.pages import Page, Paragraph
from evaluation.runs import method_distances
from evaluation.study import ATTEMPTS, SHARES, reciprocal_rank, study
from evaluation.study_trial import Sample, Trial, trials
from reranker.transport import Parameters, distances
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
    ordered = Trial(replace(trial.encoded, order=by_cosine.astype(np.int32)), trial.corpus)
    found = np.ones((5, 5))
    found[0, 0] = 0.5  # alone in front: rank 1
    found[2, 4] = 0.5  # document 4 is nearer, and 0 and 1 tie before document 2: rank 4
    # The others tie with all: document 1 stands 1st by cosine for query 1, 3 1st for query 3, 4 last for query 4.
    assert reciprocal_rank(ordered, found) == pytest.approx((1 + 1 + 1 / 4 + 1 + 1 / 5) / 5)


def page(page_id, language, text):
    return Page(page_id, language, "", (Paragraph("par_1", text),))


def test_the_hubness_of_a_document_is_its_mean_cosine_to_the_nearest_ten_of_the_sample(embeddings):
    pages = [page(f"p{place:02}", "fr", "chat") for place in range(11)] + [page("p11", "fr", "pain")]
    trial = next(trials(replace(corpus(), train_pages=tuple(pages)), embeddings, "pages", ["fr-en"], 5, 1))

    # Eleven pages lie at (0.96, 0.28) and one opposite: it is the nearest of a document on its side, with nine others.
    vectors = np.array([embeddings.nbow(trial.encoded.documents[place]) for place in range(5)])
    cosines = vectors @ np.array([0.96, 0.28])
    assert (cosines > 0).tolist() == [True, False, False, False, False]
    np.testing.assert_allclose(trial.hubness(), np.where(cosines > 0, cosines, (9 * cosines - cosines) / 10), atol=1e-6)


def test_a_sample_holds_the_first_words_of_pages_apart_from_those_that_ask_or_of_these(embeddings):
    trained = (page("t1", "fr", "chat pain pain pain"), page("t1", "en", "dog"), page("t2", "de", "hund"))
    held = replace(corpus(), languages=("en", "fr"), train_pages=trained)
    trial = next(trials(held, embeddings, "pages", ["fr-en"], 5, 1))

    (apart,) = trial.sample(Sample(n_words=1))
    assert [embeddings.term(term_id) for term_id in apart.term_ids.tolist()] == [("fr", "chat")]
    assert len(trial.sample(Sample("index", n_pages=3))) == 3
    others = trial.sample(Sample("index", languages="others"))  # the documents' language is English
    assert {embeddings.term(term_id)[0] for bag in others for term_id in bag.term_ids.tolist()} == {"fr"}


def test_a_document_that_is_near_to_the_whole_sample_is_a_hub_by_transport_too(trial):
    sample = Sample("index", 20, 200)
    rows = np.array([trial.transport_hubness(0.0, sample), trial.transport_hubness(1.0, sample)])
    # Five pages, fewer than ten, are all the nearest: the mean over them, of each part.
    expected = [trial.relaxed(share).mean(axis=0) for share in (0.0, 1.0)]
    np.testing.assert_allclose(rows, expected, atol=1e-4)


@pytest.fixture
def with_unknown_words(embeddings):
    more = (
        page("new", "fr", "chat chien chat chien zzyzx qwerty qwerty pain"),
        page("new", "en", "cat dog cat dog zzyzx bread bread"),
    )
    return next(trials(corpus(*more), embeddings, "pages", ["fr-en"], 6, 1))


def test_unknown_words_are_counted_with_the_share_of_them_that_a_document_lacks(with_unknown_words):
    shares, lacking = with_unknown_words.unknown_words()
    encoded = with_unknown_words.encoded
    asked = encoded.query_ids.index("fr/new")

    assert shares[asked, 0] == pytest.approx(3 / 8)
    # zzyzx is one of the three unknown tokens, and stands in the page's translation alone.
    expected = [2 / 3 if doc_id == "en/new" else 1.0 for doc_id in encoded.doc_ids]
    assert lacking[asked] == pytest.approx(expected)
    assert not np.delete(shares, asked).any()
    assert not np.delete(lacking, asked, axis=0).any()


def test_the_proposal_is_the_sum_of_its_parts_and_an_unknown_word_costs_one_where_it_is_lacking(with_unknown_words):
    trial = with_unknown_words
    nearest, balanced = trial.cosine_cost()
    known = SHARES[0] * nearest + SHARES[1] * balanced + SHARES[2] * trial.nbow
    asked, own = trial.encoded.query_ids.index("fr/new"), trial.encoded.doc_ids.index("en/new")

    assert sum(SHARES) == pytest.approx(1)
    found = ATTEMPTS["the same, and unknown words"](trial)
    np.testing.assert_allclose(np.delete(found, asked, axis=0), np.delete(known, asked, axis=0))
    assert found[asked, own] == pytest.approx(5 / 8 * known[asked, own] + 3 / 8 * 2 / 3)
    np.testing.assert_allclose(ATTEMPTS["the same, and hubness: proposed"](trial), found + 0.2 * trial.hubness())


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
