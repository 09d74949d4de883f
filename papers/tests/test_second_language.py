"""Everyday queries in three languages on an English index: what is written, and what the table counts."""

from __future__ import annotations

from pathlib import Path

import pytest
import urllib3

from papers.judged.beir import read_beir
from papers.studies.second_language import QUERIES_IN, judged_queries, main, row, write
from sinkrank.evaluation.comparison import Run, Way
from tests.support.engines.sources import Engine
from tests.support.tiny import tiny_embeddings

PAGES = [
    {"id": "gnome/files-disc-write", "title": "Write files", "text": "burn disc"},
    {"id": "gnome/power-hotcomputer", "title": "Hot", "text": "warm"},
]


def test_the_folder_of_a_language_is_a_collection_in_the_layout_of_beir(tmp_path: Path) -> None:
    write(tmp_path, PAGES)
    for language in QUERIES_IN:
        collection = read_beir(tmp_path / language)
        assert [query.text for query in collection.queries] == list(QUERIES_IN[language])
        assert [query.relevance for query in collection.queries] == [
            query.relevance for query in judged_queries(language)
        ]
        assert [document.doc_id for document in collection.documents("en")] == [page["id"] for page in PAGES]


def test_a_row_counts_the_queries_that_are_better_or_worse_and_those_that_found_no_page() -> None:
    def run(*values: float) -> Run:
        return Run(Way("way", "none"), {}, {"MRR": {str(place): value for place, value in enumerate(values)}})

    # (1 + 0.5 + 0 + 0) / 4, and (0.5 + 1 + 1 + 0) / 4.
    assert row("fi", run(1, 0.5, 0, 0), run(0.5, 1, 1, 0)) == ["fi", "4", "0.375", "0.625", "2", "1", "1"]


@pytest.mark.any_engine
def test_the_command_prints_the_mrr_of_each_language(
    first_engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = "second-language"
    for page in PAGES:
        url = f"{first_engine.url}/{index}/_doc/{page['id'].replace('/', '%2F')}?refresh=true"
        assert urllib3.request("PUT", url, json=page).status == 201
    tiny_embeddings(tmp_path / "embeddings")
    address = first_engine.url.replace("http://", "opensearch://")
    main(["measure", "--store", address, "--index", index, "--embeddings", str(tmp_path / "embeddings"), "--each"])
    lines = capsys.readouterr().out.splitlines()
    # Only "burn a disc" finds a page that answers: 1 / 32. Its words have no embedding, so that the order stays.
    assert "| en | 32 | 0.031 | 0.031 | 0 | 0 | 31 |" in lines
    assert "| de | 20 | 0.000 | 0.000 | 0 | 0 | 20 |" in lines
    assert "| burn a disc | 1.000 | 1.000 |" in lines
    assert sum(line.endswith("| 0.000 | 0.000 |") for line in lines) == 71
