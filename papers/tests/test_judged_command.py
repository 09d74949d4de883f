"""`python -m papers.judged` on a collection of three documents."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from papers.judged import command
from papers.judged.command import app
from reranker.base.errors import WrongParameter
from tests.evaluation.judged_collections import write_collection
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
