"""Two collections that share no page, each trained on alone, and rotated into one space by a dictionary."""

from __future__ import annotations

from ingest.embeddings.dictionaries import Pair
from papers.studies.rotated import halves, paragraphs, rotated, rows
from sinkrank.demo import load_parallel_texts

TEXTS = load_parallel_texts()
PAIRS = [
    Pair(("en", one), ("fr", other))
    for one, other in {
        "garden": "jardin",
        "water": "eau",
        "bread": "pain",
        "morning": "matin",
        "house": "maison",
    }.items()
]


def test_no_page_is_in_both_halves_whatever_its_language():
    first, second = halves(TEXTS.train_pages)

    assert {page.page_id for page in first}.isdisjoint(page.page_id for page in second)
    assert sorted((*first, *second)) == sorted(TEXTS.train_pages)
    assert {page.language for page in first} == set(TEXTS.languages)


def test_units_are_the_paragraphs_of_one_language_each_text_once():
    pages = [page for page in TEXTS.train_pages if page.page_id == TEXTS.train_pages[0].page_id]
    found = list(paragraphs([*pages, *pages], "fr"))

    assert [unit["text"] for unit in found] == [
        text for page in pages if page.language == "fr" for _, text in page.paragraphs
    ]
    assert {unit["language"] for unit in found} == {"fr"}
    assert {unit["document"] for unit in found} == {pages[0].page_id}


def test_each_language_is_learned_from_its_own_half(tmp_path):
    embeddings = rotated(TEXTS, "fr", PAIRS, tmp_path, dim=20)

    for language, pages in zip(("en", "fr"), halves(TEXTS.train_pages), strict=True):
        own = {page.page_id for page in pages}
        assert embeddings.idf.languages[language].n_documents == len(own)
    assert embeddings.meta["source"]["n_pairs"] == len(PAIRS)


def test_a_row_has_a_figure_for_each_kind_of_query_and_method(tmp_path):
    found = list(rows(TEXTS, "fr", PAIRS, tmp_path, limit=5, dim=20))

    assert [row[0] for row in found] == ["en-fr", "fr-en"]
    assert [row[2] for row in found] == ["5", "5"]
    assert all(0 < float(figure) <= 1 for row in found for figure in row[3:])
    assert len(found[0]) == 7
