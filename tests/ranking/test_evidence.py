"""Evidence worked by hand: two candidates differ by 1 on every scale, so each share shows as it is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.ranking.corrections import Corrections
from reranker.ranking.coverage import Coverage
from reranker.ranking.evidence import Evidence
from reranker.ranking.scores import WINDOW_FLOOR

NAN, INF = math.nan, math.inf
ABOVE_FLOOR = 1 - WINDOW_FLOOR


def evidence(
    first_stage,
    distances,
    corrections=None,
    feedback=None,
    neighbours=None,
    exact=None,
    share=None,
    encoder=None,
    coverage=None,
):
    is_exact = None if exact is None else np.array(exact, bool)
    found = Evidence(
        np.array(first_stage, float),
        np.array(distances, float),
        corrections or Corrections.make(len(distances)),
        exact=is_exact,
        first_stage_share=share,
        coverage=None if coverage is None else Coverage(np.array(coverage, float), 0.0),
    )
    if feedback is not None:
        found.add_feedback(np.array(feedback, float))
    if neighbours is not None:
        found.add_neighbours(np.array(neighbours, float))
    if encoder is not None:
        found.add_encoder(np.array(encoder, float))
    return found


def parts_of(found):
    return [found.parts(place) for place in range(len(found.scores()))]


def corrected(unknown_share, *rows):
    """Corrections of a query with one unknown word: whether each candidate lacks it, and its hubness."""
    lacking, hubness = (np.array(column) for column in zip(*rows, strict=True))
    return Corrections.make(len(rows), hubness.astype(float), unknown_share, ("zzz",), lacking.astype(bool)[:, None])


def test_the_engines_best_has_three_fifths_and_the_nearest_two():
    found = evidence(first_stage=[10, 4], distances=[0.9, 0.1]).scores()
    assert found.tolist() == pytest.approx([0.02 + 0.98 * 0.6, 0.02 + 0.98 * 0.4])


def test_the_first_stages_ranks_have_half_of_its_part():
    """By scores 1, 8/9, 0 and 0. By ranks 1 / (1 + r / 2) is 1, 2/3, 1/2 and 1/2, so 1, 1/3, 0 and 0."""
    parts = parts_of(evidence(first_stage=[10, 9, 1, 1], distances=[INF] * 4))
    second = 0.5 * 8 / 9 + 0.5 / 3
    assert [part.first_stage for part in parts] == pytest.approx([0.98 * 0.6 * part for part in (1, second, 0, 0)])


def test_what_the_first_stage_says_nothing_of_has_no_rank():
    parts = parts_of(evidence(first_stage=[NAN, 9, 10, 1], distances=[0.5] * 4))
    second = 0.5 * 8 / 9 + 0.5 / 3
    assert [part.first_stage for part in parts] == pytest.approx([0.98 * 0.6 * part for part in (0, second, 1, 0)])


def test_scores_by_translations_are_scaled_apart_and_without_ranks():
    """Of those by translations the second has half; their share is 0.3."""
    found = Evidence(
        np.array([10.0, 3.0, 2.0, 1.0]),
        np.full(4, INF),
        Corrections.make(4),
        translated=np.array([False, True, True, True]),
    )
    assert [part.first_stage for part in parts_of(found)] == pytest.approx(
        [0.98 * part for part in (0.6, 0.3, 0.15, 0)]
    )


def test_coverage_has_three_tenths_of_what_the_first_stage_has():
    """It is not scaled: the best hit holds half of the query."""
    parts = parts_of(evidence(first_stage=[10, 4], distances=[INF, INF], coverage=[0.5, 0.25]))
    assert [part.first_stage for part in parts] == pytest.approx([ABOVE_FLOOR * 0.42, 0])
    assert [part.coverage for part in parts] == pytest.approx([ABOVE_FLOOR * 0.09, ABOVE_FLOOR * 0.045])


def test_where_coverage_is_not_known_the_first_stage_has_its_share():
    parts = parts_of(evidence(first_stage=[10, 10, 4], distances=[INF] * 3, coverage=[NAN, 1.0, NAN]))
    assert [(part.first_stage, part.coverage) for part in parts] == [
        pytest.approx((ABOVE_FLOOR * 0.6, 0)),
        pytest.approx((ABOVE_FLOOR * 0.42, ABOVE_FLOOR * 0.18)),
        (0, 0),
    ]


def test_a_chosen_share_leaves_coverage_its_part_of_the_rest():
    """Of what is left, 0.18 : 0.4 for coverage and transport."""
    parts = parts_of(evidence(first_stage=[10, 4], distances=[0.1, 0.9], coverage=[1.0, 0.0], share=0.42))
    assert parts[0].coverage == pytest.approx(ABOVE_FLOOR * 0.18)
    assert parts[0].words == pytest.approx(ABOVE_FLOOR * 0.4)


def test_each_kind_of_evidence_has_its_share():
    found = evidence([10, 4, 4, 4], [0.9, 0.1, 0.9, 0.9], None, [0.9, 0.9, 0.2, 0.9], [0.3, 0.3, 0.3, 0.8]).scores()
    assert found.tolist() == pytest.approx([0.02 + 0.98 * share for share in (0.25, 0.20, 0.30, 0.25)])


def test_without_feedback_the_first_stage_and_neighbours_count_more():
    found = evidence([10, 4, 4], [0.9, 0.1, 0.9], neighbours=[0.3, 0.3, 0.8]).scores()
    assert found.tolist() == pytest.approx([0.02 + 0.98 * share for share in (0.6, 0.2, 0.2)])


def test_the_encoder_takes_a_quarter_and_the_others_keep_their_proportions():
    rows = {"first_stage": [10, 4, 4, 4, 4], "distances": [0.9, 0.1, 0.9, 0.9, 0.9]}
    like = {"feedback": [0.9, 0.9, 0.2, 0.9, 0.9], "neighbours": [0.3, 0.3, 0.3, 0.8, 0.3]}
    found = evidence(**rows, **like, encoder=[0.1, 0.1, 0.1, 0.1, 0.7])
    assert found.scores().tolist() == pytest.approx(
        [0.02 + 0.98 * share for share in (0.1875, 0.15, 0.225, 0.1875, 0.25)]
    )
    assert [parts.encoder for parts in parts_of(found)] == pytest.approx([0, 0, 0, 0, ABOVE_FLOOR * 0.25])


def test_of_a_short_query_the_encoder_takes_nearly_half():
    found = evidence(first_stage=[10, 4, 4], distances=[0.9, 0.1, 0.9], encoder=[0.1, 0.1, 0.7]).scores()
    assert found.tolist() == pytest.approx([0.02 + 0.98 * share for share in (0.33, 0.22, 0.45)])


def test_a_chosen_share_of_the_first_stage_holds_beside_the_encoder_too():
    found = evidence(first_stage=[10, 4, 4], distances=[0.9, 0.1, 0.9], encoder=[0.1, 0.1, 0.7], share=0.33).scores()
    assert found.tolist() == pytest.approx([0.02 + 0.98 * share for share in (0.33, 0.22, 0.45)])
    alone = evidence(first_stage=[10, 4, 4], distances=[0.9, 0.1, 0.9], encoder=[0.1, 0.1, 0.7], share=1.0).scores()
    assert alone.tolist() == pytest.approx([1.0, 0.02, 0.02])


def test_where_the_first_stage_says_nothing_of_a_candidate_the_others_take_its_share():
    found = parts_of(evidence(first_stage=[NAN, 4, 2], distances=[0.1, 0.5, 0.9]))
    assert found[0].first_stage == 0.0
    assert found[0].words == pytest.approx(ABOVE_FLOOR)  # all of it
    assert found[1].first_stage == pytest.approx(ABOVE_FLOOR * 0.6)
    assert found[1].words == pytest.approx(ABOVE_FLOOR * 0.4 * 0.5)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(1.0, (1, 0, 0, 0)), (0.5, (1 / 2, 2 / 15, 1 / 5, 1 / 6)), (0.0, (0, 4 / 15, 2 / 5, 1 / 3))],
)
def test_the_share_of_the_first_stage_may_be_chosen_and_the_others_keep_their_proportions(share, expected):
    """20 : 30 : 25 of what is left."""
    rows = {"first_stage": [10, 4, 4, 4], "distances": [0.9, 0.1, 0.9, 0.9]}
    like = {"feedback": [0.9, 0.9, 0.2, 0.9], "neighbours": [0.3, 0.3, 0.3, 0.8]}
    found = evidence(**rows, **like, share=share).scores()
    assert found.tolist() == pytest.approx([0.02 + 0.98 * part for part in expected])


def test_a_chosen_share_is_kept_without_neighbours():
    found = evidence([10, 4, 4], [0.9, 0.1, 0.9], feedback=[0.9, 0.9, 0.2], share=0.1).scores()
    assert found.tolist() == pytest.approx([0.02 + 0.98 * part for part in (0.1, 0.36, 0.54)])


def test_a_candidate_without_a_known_word_keeps_what_the_first_stage_gave_it():
    parts = parts_of(evidence(first_stage=[10, 4, 2], distances=[INF, 0.1, 0.9], feedback=[INF, 0.1, 0.9]))
    assert parts[0].first_stage == pytest.approx(ABOVE_FLOOR / 3)
    assert (parts[0].words, parts[0].feedback) == (0.0, 0.0)


def test_a_candidate_with_the_query_in_a_field_is_at_distance_0():
    """Of distances 0, 0.3 and 0.6 the second is half way."""
    rows = {"first_stage": [9, 9, 3], "distances": [0.5, 0.3, 0.6], "feedback": [0.9, 0.3, 0.6]}
    found = evidence(**rows, exact=[True, False, False])
    half = 0.02 + ABOVE_FLOOR * (1 / 3 + 0.5 * 2 / 3)
    assert found.scores().tolist() == pytest.approx([1.0, half, 0.02])
    (parts, *_) = parts_of(found)
    assert (parts.words, parts.feedback) == pytest.approx((ABOVE_FLOOR * 0.2 / 0.75, ABOVE_FLOOR * 0.3 / 0.75))


def test_what_an_exact_candidate_lacks_is_told_and_its_parts_sum_all_the_same():
    corrections = corrected(0.5, (True, 0.5), (False, 0.0))
    exact, other = parts_of(evidence([1, 1], [0.4, 0.2], corrections, exact=[True, False]))
    assert exact.lacking_words < 0
    assert exact.words + exact.lacking_words + exact.hubness == pytest.approx(ABOVE_FLOOR * 0.4)
    assert sum(exact.values()) > sum(other.values())


def test_lacking_words_and_hubness_are_taken_off_by_what_they_add_to_the_order_distance():
    """Half of the query is unknown. Order distances: 0.5 · 0.2 = 0.1 and 0.5 · 0.4 + 0.5 + 0.2 · 0.5 = 0.8; so a unit
    of it is worth 1 / 0.7 of the share."""
    corrections = corrected(0.5, (False, 0.0), (True, 0.5))
    near, far = parts_of(evidence(first_stage=[1, 1], distances=[0.2, 0.4], corrections=corrections))
    share = ABOVE_FLOOR * 0.4
    assert (near.lacking_words, near.hubness) == (0.0, 0.0)
    assert near.words == pytest.approx(share)
    assert far.lacking_words == pytest.approx(-share * 0.5 / 0.7)
    assert far.hubness == pytest.approx(-share * 0.1 / 0.7)
    assert far.words + far.lacking_words + far.hubness == pytest.approx(0.0, abs=1e-12)  # the farthest


VALUES = st.one_of(st.just(INF), st.floats(0, 2))
ROWS = st.lists(
    st.tuples(
        st.one_of(st.just(NAN), st.floats(0, 1e6)), VALUES, VALUES, st.floats(0, 1), st.booleans(), st.floats(0.02, 1)
    ),
    min_size=1,
    max_size=30,
)


@given(rows=ROWS, unknown_share=st.floats(0, 0.9), has_feedback=st.booleans(), has_neighbours=st.booleans())
def test_parts_sum_to_scores_between_the_floor_and_1(rows, unknown_share, has_feedback, has_neighbours):
    first_stage, distances, moved, hubness, is_lacking, like = zip(*rows, strict=True)
    corrections = corrected(unknown_share, *zip(is_lacking, hubness, strict=True))
    found = evidence(
        first_stage, distances, corrections, moved if has_feedback else None, like if has_neighbours else None
    )
    for score, parts in zip(found.scores(), parts_of(found), strict=True):
        assert WINDOW_FLOOR - 1e-9 <= score <= 1 + 1e-9
        assert sum(parts.values()) == pytest.approx(score, abs=1e-6)
