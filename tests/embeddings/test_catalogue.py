"""The catalogue of published vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.embeddings.catalogue import CATALOGUE, published
from reranker.base.errors import WrongParameter


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(WrongParameter, match="fasttext-aligned"):
        published("fasttext-align")


def test_the_documented_table_is_that_of_the_code():
    header = ["name", "languages", "dim", "licence", "source"]
    rows = [f"| {' | '.join(cells)} |" for cells in (header, *map(row, CATALOGUE.values()))]
    text = (Path(__file__).parents[2] / "docs" / "embeddings.md").read_text(encoding="utf-8")
    section = text.split("## Published vectors")[1].split("## ")[0]
    documented = [line for line in section.splitlines() if line.startswith("|")]
    assert [documented[0], *documented[2:]] == rows


def row(entry):
    name, *rest = entry.row()
    return [f"[`{name}`]({entry.page})", *rest]
