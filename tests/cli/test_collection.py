"""`sinkrank evaluate --collection` on a collection of three documents."""

from __future__ import annotations

import json
import os
from contextlib import closing
from math import log2
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.collections import encoders
from reranker.stores import open_store
from tests.cli.conftest import Run
from tests.engines.sources import Engine
from tests.evaluation.judged_collections import write_collection

pytestmark = pytest.mark.usefixtures("home")
LANG = ("--lang", "fr-en")


@pytest.fixture
def pets(tmp_path: Path) -> str:
    return str(write_collection(tmp_path / "pets"))


def test_a_collection_is_indexed_searched_and_compared(run: Run, pets: str, home: Path) -> None:
    result = run("evaluate", "--collection", pets, *LANG, "--methods", "auto", "--output", "out", "--json")
    report = json.loads(result.stdout)
    assert report["collection"] == {
        "name": "pets",
        "documents": 3,
        "queries": 2,
        "query_language": "fr",
        "document_language": "en",
    }
    assert list(report["methods"]) == ["none", "auto"]
    # chat finds cat at rank 1; of the two with bread, pain car finds the one with car first.
    means = report["methods"]["auto"]["means"]
    assert (means["MRR"], means["R@100"]) == (pytest.approx((1 + 1 / 2) / 2), 1.0)
    assert means["nDCG@10"] == pytest.approx((1 + 1 / log2(3)) / 2)
    assert report["methods"]["auto"]["difference"]["n_much_worse"] == 0
    assert set(report["costs"]["auto"]) == {"query_ms", "document_ms"}
    # Of chat, pain and car the documents hold car.
    spellings = report["identical_spellings_removed"]
    assert (spellings["tokens"], spellings["removed"], spellings["empty_queries"]) == (3, 1, 0)
    # pain alone is nearer to bread and water than to bread and two cars.
    assert spellings["methods"]["none"]["means"]["MRR"] == 1.0
    assert sorted(path.name for path in (home / "out").iterdir()) == ["auto.run", "judged.json", "none.run"]
    assert not (home / ".sinkrank" / "store").exists()


def test_a_person_sees_every_table(run: Run, pets: str) -> None:
    result = run("evaluate", "--collection", pets, *LANG, "--methods", "auto")
    for said in ("worse by .1", "identical spellings removed: 1 of 3 tokens", "CPU ms a query", "3 documents in 'en'"):
        assert said in result.stdout


def test_in_one_language_no_spelling_is_removed(run: Run, pets: str) -> None:
    result = run(
        "evaluate", "--collection", pets, "--lang", "en", "--first-stage", "bm25", "--methods", "auto", "--json"
    )
    assert "identical_spellings_removed" not in json.loads(result.stdout)


def test_a_named_index_stays_in_the_store(run: Run, pets: str, home: Path) -> None:
    asked = ("evaluate", "--collection", pets, *LANG, "--methods", "auto", "--index", "pets", "--json")
    assert json.loads(run(*asked).stdout)["index"] == "pets"
    with closing(open_store(str(home / ".sinkrank" / "store"))) as store:
        assert store.count("pets") == 3
    run(*asked)


def test_an_option_of_held_out_pages_is_refused(run: Run, pets: str) -> None:
    result = run("evaluate", "--collection", pets, "--directions", "en-fr", exits=2)
    assert "--collection does not take it" in result.stderr


def test_the_language_belongs_to_a_collection(run: Run) -> None:
    assert "give --collection too" in run("evaluate", "--lang", "en", exits=2).stderr


def test_a_system_that_is_not_known_is_named_first(run: Run) -> None:
    result = run("evaluate", "--collection", "gone", "--systems", "minilmm", exits=2)
    assert "did you mean 'minilm'?" in result.stderr


def test_systems_order_the_same_candidates(run: Run, pets: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def vector(text: str) -> NDArray[np.float32]:
        return np.array([1, 0] if "car" in text or "pain" in text else [0, 1], dtype=np.float32)

    stub = SimpleNamespace(version="1", file="stub.sqlite3", query=vector, document=vector)
    monkeypatch.setattr(encoders, "ENCODERS", {"minilm": lambda folder, n_threads: stub})
    result = run("evaluate", "--collection", pets, *LANG, "--methods", "nbow", "--systems", "bm25,minilm", "--json")
    methods = json.loads(result.stdout)["methods"]
    assert list(methods) == ["none", "nbow", "bm25", "minilm", "minilm+bm25"]
    # The encoder has cat before bread for chat, and car before bread for pain car.
    assert methods["minilm"]["means"]["P@1"] == 0.5


@pytest.mark.any_engine
@pytest.mark.engine
def test_an_engine_holds_the_index_while_it_is_needed(run: Run, pets: str, engine: Engine) -> None:
    address = f"{engine.distribution}://{engine.url.removeprefix('http://')}"
    asked = ("evaluate", "--collection", pets, *LANG, "--methods", "auto", "--store", address, "--json")
    index = f"collection-{os.getpid()}"
    with closing(open_store(address)) as store:
        before = store.indices()
        assert json.loads(run(*asked).stdout)["methods"]["auto"]["means"]["R@100"] == 1.0
        assert store.indices() == before
        try:
            assert json.loads(run(*asked, "--index", index).stdout)["index"] == index
            assert store.count(index) == 3
        finally:
            store.drop(index)
