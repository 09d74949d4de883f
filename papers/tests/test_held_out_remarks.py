"""What is said under a table of results: the bar of `auto`, and the words without an embedding."""

import pytest

from papers.corpora.tasks import Direction
from papers.held_out.experiment import MethodResult, Plan, TaskResult, run_plan
from papers.held_out.remarks import bars, remarks
from papers.tests.test_spelling_evaluation import PAGES, SHARES
from papers.tests.test_tasks_runs import corpus


def task(direction, everything=None, **mrr):
    methods = tuple(
        MethodResult(name, {"MRR": value}, None if everything is None else {"MRR": everything[name]})
        for name, value in mrr.items()
    )
    shares = {"unknown_shares": (0.01, 0.02), "skipped_shares": (0.125, 0.04)}
    return TaskResult(Direction.parse(direction), "pages", 9, 9, 0, 5.0, 1.0, {}, methods, **shares)


def test_auto_is_held_against_the_better_of_two_methods_in_each_direction_and_against_its_first_stage():
    tasks = [
        task("en-fr", nbow=0.5, relaxed=0.75, sinkhorn=0.5, auto=0.875),
        task("fr-en", nbow=0.5, relaxed=0.25, sinkhorn=0.75, auto=0.625),  # behind the second by 0.125
        task("en-de", nbow=0.75, relaxed=0.625, sinkhorn=0.5, auto=0.75),
    ]
    of_two, of_first_stage = bars(tasks)

    assert (of_two.against, of_two.allowed) == (("relaxed", "sinkhorn"), 0.01)
    assert (of_two.worst, of_two.direction, of_two.is_kept) == (-0.125, "fr-en", False)
    assert (of_first_stage.against, of_first_stage.allowed) == (("nbow",), 0.005)
    assert (of_first_stage.worst, of_first_stage.direction, of_first_stage.is_kept) == (0.0, "en-de", True)


@pytest.mark.parametrize(("auto", "is_kept"), [(0.7401, True), (0.7399, False)])
def test_a_hundredth_may_be_lost_against_the_better_of_the_two_and_half_of_it_against_the_first_stage(auto, is_kept):
    assert bars([task("en-fr", relaxed=0.75, sinkhorn=0.5, auto=auto)])[0].is_kept is is_kept
    assert bars([task("en-fr", nbow=0.75, auto=auto + 0.005)])[0].is_kept is is_kept


def test_what_counts_is_everything_re_ranked_where_it_was():
    whole = {"nbow": 0.25, "auto": 0.75}
    assert bars([task("en-fr", whole, nbow=0.5, auto=0.5)])[0].worst == 0.5


def test_without_the_methods_there_is_no_bar():
    assert bars([task("en-fr", relaxed=0.5, auto=0.5)]) == []
    assert bars([task("en-fr", nbow=0.5, relaxed=0.5, sinkhorn=0.5)]) == []


def test_the_remarks_say_both_in_words():
    tasks = [
        task("en-fr", nbow=0.5, relaxed=0.75, sinkhorn=0.5, auto=0.875),
        task("fr-en", nbow=0.5, relaxed=0.25, sinkhorn=0.75, auto=0.625),
    ]
    assert remarks(tasks, "parts") == [
        "auto, MRR in the worst direction: -0.125 against the better of relaxed and sinkhorn "
        "(fr-en; not kept: 0.010 may be lost).",
        "auto, MRR in the worst direction: +0.125 against nbow (fr-en; kept: 0.005 may be lost).",
        "Words without an embedding, queries and documents by rule parts (and by skip): "
        "en-fr 1.0% and 2.0% (12.5% and 4.0%), fr-en 1.0% and 2.0% (12.5% and 4.0%).",
    ]
    assert remarks(tasks[:1], "skip")[-1] == "Words without an embedding, queries and documents: en-fr 1.0% and 2.0%."


def test_the_share_of_words_that_only_a_stand_in_gives_an_embedding_is_counted(embeddings):
    (result,) = run_plan(corpus(*PAGES), embeddings, Plan((Direction("fr", "en"),), ("pages",)))
    # Beside the page with unknown words there are five with 7, 7, 7, 7 and 9 known ones.
    known = 7 * 4 + 9
    expected = [pytest.approx([6 * share / (6 + known) for share in SHARES[rule]]) for rule in ("parts", "skip")]
    assert [list(result.unknown_shares), list(result.skipped_shares)] == expected
