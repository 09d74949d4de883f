"""`sinkrank evaluate --collection` on a collection of three documents."""

from __future__ import annotations

import json
import os
from contextlib import closing
from math import log2
from pathlib import Path

import pytest

from reranker.stores import open_store
from tests.evaluation.judged_collections import write_collection
from tests.support.commands import Run
from tests.support.engines.sources import Engine

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
    assert sorted(path.name for path in (home / "out").iterdir()) == ["auto.run", "judged.json", "none.run"]
    assert not (home / ".sinkrank" / "store").exists()


def test_a_person_sees_the_table(run: Run, pets: str) -> None:
    result = run("evaluate", "--collection", pets, *LANG, "--methods", "auto")
    for said in ("worse by .1", "3 documents in 'en', queries in 'fr'"):
        assert said in result.stdout


def test_a_named_index_stays_in_the_store(run: Run, pets: str, home: Path) -> None:
    asked = ("evaluate", "--collection", pets, *LANG, "--methods", "auto", "--index", "pets", "--json")
    assert json.loads(run(*asked).stdout)["index"] == "pets"
    with closing(open_store(str(home / ".sinkrank" / "store"))) as store:
        assert store.count("pets") == 3
    run(*asked)


def test_an_option_of_an_index_is_refused(run: Run, pets: str) -> None:
    result = run("evaluate", "--collection", pets, "--queries", "queries.jsonl", exits=2)
    assert "--collection does not take it" in result.stderr


def test_the_language_belongs_to_a_collection(run: Run) -> None:
    assert "give --collection too" in run("evaluate", "--lang", "en", exits=2).stderr


def test_judgments_or_a_collection_are_needed(run: Run) -> None:
    assert "give the judgments of your index, or --collection" in run("evaluate", exits=2).stderr


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
