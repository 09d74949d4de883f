"""The default order across languages on a task of hand-placed words (tests/support/tiny.py)."""

from dataclasses import replace

import numpy as np
import pytest
from ir_measures import Qrel

from papers.corpora.tasks import Direction, Task
from papers.held_out.translated import by_evidence, translated_scores, with_default_candidates
from papers.systems.runs import encode


@pytest.fixture
def encoded(embeddings):
    queries = {"fr/1": ("chat",), "fr/2": ("zzz", "pain")}
    documents = {"en/1": ("cat", "water"), "en/2": ("bread",), "en/3": ("car", "zzz"), "en/4": ("dog",)}
    task = Task(Direction("fr", "en"), "first3", queries, documents, queries, (Qrel("fr/1", "en/1", 1),))
    return encode(task, embeddings)


def test_documents_score_by_translations_and_by_words_that_stay(encoded):
    scores = translated_scores(encoded)
    # chat: cat at 0.96 and dog at 0.936. pain: bread at 0.96 and, by 0.12, cat; zzz is nobody's word and stays.
    assert (scores[0] > 0).tolist() == [True, False, False, True]
    assert (scores[1] > 0).tolist()[1:3] == [True, True]


def test_the_candidates_are_those_of_both_first_stages_by_their_fused_ranks(encoded):
    translated = np.array([[0.0, 0.0, 5.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    cosines = np.array([[0.9, 0.8, 0.1, 0.7], [0.1, 0.4, 0.3, 0.2]], np.float32)
    order = np.argsort(-cosines, axis=1).astype(np.int32)
    found = with_default_candidates(replace(encoded, cosines=cosines, order=order), translated, 2)
    # The first query: 1/61 for documents 0 (kNN) and 2 (translations), 1/62 for 1 and 3; ties as kNN has them.
    assert found.order[0].tolist() == [0, 2, 1, 3]
    assert found.order[1].tolist() == order[1].tolist()


def test_three_tenths_of_a_short_querys_order_are_the_score_of_the_translated_search(encoded):
    translated = np.array([[2.0, 4.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0]])
    distances = np.array([[0.1, 0.5, np.inf, 0.3], [0.2, 0.1, 0.3, 0.4]])
    found = by_evidence(encoded, translated, distances, None)
    near = np.array([1.0, 0.0, 0.0, 0.5])
    assert found[0] == pytest.approx(-(0.3 * np.array([0.5, 1.0, 0.0, 0.75]) + 0.7 * near))
    # Without a word in common the distances alone decide.
    assert np.argsort(found[1]).tolist() == [1, 0, 2, 3]


def test_a_candidate_that_a_full_run_left_out_has_the_lowest_score_of_the_run(encoded):
    translated = np.array([[2.0, 4.0, 1.0, 3.0], [0.0, 0.0, 0.0, 0.0]])
    distances = np.zeros((2, 4))
    columns = encoded.order[0, :2]
    found = by_evidence(encoded, translated, distances, 2)
    expected = np.maximum(translated[0], 3.0)[columns]
    scaled = (expected - expected.min()) / np.ptp(expected) if np.ptp(expected) else np.ones(2)
    assert found[0, columns] == pytest.approx(-(0.3 * scaled + 0.7))
