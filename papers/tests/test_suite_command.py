"""`python -m papers`: what it prints and writes, what it refuses, and its quick form on real pages."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import ir_measures
import numpy as np
import pytest
from typer.testing import CliRunner

from ingest.embeddings.training import train
from papers.command import app
from papers.corpora.tasks import Direction
from papers.suite import collections, plots, suite
from papers.suite.asking import Refusal
from papers.suite.collections import Collection, part_of
from papers.suite.correlations import Correlations
from papers.suite.plots import pair_of
from papers.suite.questions import classification, translations
from papers.suite.report import markdown
from papers.systems.catalogue import ALL_NAMES
from sinkrank.demo import Corpus, CorpusUnavailable, load_libreoffice, load_parallel_texts, trained

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}svg"


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


@pytest.fixture
def without_plots(monkeypatch):
    """Drawing takes longer than all else."""
    monkeypatch.setattr(plots, "draw", lambda *_: [])


def measure(*arguments: object):
    return CliRunner().invoke(app, [*map(str, arguments)])


def measure_texts(*arguments: object):
    return measure("--corpus", "gnome", *arguments)


def test_it_prints_tables_and_writes_every_form_and_runs_that_give_the_same_figures(of_texts, home, tmp_path) -> None:
    out = tmp_path / "out"
    done = measure_texts("--home", home, "--systems", "tf-idf,sinkhorn,auto", "--output", out)

    assert done.exit_code == 0, done.output
    for words in ("p to auto", "en-fr", "k nearest neighbours"):
        assert words in done.stdout
    found = json.loads((out / "papers.json").read_text(encoding="utf-8"))["collections"][0]
    assert [row["system"] for row in found["tables"][0]["rows"]] == ["tf-idf", "sinkhorn", "auto"]
    assert [row["system"] for row in found["classification"]] == ["tf-idf", "sinkhorn", "auto"]
    assert list(found["by_epsilon"]["pages"]) == ["0.05", "0.5"]
    page = (out / "papers.md").read_text(encoding="utf-8")
    for words in ("- shipped (Apache-2.0)", "| auto |", "The effect of lambda", "Training pages"):
        assert words in page
    for name in ("lambda.svg", "plan.svg", "cost.svg"):
        assert ElementTree.parse(out / name).getroot().tag == SVG
    with gzip.open(out / "runs" / "libreoffice_en-fr_first20" / "auto.run.gz", "rt", encoding="utf-8") as file:
        run = list(ir_measures.read_trec_run(file.read()))
    qrels = list(ir_measures.read_trec_qrels(str(out / "qrels" / "en-fr_libreoffice_first20.qrels")))
    table = found["tables"][1]
    assert table["name"] == "libreoffice first20"
    figure = ir_measures.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR]
    assert figure == pytest.approx(table["rows"][2]["by_direction"]["en-fr"])


def figures(found: dict) -> dict:
    """All of a report in JSON but what its run took."""
    return {**found, "collections": [{**each, "effort": None} for each in found["collections"]]}


def test_the_second_time_gives_the_same_files_from_what_was_kept(of_texts, home, tmp_path, monkeypatch) -> None:
    def forms(name: str) -> dict[str, bytes]:
        out = tmp_path / name
        assert measure_texts("--home", home, "--systems", "tf-idf,auto", "--output", out).exit_code == 0
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    first = forms("one")
    monkeypatch.setattr("papers.suite.asking._answer", None)  # asking anything would fail
    second = forms("two")

    found, again = (json.loads(each.pop("papers.json")) for each in (first, second))
    assert figures(again) == figures(found)
    assert again["collections"][0]["effort"]["n_asked"] == 0
    page, page_again = (each.pop("papers.md").decode().splitlines() for each in (first, second))
    changed = [line for line, other in zip(page, page_again, strict=True) if line != other]
    assert all(line.startswith("- This run took") for line in changed)
    assert second == first


@pytest.mark.conformance  # it asks all of six systems twice
def test_several_processes_find_what_one_finds_and_keep_it_for_one(of_texts, home, tmp_path, monkeypatch) -> None:
    systems = "tf-idf,sinkhorn,auto,entro-wass-idf,cr5,cr5_wass"

    def run(n_processes: int, *arguments: str) -> dict:
        monkeypatch.setenv("SINKRANK_THREADS", str(n_processes))
        asked = ("--systems", systems, "--directions", "en-fr", "--json")
        done = measure_texts("--home", home, *asked, *arguments)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)["collections"][0]

    kept = [home / "evaluation" / "papers" / "records", home / "evaluation" / "systems"]
    for folder in kept:
        shutil.rmtree(folder, ignore_errors=True)
    one = run(1)
    files = [sorted(path.name for path in folder.iterdir()) for folder in kept]
    for folder in kept:
        shutil.rmtree(folder)
    two = run(2)
    again = run(1)

    # The same answers under the same names, each asked once: ensembles join what their members said.
    assert [sorted(path.name for path in folder.iterdir()) for folder in kept] == files
    assert (two["effort"]["n_processes"], two["effort"]["n_asked"], again["effort"]["n_asked"]) == (2, len(files[0]), 0)
    for found in (two, again):
        assert list(found["systems"]) == systems.split(",")
        assert found["by_epsilon"] == one["by_epsilon"]
        assert found["correlations"] == one["correlations"]
        for table, expected in zip(found["tables"], one["tables"], strict=True):
            for row, as_before in zip(table["rows"], expected["rows"], strict=True):
                assert (row["measures"], row["p"]) == (as_before["measures"], as_before["p"])


def test_how_alike_systems_rank_is_in_every_form(of_texts, without_plots, home, tmp_path) -> None:
    out = tmp_path / "out"
    done = measure_texts("--home", home, "--systems", "auto,cr5,tf-idf", "--output", out)

    assert "How alike systems rank" in done.stdout
    assert "| cr5, auto |" in (out / "papers.md").read_text(encoding="utf-8")
    found = json.loads((out / "papers.json").read_text(encoding="utf-8"))["collections"][0]["correlations"]
    assert found["not_cached"] == []
    assert [(each["table"], each["first"], each["second"]) for each in found["found"]] == [
        ("libreoffice pages", "cr5", "auto"),
        ("libreoffice first20", "cr5", "auto"),
    ]
    for each in found["found"]:
        assert set(each["by_direction"]) == {"en-fr", "fr-en"}
        assert -1 <= each["mean"] <= 1


def test_directions_that_no_collection_has_are_refused(home, monkeypatch) -> None:
    monkeypatch.setitem(suite.COLLECTIONS, "gnome", lambda *_: replace(texts(home), questions=()))
    done = measure_texts("--home", home, "--directions", "pl-es")

    assert done.exit_code != 0
    assert "both languages of pl-es" in f"{done.stderr}{done.exception}"


def test_a_system_that_cannot_do_a_question_is_said_to_be_missing(of_texts, without_plots, home, monkeypatch) -> None:
    # Nor is there one from English to English, which the classification asks for.
    monkeypatch.setattr("ingest.embeddings.freedict.LICENCES", {"en-fr": "GPL"})
    done = measure_texts("--home", home, "--systems", "bm25-translated,tf-idf", "--directions", "fr-de", "--json")
    (found,) = json.loads(done.stdout)["collections"]

    assert "papers.md" in done.stderr
    assert found["tables"][0]["directions"] == ["fr-de"]
    assert {each["system"] for each in found["refusals"]} == {"bm25-translated"}
    assert any("there is no dictionary for" in each["reason"] for each in found["refusals"])
    assert [row["system"] for row in found["tables"][0]["rows"]] == ["tf-idf"]


def test_the_quick_form_takes_no_corpus() -> None:
    done = CliRunner(env={"TERM": "dumb", "COLUMNS": "200"}).invoke(app, ["--quick", "--corpus", "gnome"])

    assert done.exit_code == 2
    assert "a collection of its own" in done.stderr


def test_an_error_of_the_command_is_one_line_without_a_traceback(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "papers", "--home", tmp_path, "--systems", "colbert"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("'colbert' is not a system of the suite")
    assert "Traceback" not in done.stderr


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


def test_plans_of_a_pair_move_all_the_query_s_weight(home) -> None:
    collection = texts(home)
    pair = pair_of(collection.questions[2], collection.embeddings(home))

    assert len(pair.document_words) <= 20
    for method, plan in pair.plans.items():
        assert plan.shape == (len(pair.query_words), len(pair.document_words)), method
        assert plan.sum() == pytest.approx(1, abs=1e-3)
    # Columns are sorted by the query word that brings most of them, which is what makes a picture readable.
    assert (np.diff(pair.plans["emd"].argmax(axis=0)) >= 0).all()


def test_a_part_of_a_corpus_has_pages_in_all_its_languages_and_a_name_of_its_own() -> None:
    corpus = load_parallel_texts()
    part = part_of(corpus, 5, 3)

    assert part.name != corpus.name
    for pages, n in ((part.train_pages, 5), (part.test_pages, 3)):
        assert len({page.page_id for page in pages}) == n
        assert len(pages) == n * len(corpus.languages)


def test_reasons_are_said_once_in_the_report_and_systems_without_kept_distances_are_named(home) -> None:
    collection = texts(home)
    refusals = tuple(Refusal("bm25", question.name, "no dictionary") for question in collection.questions)
    alike = Correlations((), ("mltm",))
    page = markdown([suite.Outcome(collection, collection.embeddings(home), {}, refusals, correlations=alike)])

    assert page.count("no dictionary") == 1
    assert "- Not in all rank correlations: `mltm`" in page


@pytest.fixture
def real_home(tmp_path) -> Path:
    """A new home with the pages that the suite of tests keeps."""
    cache = os.environ.get("SINKRANK_CORPUS_CACHE")
    kept = Path(cache) if cache else Path.home() / ".cache" / "sinkrank"
    try:
        load_libreoffice(kept, languages=collections.QUICK_LANGUAGES)
    except CorpusUnavailable as error:
        pytest.skip(str(error))
    (tmp_path / "corpora").symlink_to(kept / "corpora")
    return tmp_path


@pytest.mark.corpus
@pytest.mark.timeout(900)  # pages are downloaded at the first run
@pytest.mark.parametrize(
    "systems",
    [
        pytest.param(("tf-idf", "relaxed", "auto"), id="three"),
        pytest.param(ALL_NAMES, marks=pytest.mark.conformance, id="every"),
    ],
)
def test_the_quick_form_asks_fast_systems_on_real_pages(real_home, systems, monkeypatch) -> None:
    if systems != ALL_NAMES:
        monkeypatch.setattr(trained, "train", partial(train, dim=100))  # in half the time
    done = measure("--quick", "--home", real_home, "--systems", ",".join(systems), "--json")

    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["collections"]
    pages, short = found["tables"]
    assert pages["n_queries"] == short["n_queries"] == {"en-fr": 60, "fi-en": 60}
    asked = {row["system"]: row for row in short["rows"]}
    refused = {each["system"] for each in found["refusals"]}
    assert asked.keys() | refused == set(systems) - suite.SLOW - suite.SLOW_TO_LEARN
    # What surface forms find is the least that any system across languages must beat.
    assert asked["auto"]["measures"]["MRR"] > asked["tf-idf"]["measures"]["MRR"]
    assert asked["tf-idf"]["p"] < 0.05
    # Measured .967 and .975; the whole tests of quality are in papers/tests/test_tasks_corpus.py.
    assert min(asked[name]["by_direction"]["fi-en"] for name in ("auto", "relaxed")) > 0.93
    assert (real_home / "evaluation" / "papers-quick" / "papers.md").is_file()
    assert (real_home / "evaluation" / "papers-quick" / "lambda.svg").is_file() == ("sinkhorn" in systems)


def test_a_corpus_without_the_directions_asked_for_makes_no_question() -> None:
    corpus = Corpus("c", ("en", "pl"), (), ())

    assert collections._asked(corpus, [Direction("en", "fr")]) == []
    assert collections._asked(corpus, [Direction("en", "pl"), Direction("en", "fr")]) == [Direction("en", "pl")]
