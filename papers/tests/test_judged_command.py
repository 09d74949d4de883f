"""`python -m papers.judged` on a collection of three documents."""

from __future__ import annotations

import json
from contextlib import closing
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
from reranker.stores import open_store
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
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["auto.run", "judged.json", "none.run"]
    assert not (tmp_path / ".sinkrank" / "store").exists()


def test_a_named_index_stays_in_the_store(pets: str, tmp_path: Path) -> None:
    asked = (pets, *LANG, "--methods", "auto", "--index", "pets", "--json")
    assert json.loads(measure(*asked).stdout)["index"] == "pets"
    with closing(open_store(str(tmp_path / ".sinkrank" / "store"))) as store:
        assert store.open("pets").count() == 3
    measure(*asked)


def test_across_languages_it_measures_without_identical_spellings_and_what_a_query_costs(pets: str) -> None:
    report = json.loads(measure(pets, *LANG, "--methods", "auto", "--json").stdout)

    assert list(report["methods"]) == ["none", "auto"]
    assert report["collection"]["documents"] == 3
    assert set(report["costs"]["auto"]) == {"query_ms", "document_ms"}
    # Of chat, pain and car the documents hold car.
    spellings = report["identical_spellings_removed"]
    assert (spellings["tokens"], spellings["removed"], spellings["empty_queries"]) == (3, 1, 0)
    # pain alone is nearer to bread and water than to bread and two cars.
    assert spellings["methods"]["none"]["means"]["MRR"] == 1.0


def test_a_person_sees_every_table(pets: str) -> None:
    shown = measure(pets, *LANG, "--methods", "auto").stdout
    for said in ("worse by .1", "identical spellings removed: 1 of 3 tokens", "CPU ms a query", "3 documents in 'en'"):
        assert said in shown


def test_in_one_language_no_spelling_is_removed(pets: str) -> None:
    done = measure(pets, "--lang", "en", "--first-stage", "bm25", "--methods", "auto", "--json")
    assert "identical_spellings_removed" not in json.loads(done.stdout)


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
