"""`python -m papers.held_out --systems`: quality and cost side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import Direction, Task
from papers.held_out import side_by_side
from papers.held_out.command import app
from papers.held_out.experiment import Plan, SystemResult, TaskResult, fit_systems, run_plan
from papers.held_out.report import Report, markdown
from papers.systems.protocol import Distances, System
from papers.systems.translated_bm25 import TranslatedBM25
from reranker.embeddings import Embeddings
from sinkrank.demo.pages import Corpus, CorpusPage
from tests.demo.small_pages import page

FR_EN = Direction("fr", "en")
TEXTS = {
    "pets": ("cat cat dog dog dog cat water", "chat chat chien chien chien chat eau"),
    "kitchen": ("bread bread water bread water bread cat", "pain pain eau pain eau pain chat"),
    "road": ("car car car dog car car water", "voiture voiture voiture chien voiture voiture eau"),
    "home": ("bread car car cat dog bread", "pain voiture voiture chat chien pain"),
}


class Backwards:
    """Puts the answer last but one of four, finds no others behind it, and takes what it says."""

    name = "backwards"
    description = "a system that is wrong"
    data = "a coin (public domain)"

    def __init__(self) -> None:
        self.fitted_on: list[str] = []

    def fit(self, pages: Sequence[CorpusPage] = (), progress: Progress = no_progress) -> None:
        self.fitted_on = [page.page_id for page in pages]

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        n = len(task.queries)
        values = np.ones((n, n)) + np.eye(n)
        values[np.arange(n), (np.arange(n) + 1) % n] = np.inf
        progress(1, 2, "")
        progress(2, 2, "")
        return Distances(values, document_s=0.4, query_s=0.02)


@pytest.fixture
def corpus() -> Corpus:
    test = [
        page(name, language, text)
        for name, both in TEXTS.items()
        for language, text in zip(("en", "fr"), both, strict=True)
    ]
    return Corpus("tiny", ("en", "fr"), (page("learnt", "en", "cat"),), tuple(test))


def measured(corpus: Corpus, embeddings: Embeddings, *systems: System, directions: tuple[Direction, ...] = (FR_EN,)):
    plan = Plan(directions, ("pages",), ("nbow", "sinkhorn"), systems=tuple(system.name for system in systems))
    fitted = fit_systems(systems, corpus)
    return Report(corpus, embeddings, plan, list(run_plan(corpus, embeddings, plan, systems=systems)), fitted)


def test_systems_learn_from_the_training_pages_alone(corpus: Corpus) -> None:
    system = Backwards()

    fitted = fit_systems([system], corpus)

    assert system.fitted_on == ["learnt"]
    assert [each.name for each in fitted] == ["backwards"]
    assert fitted[0].fit_s >= 0


def test_our_methods_stand_beside_the_systems_with_what_a_query_and_a_document_cost(
    corpus: Corpus, embeddings: Embeddings
) -> None:
    report = measured(corpus, embeddings, Backwards())

    nbow, sinkhorn, backwards = report.tasks[0].systems
    assert (nbow.system, sinkhorn.system) == ("nbow", "sinkhorn")
    assert sinkhorn.measures == report.tasks[0].methods[1].everything
    assert sinkhorn.query_ms > 0
    assert sinkhorn.document_ms == nbow.document_ms > 0
    # Third of the three that it finds, of four; 0.4 s for four documents and 0.02 s for four queries.
    assert backwards.measures == pytest.approx({"MRR": 1 / 3, "P@1": 0, "P@10": 0.1, "nDCG@10": 1 / np.log2(4)})
    assert (backwards.document_ms, backwards.query_ms) == pytest.approx((100, 5))


def test_without_systems_nothing_stands_beside(corpus: Corpus, embeddings: Embeddings) -> None:
    report = measured(corpus, embeddings)

    assert report.tasks[0].systems == ()
    assert "ms a query" not in markdown(report)
    assert "Measured beside" not in markdown(report)


# The table


def result(direction: str, *figures: tuple[str, float, float]) -> TaskResult:
    systems = tuple(
        SystemResult(name, dict.fromkeys(("MRR", "P@1", "P@10", "nDCG@10"), mrr), 2 * ms, ms)
        for name, mrr, ms in figures
    )
    return TaskResult(Direction.parse(direction), "pages", 40, 40, 0, 5.0, 1.0, {}, (), systems=systems)


def test_the_mean_counts_every_direction_once() -> None:
    first = result("fr-en", ("auto", 0.5, 1.0), ("tf-idf", 0.25, 0.02))
    second = replace(result("en-fr", ("auto", 0.75, 3.0), ("tf-idf", 0.5, 0.04)), n_queries=20)

    rows = side_by_side.rows([first, second])

    assert rows[:2] == [
        ["fr-en", "auto", "40", "0.500", "0.500", "0.500", "0.500", "1.00", "2.00"],
        ["fr-en", "tf-idf", "40", "0.250", "0.250", "0.250", "0.250", "0.020", "0.040"],
    ]
    assert rows[4:] == [
        ["mean", "auto", "60", "0.625", "0.625", "0.625", "0.625", "2.00", "4.00"],
        ["mean", "tf-idf", "60", "0.375", "0.375", "0.375", "0.375", "0.030", "0.060"],
    ]
    assert side_by_side.rows([first]) == rows[:2]  # one direction has no mean


def test_the_report_holds_the_figures_and_what_a_system_is(corpus: Corpus, embeddings: Embeddings) -> None:
    report = measured(corpus, embeddings, Backwards(), directions=(FR_EN, Direction("en", "fr")))

    text = markdown(report)
    assert "| fr-en | backwards | 4 | 0.333 | 0.000 | 0.100 | 0.500 | 5.00 | 100 |" in text
    assert "| mean | backwards | 8 | 0.333 | 0.000 | 0.100 | 0.500 | 5.00 | 100 |" in text
    assert "backwards (0.0 s): a system that is wrong\n      - with a coin (public domain)\n" in text


def test_the_dictionaries_are_named_with_their_licences(tmp_path: Path) -> None:
    asked = Direction("fi", "en"), Direction("de", "en")
    data = TranslatedBM25(asked, tmp_path).data
    assert "en-de GPL-3.0-or-later" in data
    assert "fi-en CC-BY-SA-3.0" in data
    assert "fr" not in data.split(": ")[1]


# The command


def evaluate(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["--corpus", "texts", "--home", str(home), *arguments])


def test_the_command_measures_systems_beside_the_methods(tmp_path: Path) -> None:
    chosen = ("--directions", "fr-en", "--queries", "pages", "--methods", "nbow", "--systems", "tf-idf")
    done = evaluate(tmp_path, *chosen, "--output", str(tmp_path / "out"))

    assert done.exit_code == 0, done.output
    assert "ms a query" in done.stdout
    assert "| fr-en | nbow | 16 |" in done.stdout
    assert "| fr-en | tf-idf | 16 |" in done.stdout
