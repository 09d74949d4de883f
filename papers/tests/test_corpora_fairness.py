"""Which test pages make no fair question, and that no test page, nor one like it, is among the training pages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from papers.corpora.fairness import MAX_JACCARD, fair, jaccard_indices, near_duplicates
from reranker.base.errors import FetchFailed
from sinkrank.demo import Corpus, CorpusPage, Paragraph, load_libreoffice
from sinkrank.demo.pages import by_language

ALPHABET = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett", "kilo"]
GERMAN = "Diese Seite beschreibt, wie man eine Datei öffnet und wieder schließt, ohne etwas zu verlieren."
ENGLISH = "This page describes how the user opens a file and closes it again without losing anything at all."


def page(page_id: str, text: str, language: str = "en") -> CorpusPage:
    return CorpusPage(page_id, language, "", (Paragraph("0", text),))


def words(first: int, last: int) -> str:
    return " ".join(ALPHABET[first:last])


def test_the_jaccard_index_counts_shared_shingles_of_all() -> None:
    # Words 0 to 5 have 4 shingles of three, 1 to 6 have 4; three are shared, so three of five.
    rows, columns = [page("a", words(0, 6))], [page("b", words(1, 7)), page("c", words(0, 6)), page("d", words(0, 2))]

    assert jaccard_indices(rows, columns).tolist() == [[3 / 5, 1.0, 0.0]]


def test_of_two_near_duplicates_the_later_id_goes() -> None:
    assert near_duplicates([], [page("b", words(1, 7)), page("a", words(0, 6))]) == {"b"}


def test_exactly_the_largest_share_is_no_near_duplicate() -> None:
    # 0 to 4 has 3 shingles, 1 to 5 has 3; two of four are shared.
    assert near_duplicates([], [page("a", words(0, 5)), page("b", words(1, 6))]) == set()
    assert MAX_JACCARD == 2 / 4


def test_a_test_page_like_a_training_page_goes_whatever_its_id() -> None:
    assert near_duplicates([page("z", words(0, 6))], [page("a", words(1, 7))]) == {"a"}


def test_a_near_duplicate_in_one_language_goes_in_all() -> None:
    test = (
        page("a", words(0, 6)),
        page("a", GERMAN, "de"),
        page("b", words(1, 7)),
        page("b", f"Ganz anders: {ALPHABET[8:]}", "de"),
    )
    corpus = fair(Corpus("c", ("en", "de"), (), test, {"too short/en": 1}))

    assert {each.page_id for each in corpus.test_pages} == {"a"}
    assert corpus.left_out == {
        "too short/en": 1,
        "near-duplicate of another page/de": 1,
        "near-duplicate of another page/en": 1,
    }


def test_a_page_detected_as_english_goes_in_its_language_alone() -> None:
    test = (page("a", ENGLISH), page("a", ENGLISH, "de"), page("b", words(0, 6)), page("b", GERMAN, "de"))
    corpus = fair(Corpus("c", ("en", "de"), (), test))

    assert [(each.page_id, each.language) for each in corpus.test_pages] == [("a", "en"), ("b", "en"), ("b", "de")]
    assert corpus.left_out == {"detected as English/de": 1}


@pytest.mark.corpus
@pytest.mark.timeout(900)
@pytest.mark.conformance
def test_no_page_of_the_test_pool_nor_one_like_it_is_in_training() -> None:
    cache = os.environ.get("SINKRANK_CORPUS_CACHE")
    try:
        loaded = load_libreoffice(Path(cache) if cache else Path.home() / ".cache" / "sinkrank", languages=("en", "fr"))
    except FetchFailed as error:
        pytest.skip(str(error))
    corpus = fair(loaded)

    assert len(corpus.test_pages) > 1000
    assert not {each.page_id for each in corpus.train_pages} & {each.page_id for each in corpus.test_pages}
    for language in ("en", "fr"):
        train, test = (list(by_language(pages, language).values()) for pages in (corpus.train_pages, corpus.test_pages))
        assert jaccard_indices(test, train).max() <= MAX_JACCARD
