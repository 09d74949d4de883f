"""What was tried, over a task of five pages in the words of `tests.tiny`."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.corpora.pages import Page, Paragraph
from evaluation.systems.runs import method_distances
from papers.studies.study import ATTEMPTS, SHARES, reciprocal_rank, study
from papers.studies.study_trial import Sample, Trial, trials
from papers.studies.study_weights import Weights
from reranker.text.documents import id_hash
from reranker.transport import Parameters, distances
from tests.evaluation.test_tasks_runs import corpus
from tests.tiny import tiny_embeddings

RECORD = Path(__file__).parents[2] / "docs" / "evaluation.md"
# Of the ten terms of the tiny vocabulary.
NORMS = np.array([1.0, 2.0, 3.0, 1.0, 0.5, 1.0, 2.0, 3.0, 1.0, 0.0])


def trial_of(pages, embeddings, n_queries=5):
    return next(trials(pages, embeddings, "pages", ["fr-en"], n_queries, n_threads=1, norms=lambda: NORMS))


@pytest.fixture
def embeddings(tmp_path):
    return tiny_embeddings(tmp_path / "embeddings")


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
    ordered = Trial(replace(trial.encoded, order=by_cosine.astype(np.int32)), trial.corpus, trial.norms)
    found = np.ones((5, 5))
    found[0, 0] = 0.5  # alone in front: rank 1
    found[2, 4] = 0.5  # document 4 is nearer, and 0 and 1 tie before document 2: rank 4
    # The others tie with all: document 1 stands 1st by cosine for query 1, 3 1st for query 3, 4 last for query 4.
    assert reciprocal_rank(ordered, found) == pytest.approx((1 + 1 + 1 / 4 + 1 + 1 / 5) / 5)


def page(page_id, language, text):
    return Page(page_id, language, "", (Paragraph("par_1", text),))


def test_the_hubness_of_a_document_is_its_mean_cosine_to_the_nearest_ten_of_the_sample_or_0(embeddings):
    pages = [page(f"p{place:02}", "fr", "chat" if place < 9 else "pain") for place in range(12)]
    trial = trial_of(replace(corpus(), train_pages=tuple(pages)), embeddings)

    # Nine pages lie at (0.96, 0.28) and three opposite: one of these is among the nearest ten of a document on the side
    # of the nine; seven of the nine are among those of one on the other side, and their mean is below 0.
    vectors = np.array([embeddings.nbow(trial.encoded.documents[place]) for place in range(5)])
    cosines = vectors @ np.array([0.96, 0.28])
    assert (cosines > 0).tolist() == [True, False, False, False, False]
    np.testing.assert_allclose(trial.hubness(), np.where(cosines > 0, (9 * cosines - cosines) / 10, 0), atol=1e-6)


def test_a_sample_holds_the_first_words_of_pages_apart_from_those_that_ask_or_of_these(embeddings):
    trained = (page("t1", "fr", "chat pain pain pain"), page("t1", "en", "dog"), page("t2", "de", "hund"))
    held = replace(corpus(), languages=("en", "fr"), train_pages=trained)
    trial = trial_of(held, embeddings)

    (apart,) = trial.sample(Sample(n_words=1))
    assert [embeddings.term(term_id) for term_id in apart.term_ids.tolist()] == [("fr", "chat")]
    assert len(trial.sample(Sample("index", n_pages=3))) == 3
    others = trial.sample(Sample("index", languages="others"))  # the documents' language is English
    assert {embeddings.term(term_id)[0] for bag in others for term_id in bag.term_ids.tolist()} == {"fr"}


def test_of_more_pages_those_of_the_smallest_hashes_with_a_known_word_are_drawn_as_in_an_index(embeddings):
    words = {"p1": "chat", "p2": "chien", "p3": "zzyzx", "p4": "eau", "p5": "pain"}
    trained = tuple(page(page_id, "fr", word) for page_id, word in words.items())
    trial = trial_of(replace(corpus(), train_pages=trained), embeddings)

    nearest_first = [words[page_id] for page_id in sorted(words, key=id_hash) if page_id != "p3"]
    drawn = [embeddings.term(bag.term_ids[0]) for bag in trial.sample(Sample(n_pages=2))]
    assert drawn == [("fr", word) for word in nearest_first[:2]]


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
    nearest, balanced = trial.cosine_cost()
    known = SHARES[0] * nearest + SHARES[1] * balanced + SHARES[2] * trial.nbow
    asked, own = trial.encoded.query_ids.index("fr/new"), trial.encoded.doc_ids.index("en/new")

    assert sum(SHARES) == pytest.approx(1)
    found = ATTEMPTS["the same, and unknown words"](trial)
    np.testing.assert_allclose(np.delete(found, asked, axis=0), np.delete(known, asked, axis=0))
    assert found[asked, own] == pytest.approx(5 / 8 * known[asked, own] + 3 / 8 * 1 / 2)


@pytest.mark.parametrize("name", [name for name in ATTEMPTS if ": auto" in name or "auto: " in name])
def test_the_attempts_that_are_called_auto_go_by_what_a_search_goes_by(with_unknown_words, name):
    found = ATTEMPTS[name](with_unknown_words)
    assert with_unknown_words.hubness().any()
    np.testing.assert_allclose(found, method_distances(with_unknown_words.encoded, "auto"), atol=1e-6)


def test_weights_of_tf_idf_are_those_of_the_task(with_unknown_words):
    again, encoded = with_unknown_words.weighed(Weights()).encoded, with_unknown_words.encoded
    for ours, theirs in zip(again.queries, encoded.queries, strict=True):
        np.testing.assert_array_equal(ours.term_ids, theirs.term_ids)
        np.testing.assert_allclose(ours.weights, theirs.weights)
    np.testing.assert_allclose(again.documents.weights, encoded.documents.weights)
    np.testing.assert_allclose(again.cosines, encoded.cosines, atol=1e-6)


def test_words_are_weighed_by_the_norms_of_their_embeddings_in_queries_documents_and_the_sample(with_unknown_words):
    trial = with_unknown_words.weighed(Weights(idf=0, norm=1))
    # pets: chat three times at norm 1, chien three at 2, eau once at 3; road in English: car four at 0.5, and so on.
    query = trial.encoded.queries[trial.encoded.query_ids.index("fr/pets")]
    assert dict(zip(query.term_ids.tolist(), query.weights.tolist(), strict=True)) == pytest.approx(
        {5: 3 / 12, 6: 6 / 12, 7: 3 / 12}
    )
    document = trial.encoded.documents[trial.encoded.doc_ids.index("en/road")]
    assert dict(zip(document.term_ids.tolist(), document.weights.tolist(), strict=True)) == pytest.approx(
        {1: 2 / 7.5, 2: 3 / 7.5, 4: 2.5 / 7.5}
    )
    # The sample says "chat eau" or "pain".
    assert {tuple(bag.weights.tolist()) for bag in trial.sample(Sample())} == {(0.25, 0.75), (1.0,)}
    assert trial.nbow[0, 0] == pytest.approx(
        1
        - trial.encoded.embeddings.nbow(trial.encoded.queries[0])
        @ trial.encoded.embeddings.nbow(trial.encoded.documents[0]),
        abs=1e-6,
    )


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
