"""`python -m papers.held_out --corpus gnome|manpages`: which pages ask, and which corpus is learned from before."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from ingest.documents import Layout, read_records
from ingest.files import open_sources
from papers.held_out import pages
from papers.held_out.command import app
from papers.held_out.report import is_trained_on
from reranker.embeddings import Embeddings
from sinkrank.demo import Corpus, load_parallel_texts

TEXTS = load_parallel_texts()
LIBREOFFICE = replace(TEXTS, name="libreoffice", test_pages=())
GNOME = Corpus("gnome", TEXTS.languages, (), TEXTS.test_pages)
ARGUMENTS = ("--directions", "fr-en", "--queries", "first8", "--methods", "nbow,auto")


@pytest.fixture(autouse=True)
def small_corpora(monkeypatch):
    """The shipped texts in the place of what apt-get would fetch."""
    monkeypatch.setattr(pages, "load_libreoffice", lambda home, progress: LIBREOFFICE)
    monkeypatch.setattr(pages.gnome, "load_gnome", lambda home, progress: GNOME)
    monkeypatch.setattr(pages.manpages, "load_manpages", lambda home, progress: replace(TEXTS, name="manpages"))


def evaluate(home, *arguments):
    return CliRunner().invoke(app, ["--home", str(home), *arguments])


def test_gnome_asks_what_was_trained_on_libreoffice(tmp_path):
    done = evaluate(tmp_path, "--corpus", "gnome", *ARGUMENTS)

    assert done.exit_code == 0, done.output
    assert is_trained_on(Embeddings.open(tmp_path / "evaluation" / "libreoffice" / "embeddings"), LIBREOFFICE)
    page = (tmp_path / "evaluation" / "gnome" / "evaluation.md").read_text(encoding="utf-8")
    assert page == done.stdout
    pages_of = re.search(r"Pages to train on, of the corpus libreoffice: (.*); held out: (.*)\n", page).groups()
    languages = sorted(TEXTS.languages)
    assert [sorted(each.split(", ")) for each in pages_of] == [[f"{code} {n}" for code in languages] for n in (53, 16)]
    assert "trained on the training pages alone" in page
    assert "CC-BY-SA-3.0" in page


def test_a_corpus_learned_from_elsewhere_has_the_figures_of_one_corpus_with_the_same_pages(tmp_path):
    apart, together = (evaluate(tmp_path, "--corpus", name, *ARGUMENTS).stdout for name in ("gnome", "texts"))

    # Hubness too, which is measured by the training pages.
    assert apart[apart.index("## first8") :] == together[together.index("## first8") :]


def test_the_development_part_of_what_is_for_testing_alone_is_refused(tmp_path):
    done = evaluate(tmp_path, "--corpus", "gnome", "--development", *ARGUMENTS)

    assert "for testing alone; choose by another corpus" in str(done.exception)
    assert not (tmp_path / "evaluation").exists()


def test_a_page_that_nearly_repeats_another_does_not_ask(monkeypatch, tmp_path):
    first = TEXTS.test_pages[0].page_id
    twice = tuple(page._replace(page_id=f"{first}-again") for page in TEXTS.test_pages if page.page_id == first)
    monkeypatch.setattr(
        pages.manpages,
        "load_manpages",
        lambda home, progress: replace(TEXTS, test_pages=(*TEXTS.test_pages, *twice)),
    )
    found = pages.load("manpages", tmp_path)

    assert found.corpus.test_pages == TEXTS.test_pages
    assert found.learned_from is found.corpus


def test_the_development_part_of_the_manual_is_of_its_training_pages(tmp_path):
    found = pages.load("manpages", tmp_path, of_development=True).corpus

    assert found.name == "manpages-development"
    assert found.test_pages
    assert {*found.train_pages, *found.test_pages} <= set(TEXTS.train_pages)


def test_the_held_out_pages_are_written_as_documents_that_ingest_reads(tmp_path):
    pages.main(["gnome", str(tmp_path / "pages.jsonl"), "--home", str(tmp_path)])

    with open_sources([str(tmp_path / "pages.jsonl")]) as sources:
        documents = [record.document for record in read_records(sources, Layout())]
    expected = [(f"{page.language}/{page.page_id}", page.language, page.text) for page in TEXTS.test_pages]
    assert [(each.doc_id, each.language, each.text) for each in documents] == expected
