"""Texts in many scripts from training to the highlighted words of an explanation, by the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.embeddings.training import train
from ingest.embeddings.units import Unit
from reranker.stores import open_store
from tests.commands.writing_systems import ENGLISH, SAMPLES, TOPICS
from tests.support.commands import Run, write_rows
from tests.support.engines.sources import Engine

INDEX = f"languages-{os.getpid()}"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with embeddings of all the languages, and documents in them."""
    home = tmp_path_factory.mktemp("languages")
    texts = {"en": ENGLISH, **{language: sample.sentences for language, sample in SAMPLES.items()}}
    units = [
        Unit(topic, language, text, topic)
        for language, sentences in texts.items()
        for topic, text in zip(TOPICS, sentences, strict=True)
    ]
    train(units, home / ".sinkrank" / "embeddings")
    rows: list[dict[str, Any]] = [
        {"id": f"{unit.language}/{unit.group}", "language": unit.language, "text": unit.text} for unit in units
    ]
    write_rows(home / "documents.jsonl", rows)
    return home


@pytest.fixture
def home(empty_home: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    return trained


@pytest.fixture
def ingested(run: Run, home: Path) -> list[str]:
    """What names the index of the embedded store, which the first test makes."""
    if not (home / "done").exists():
        run("ingest", "documents.jsonl", "--index", INDEX)
        (home / "done").touch()
    return ["--index", INDEX]


def check(run: Run, language: str, *index: str) -> None:
    sample = SAMPLES[language]
    across = run("search", sample.query, "--lang", language, "--to", "en", "--json", *index)
    assert json.loads(across.stdout)["hits"][0]["id"] == f"en/{sample.topic}"
    # A language that is not given is guessed by the words that the embeddings know.
    within = json.loads(run("search", sample.query, "--to", language, "--json", *index).stdout)
    assert (within["language"], within["hits"][0]["id"]) == (language, f"{language}/{sample.topic}")

    explained = run("explain", sample.query, f"{language}/{sample.topic}", "--lang", language, "--json", *index)
    explanation = json.loads(explained.stdout)
    asked = {word["word"] for word in explanation["words"]}
    text = sample.sentences[TOPICS.index(sample.topic)]
    places = [place for word in explanation["document_words"] if word["word"] in asked for place in word["in_text"]]
    assert [text[start:end] for start, end in sorted(places)] == list(sample.found)
    assert explanation["unknown_words"] == []


@pytest.mark.parametrize("language", SAMPLES)
def test_a_query_in_any_script_finds_its_document_and_shows_its_words(run: Run, ingested: list[str], language: str):
    check(run, language, *ingested)


@pytest.fixture
def at_engine(run: Run, home: Path, engine: Engine) -> Iterator[list[str]]:
    index = ["--store", engine.url, "--index", INDEX]
    run("ingest", "documents.jsonl", *index)
    yield index
    store = open_store(engine.url)
    store.drop(INDEX)
    store.close()


@pytest.mark.any_engine
def test_an_engine_holds_documents_in_any_script(run: Run, at_engine: list[str]):
    for language in SAMPLES:
        check(run, language, *at_engine)
