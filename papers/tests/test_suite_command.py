"""`python -m papers`: what it prints and writes, what it refuses, and its quick form on real pages."""

from __future__ import annotations

import gzip
import os
import shutil
from dataclasses import replace
from pathlib import Path

import ir_measures
import pytest
from typer.testing import CliRunner

from papers.command import app
from papers.corpora.tasks import Direction
from papers.suite import collections, suite
from papers.suite.collections import Collection, part_of
from papers.suite.questions import classification, translations
from papers.systems.catalogue import ALL_NAMES
from reranker.base.errors import FetchFailed
from sinkrank.demo import Corpus, load_libreoffice, load_parallel_texts

pytestmark = pytest.mark.slow


def texts(home, directions=None, progress=None) -> Collection:
    """The shipped texts as a collection that asks both ways and classifies, in the place of those to be fetched."""
    corpus = load_parallel_texts()
    asked = directions or (Direction("en", "fr"), Direction("fr", "en"))
    questions = [translations(corpus, "libreoffice", each, kind, 6) for kind in ("pages", "first20") for each in asked]
    labelled, asking = (
        [page._replace(module="ab"[n % 2]) for n, page in enumerate(pages) if page.language == "en"]
        for pages in (corpus.train_pages[:60], corpus.test_pages)
    )
    questions += [classification(labelled, asking, "texts"), classification(labelled, labelled, "texts", True)]
    return Collection("libreoffice", "Texts", "shipped", "Apache-2.0", corpus, corpus, tuple(questions))


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """One for all: embeddings are trained once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def of_texts(monkeypatch):
    monkeypatch.setitem(suite.COLLECTIONS, "gnome", texts)
    monkeypatch.setattr(suite, "EPSILONS", (0.05, 0.5))
    monkeypatch.setenv("SINKRANK_THREADS", "1")  # no further processes


def measure(*arguments: object):
    return CliRunner().invoke(app, [*map(str, arguments)])


def measure_texts(*arguments: object):
    return measure("--corpus", "gnome", *arguments)


def by_direction(page: str) -> dict[str, list[str]]:
    """The MRR by direction of each system in the report, in the order of the tables."""
    found: dict[str, list[str]] = {}
    for table in page.split("MRR by direction:")[1:]:
        for line in table.split("\n#")[0].splitlines():
            cells = [cell.strip(" *") for cell in line.split("|")[1:-1]]
            if len(cells) > 1:
                found.setdefault(cells[0], []).append(cells[1])
    return found


def test_it_prints_the_overview_and_writes_a_report_and_runs_that_give_its_figures(of_texts, home, tmp_path) -> None:
    out = tmp_path / "out"
    done = measure_texts("--home", home, "--systems", "tf-idf,sinkhorn,auto", "--output", out)

    assert done.exit_code == 0, done.output
    assert "| system | libreoffice pages | libreoffice first20 | libreoffice error |" in done.stdout
    page = (out / "papers.md").read_text(encoding="utf-8")
    for words in (
        "- shipped (Apache-2.0)",
        "p to auto",
        "k nearest neighbours",
        "The effect of lambda",
        "Training pages",
    ):
        assert words in page
    assert "| epsilon | 0.05 | 0.5 |" in page
    with gzip.open(out / "runs" / "libreoffice_en-fr_first20" / "auto.run.gz", "rt", encoding="utf-8") as file:
        run = list(ir_measures.read_trec_run(file.read()))
    qrels = list(ir_measures.read_trec_qrels(str(out / "qrels" / "en-fr_libreoffice_first20.qrels")))
    figure = ir_measures.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR]
    assert by_direction(page)["auto"][1] == f"{figure:.3f}"


def test_the_second_time_gives_the_same_files_from_what_was_kept(of_texts, home, tmp_path, monkeypatch) -> None:
    def files(name: str) -> dict[str, bytes]:
        out = tmp_path / name
        assert measure_texts("--home", home, "--systems", "tf-idf,auto", "--output", out).exit_code == 0
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    first = files("one")
    monkeypatch.setattr("papers.suite.asking._answer", None)  # asking anything would fail
    assert files("two") == first


@pytest.mark.conformance  # it asks all of six systems twice
def test_several_processes_find_what_one_finds_and_keep_it_for_one(of_texts, home, monkeypatch) -> None:
    systems = ("tf-idf", "sinkhorn", "auto", "entro-wass-idf", "cr5", "cr5_wass")

    def found(n_processes: int) -> suite.Outcome:
        asked = suite.Suite(systems, ("gnome",), (Direction("en", "fr"),), n_processes=n_processes)
        return suite.run(asked, home)[0]

    kept = [home / "evaluation" / "papers" / "records", home / "evaluation" / "systems"]
    for folder in kept:
        shutil.rmtree(folder, ignore_errors=True)
    one = found(1)
    files = [sorted(path.name for path in folder.iterdir()) for folder in kept]
    for folder in kept:
        shutil.rmtree(folder)
    two = found(2)

    # The same answers under the same names, each asked once: ensembles join what their members said.
    assert [sorted(path.name for path in folder.iterdir()) for folder in kept] == files
    monkeypatch.setattr("papers.suite.asking._answer", None)
    for other in (two, found(1)):
        assert tuple(other.answers) == systems
        assert other.by_epsilon == one.by_epsilon
        assert other.correlations == one.correlations
        for table, expected in zip(other.tables, one.tables, strict=True):
            for row, as_before in zip(table.rows, expected.rows, strict=True):
                assert (row.measures, row.p) == (as_before.measures, as_before.p)


def test_how_alike_systems_rank_is_in_the_report(of_texts, home, tmp_path) -> None:
    measure_texts("--home", home, "--systems", "auto,cr5,tf-idf", "--output", tmp_path)

    lines = (tmp_path / "papers.md").read_text(encoding="utf-8").splitlines()
    assert "| pair | libreoffice pages | libreoffice first20 |" in lines
    (row,) = (line for line in lines if line.startswith("| cr5, auto |"))
    pages, first20 = map(float, row.split("|")[2:4])
    assert -1 <= min(pages, first20) <= max(pages, first20) <= 1


def test_directions_that_no_collection_has_are_refused(home, monkeypatch) -> None:
    monkeypatch.setitem(suite.COLLECTIONS, "gnome", lambda *_: replace(texts(home), questions=()))
    done = measure_texts("--home", home, "--directions", "pl-es")

    assert done.exit_code != 0
    assert "both languages of pl-es" in f"{done.stderr}{done.exception}"


def test_a_system_that_cannot_do_a_question_is_said_to_be_missing(of_texts, home, tmp_path, monkeypatch) -> None:
    # Nor is there one from English to English, which the classification asks for.
    monkeypatch.setattr("ingest.embeddings.freedict.LICENCES", {"en-fr": "GPL"})
    systems = ("--systems", "bm25-translated,tf-idf", "--directions", "fr-de")
    done = measure_texts("--home", home, *systems, "--output", tmp_path)

    assert "papers.md" in done.stderr
    page = (tmp_path / "papers.md").read_text(encoding="utf-8")
    assert page.count("- Not measured on all: `bm25-translated`: there is no dictionary for") == 1
    assert by_direction(page).keys() == {"system", "---", "What people use today", "tf-idf"}


def test_the_quick_form_takes_no_corpus() -> None:
    done = CliRunner(env={"TERM": "dumb", "COLUMNS": "200"}).invoke(app, ["--quick", "--corpus", "gnome"])

    assert done.exit_code == 2
    assert "a collection of its own" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--systems", "wmd-of-nobody"], "is not a system of the suite"),
        (["--corpus", "texts"], "is not a collection of the suite"),
        (["--directions", "fi"], "is not a direction"),
    ],
)
def test_what_the_suite_does_not_know_is_refused_before_anything_is_fetched(arguments, words, tmp_path) -> None:
    done = measure("--home", tmp_path, *arguments)

    assert done.exit_code != 0
    assert words in f"{done.stderr}{done.exception}"
    assert not list(tmp_path.iterdir())


def test_a_part_of_a_corpus_has_pages_in_all_its_languages_and_a_name_of_its_own() -> None:
    corpus = load_parallel_texts()
    part = part_of(corpus, 5, 3)

    assert part.name != corpus.name
    for pages, n in ((part.train_pages, 5), (part.test_pages, 3)):
        assert len({page.page_id for page in pages}) == n
        assert len(pages) == n * len(corpus.languages)


@pytest.fixture
def real_home(tmp_path) -> Path:
    """A new home with the pages that the suite of tests keeps."""
    cache = os.environ.get("SINKRANK_CORPUS_CACHE")
    kept = Path(cache) if cache else Path.home() / ".cache" / "sinkrank"
    try:
        load_libreoffice(kept, languages=collections.QUICK_LANGUAGES)
    except FetchFailed as error:
        pytest.skip(str(error))
    (tmp_path / "corpora").symlink_to(kept / "corpora")
    return tmp_path


@pytest.mark.corpus
@pytest.mark.conformance
@pytest.mark.timeout(900)  # pages are downloaded at the first run
def test_the_quick_form_asks_fast_systems_on_real_pages(real_home) -> None:
    (found,) = suite.run(suite.Suite(ALL_NAMES, quick=True), real_home)

    pages, short = found.tables
    assert pages.n_queries == short.n_queries == {"en-fr": 60, "fi-en": 60}
    asked = {row.system: row for row in short.rows}
    refused = {each.system for each in found.refusals}
    assert asked.keys() | refused == set(ALL_NAMES) - suite.SLOW - suite.SLOW_TO_LEARN
    # What surface forms find is the least that any system across languages must beat.
    assert asked["auto"].measures["MRR"] > asked["tf-idf"].measures["MRR"]
    assert asked["tf-idf"].p < 0.05
    # Measured .967 and .975; the whole tests of quality are in papers/tests/test_tasks_corpus.py.
    assert min(asked[name].by_direction["fi-en"] for name in ("auto", "relaxed")) > 0.93


def test_a_corpus_without_the_directions_asked_for_makes_no_question() -> None:
    corpus = Corpus("c", ("en", "pl"), (), ())

    assert collections._asked(corpus, [Direction("en", "fr")]) == []
    assert collections._asked(corpus, [Direction("en", "pl"), Direction("en", "fr")]) == [Direction("en", "pl")]
