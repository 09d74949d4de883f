"""`python -m papers.judged` on a collection of three documents."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from papers.judged import command
from papers.judged.command import app
from papers.tests.judged_collections import write_collection
from reranker.base.errors import WrongParameter
from tests.support.tiny import tiny_embeddings

LANG = ("--lang", "fr-en")


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    tiny_embeddings(tmp_path / ".sinkrank" / "embeddings")
    return str(write_collection(tmp_path / "pets"))


def measure(*arguments: str) -> Result:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def test_a_collection_is_indexed_searched_and_compared(pets: str, tmp_path: Path) -> None:
    report = json.loads(measure(pets, *LANG, "--methods", "auto", "--output", "out", "--json").stdout)
    assert report["collection"] == {
        "name": "pets",
        "documents": 3,
        "queries": 2,
        "query_language": "fr",
        "document_language": "en",
    }
    # chat finds cat at rank 1; of the two with bread, pain car finds the one with car first.
    means = report["methods"]["auto"]["means"]
    assert (means["MRR"], means["R@100"]) == (pytest.approx((1 + 1 / 2) / 2), 1.0)
    assert means["nDCG@10"] == pytest.approx((1 + 1 / log2(3)) / 2)
    assert report["methods"]["auto"]["difference"]["n_much_worse"] == 0
    assert report["costs"]["auto"].keys() == {"query_ms", "document_ms"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["auto.run", "judged.json", "none.run"]
    assert not (tmp_path / ".sinkrank" / "store").exists()


def test_a_person_sees_every_table(pets: str) -> None:
    shown = measure(pets, *LANG, "--methods", "auto").stdout
    for said in ("worse by .1", "CPU ms a query", "3 documents in 'en'"):
        assert said in shown


def test_a_system_that_is_not_known_is_named_first(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["gone", "--home", str(tmp_path), "--systems", "minilmm"])
    assert isinstance(done.exception, WrongParameter)
    assert "did you mean 'minilm'?" in str(done.exception)


def test_systems_order_the_same_candidates(pets: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def vector(text: str) -> NDArray[np.float32]:
        return np.array([1, 0] if "car" in text or "pain" in text else [0, 1], dtype=np.float32)

    stub = SimpleNamespace(version="1", file="stub.sqlite3", query=vector, document=vector)
    monkeypatch.setattr(command, "ENCODERS", {"minilm": lambda folder, n_threads: stub})
    done = measure(pets, *LANG, "--methods", "nbow", "--systems", "bm25,minilm", "--json")
    methods = json.loads(done.stdout)["methods"]
    assert list(methods) == ["none", "nbow", "bm25", "minilm", "minilm+bm25"]
    # The encoder has cat before bread for chat, and car before bread for pain car.
    assert methods["minilm"]["means"]["P@1"] == 0.5
