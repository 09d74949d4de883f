"""The report of an evaluation of the shipped texts' shape, with figures made up by hand."""

from dataclasses import replace

import pytest

from papers.corpora.tasks import Direction
from papers.held_out.experiment import MethodResult, Plan, TaskResult
from papers.held_out.identical_spellings import StrippedResult
from papers.held_out.report import Report, markdown
from sinkrank.demo.pages import Corpus
from tests.demo.small_pages import page
from tests.support.tiny import tiny_embeddings

FR_EN = Direction("fr", "en")
HALF = {"MRR": 0.5, "P@1": 0.25, "P@10": 0.075, "nDCG@10": 0.625}
FULL = {"MRR": 0.75, "P@1": 0.5, "P@10": 0.1, "nDCG@10": 0.875}


@pytest.fixture
def report(tmp_path):
    corpus = Corpus(
        "libreoffice",
        ("en", "fr"),
        tuple(page(f"train{n}", language, "un deux trois") for n in range(3) for language in ("en", "fr")),
        (
            page("test0", "en", "un deux trois"),
            page("test0", "fr", "deux mots"),
            page("test1", "en", "four more words here"),
        ),
        {"untranslated/fr": 25},
    )
    methods = (MethodResult("relaxed", HALF, FULL), MethodResult("nbow", FULL, HALF), MethodResult("auto", HALF, FULL))
    task = TaskResult(FR_EN, "first20", 8, 9, 1, 17.5, 0.875, {"fewer than 6 words": 2}, methods)
    return Report(corpus, tiny_embeddings(tmp_path / "embeddings"), Plan((FR_EN,)), [task])


def test_pages_are_counted_and_the_share_of_text_seen_in_training_is_stated(report):
    text = markdown(report)
    assert "- Pages to train on: en 3, fr 3; held out: en 2, fr 1\n" in text
    # Of 3 + 2 + 4 words on the test pages, the three of test0 in English stand on a training page too.
    assert "a training page has too: 33.3%\n" in text
    assert "MPL-2.0" in text


def test_markdown_shows_a_row_for_each_direction_and_method_and_nothing_of_the_machine(report, tmp_path):
    text = markdown(report)

    assert "not trained here" in text
    assert str(tmp_path) not in text

    assert "| fr-en | relaxed | 8 | 0.500 | 0.250 | 0.075 | 0.625 | 0.750 | 0.875 |" in text
    assert "untranslated/fr 25" in text
    assert "Queries without a known word in fr-en: 1" in text
    assert "Left out in fr-en: fewer than 6 words 2" in text


def test_several_directions_have_their_mean_below(report):
    first = report.tasks[0]
    better = {name: value + 0.25 for name, value in HALF.items()}
    second = replace(
        first,
        direction=Direction("en", "fr"),
        n_queries=4,
        recall=1.0,
        methods=tuple(MethodResult(each.method, better, FULL) for each in first.methods),
    )
    both = replace(report, tasks=(first, second))

    # Of relaxed: 0.5 and 0.75, 0.25 and 0.5, 0.075 and 0.325, 0.625 and 0.875; 0.75 twice; 0.875 and 1.
    row = "| mean | relaxed | 12 | 0.625 | 0.375 | 0.200 | 0.750 | 0.750 | 0.938 |"
    assert row in markdown(both)
    assert "| mean |" not in markdown(report)


def test_candidates_alone_have_a_mean_without_a_column_for_everything(report):
    alone = tuple(MethodResult(each.method, each.two_stage, None) for each in report.tasks[0].methods)
    task = replace(report.tasks[0], methods=alone)
    candidates = replace(report, plan=replace(report.plan, everything=False), tasks=(task, task))

    assert "| mean | relaxed | 16 | 0.500 | 0.250 | 0.075 | 0.625 | 0.875 |" in markdown(candidates)


def test_identical_spellings_removed_have_a_row_of_their_own(report):
    first = replace(report.tasks[0], stripped=StrippedResult("auto", HALF, 0.75, 0.125, 2))
    second = replace(first, direction=Direction("en", "fr"), stripped=StrippedResult("auto", FULL, 0.25, 0.0, 0))
    text = markdown(replace(report, tasks=(first, second)))

    name = "auto, stripped"
    assert f"| fr-en | {name} | 8 | 0.500 | 0.250 | 0.075 | 0.625 | – | 0.750 |" in text
    # 0.5 and 0.75, 0.25 and 0.5, 0.075 and 0.1, 0.625 and 0.875; 0.75 and 0.25.
    assert f"| mean | {name} | 16 | 0.625 | 0.375 | 0.087 | 0.750 | – | 0.500 |" in text
    assert (
        "Stripped: identical spellings removed, share of the queries' words (queries left without any): fr-en 12.5% (2)"
        in text
    )


def test_whether_auto_keeps_its_bar_stands_below_the_table(report):
    assert "+0.250 against nbow (fr-en; kept: 0.005 may be lost)" in markdown(report)
