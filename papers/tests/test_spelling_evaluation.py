"""The evaluation with each rule for words without an embedding."""

import re

import pytest
from typer.testing import CliRunner

from papers.corpora.tasks import Direction
from papers.held_out.command import app
from papers.held_out.experiment import Plan, run_plan
from papers.held_out.report import Report, markdown
from sinkrank.demo.pages import Corpus, CorpusPage, Paragraph

FR_EN = Direction("fr", "en")
# Of 6 French tokens one is misspelled (voitures), one English (bread), one unknown; of 6 English ones two are unknown,
# of which one is misspelled (breads).
PAGES = (
    CorpusPage("one", "fr", "", (Paragraph("p", "chat chat chien voitures bread licorne"),)),
    CorpusPage("one", "en", "", (Paragraph("p", "cat cat dog breads water unicorn"),)),
)
SHARES = {
    "skip": (3 / 6, 2 / 6),
    "parts": (1 / 6, 1 / 6),
}


@pytest.fixture
def corpus():
    return Corpus("tiny", ("en", "fr"), (), PAGES)


def plan(rule):
    return Plan((FR_EN,), ("pages",), ("nbow",), everything=False, unknown_words=rule)


def test_the_report_names_the_rule_and_the_shares(corpus, embeddings):
    report = Report(corpus, embeddings, plan("paper"), list(run_plan(corpus, embeddings, plan("paper"))))
    assert "Words without an embedding: rule `paper`" in markdown(report)
    assert "fr-en 16.7% and 16.7%" in markdown(report)


def evaluate(home, *arguments):
    few = ("--directions", "de-en", "--queries", "first20", "--methods", "nbow", "--limit", "8")
    return CliRunner().invoke(app, ["--corpus", "texts", "--home", str(home), *few, *arguments])


def test_the_command_takes_the_rule_and_has_parts_by_default(tmp_path):
    rules = {
        rule: evaluate(tmp_path, *arguments).stdout
        for rule, arguments in {
            "default": (),
            "parts": ("--unknown-words", "parts"),
            "skip": ("--unknown-words", "skip"),
        }.items()
    }
    assert rules["default"] == rules["parts"]
    assert "Words without an embedding: rule `parts`\n" in rules["parts"]
    assert "Words without an embedding: rule `skip`\n" in rules["skip"]
    # What `parts` reports of `skip` beside its own shares is what `skip` reports.
    of_parts, of_skip = (
        re.search(r"queries and documents.*: de-en (.*)\.\n", rules[rule])[1] for rule in ("parts", "skip")
    )
    own, _, skipped = of_parts.partition(" (")
    assert skipped == f"{of_skip})"
    assert own != of_skip
