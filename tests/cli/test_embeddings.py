"""`sinkrank embeddings`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.embeddings.word_encoder import Encoder
from sinkrank.console.vocabulary_options import named_file
from tests.cli.conftest import Run, write_rows

VECTORS = {"en": "3 2\ncat 1 0\ndog 0.8 0.6\ncar 0 -1\n", "fr": "2 2\nchat 0.96 0.28\nvoiture 0.28 -0.96\n"}


@pytest.fixture
def files(empty_home: Path) -> list[str]:
    """Two word2vec text files, each named with its language as the command takes it."""
    for language, text in VECTORS.items():
        (empty_home / f"{language}.vec").write_text(text)
    return [f"{language}={language}.vec" for language in VECTORS]


def test_info_tells_what_a_store_holds(home: Path, run: Run) -> None:
    info = json.loads(run("embeddings", "info", "--json").stdout)
    assert (info["n_terms"], info["dim"], info["languages"]) == (10, 2, {"en": 5, "fr": 5})
    assert "10 terms of 2 dimensions: en 5, fr 5" in run("embeddings", "info").stdout


def test_nearest_orders_by_cosine(home: Path, run: Run) -> None:
    result = run("embeddings", "nearest", "CAT", "--lang", "en", "--to", "fr", "-n", "3", "--json")
    nearest = json.loads(result.stdout)["nearest"]
    assert [neighbour["word"] for neighbour in nearest] == ["chat", "chien", "voiture"]
    assert [neighbour["cosine"] for neighbour in nearest] == pytest.approx([0.96, 0.6, 0.28], abs=1e-6)


def test_nearest_prints_a_table(home: Path, run: Run) -> None:
    lines = [
        line.split() for line in run("embeddings", "nearest", "cat", "--lang", "en", "-n", "1").stdout.splitlines()
    ]
    assert ["chat", "fr", "0.9600"] in lines


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["catt", "--lang", "en"], 1, "'cat'"),
        (["cat", "--lang", "fi"], 2, "only en, fr"),
        (["cat", "--lang", "english"], 2, "is not a language code"),
    ],
)
def test_nearest_of_what_is_not_there_is_an_error(
    home: Path, run: Run, arguments: list[str], exit_code: int, message: str
) -> None:
    assert message in run("embeddings", "nearest", *arguments, exits=exit_code).stderr


def test_files_are_imported_with_the_languages_in_front_of_them(empty_home: Path, run: Run, files: list[str]) -> None:
    assert json.loads(run("embeddings", "import", *files, "--json").stdout)["languages"] == {"en": 3, "fr": 2}
    nearest = run("embeddings", "nearest", "cat", "--lang", "en", "--to", "fr", "-n", "1", "--json")
    assert json.loads(nearest.stdout)["nearest"][0]["word"] == "chat"


def test_a_store_that_is_there_is_replaced_only_when_asked(empty_home: Path, run: Run, files: list[str]) -> None:
    run("embeddings", "import", files[0], "--output", "mine")
    assert "--replace" in run("embeddings", "import", files[1], "--output", "mine", exits=1).stderr

    run("embeddings", "import", files[1], "--output", "mine", "--replace")
    info = json.loads(run("embeddings", "info", "--embeddings", "mine", "--json").stdout)
    assert info["languages"] == {"fr": 2}


def test_a_broken_file_leaves_no_store(empty_home: Path, run: Run) -> None:
    (empty_home / "bad.vec").write_text("2 2\ncat 1 0\ndog nan 0.6\n")
    result = run("embeddings", "import", "en=bad.vec", exits=1)
    assert "bad.vec" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (empty_home / ".sinkrank" / "embeddings").exists()


def test_a_name_with_an_equals_sign_is_a_path_where_such_a_file_is(empty_home: Path) -> None:
    assert named_file("fr=a.vec", None) == (Path("a.vec"), "fr")
    assert named_file("a.vec", "fr") == (Path("a.vec"), "fr")
    (empty_home / "fr=a.vec").touch()
    assert named_file("fr=a.vec", None) == (Path("fr=a.vec"), None)


@pytest.fixture
def dictionary(empty_home: Path) -> str:
    """A dictionary as the option takes it."""
    pairs = {"cat": "chat", "dog": "chien", "car": "voiture", "sun": "soleil"}
    (empty_home / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs.items()))
    return "en-fr=pairs.tsv"


def test_a_dictionary_is_trained_on_without_any_text(run: Run, dictionary: str) -> None:
    result = run("embeddings", "train", "--dictionary", dictionary, "--dim", "4", "--json")
    assert json.loads(result.stdout)["languages"] == {"en": 4, "fr": 4}
    info = json.loads(run("embeddings", "info", "--verify", "--json").stdout)
    assert info["source"] == ["en-fr pairs.tsv"]


def test_stores_are_extended_aligned_and_joined(empty_home: Path, run: Run, files: list[str], dictionary: str) -> None:
    for file, output in zip(files, ("english", "french"), strict=True):
        run("embeddings", "import", file, "--output", output)
    aligned = run("embeddings", "align", "english", "french", "--dictionary", dictionary, "-o", "both", "--json")
    assert json.loads(aligned.stdout)["languages"] == {"en": 3, "fr": 2}
    joined = run("embeddings", "join", "both", "english", "--dim", "2", "-o", "joined", "--json")
    assert json.loads(joined.stdout)["dim"] == 2
    (empty_home / "fi.tsv").write_text("kissa\tcat\nkoira\tdog\nauto\tcar\n")
    extended = run("embeddings", "extend", "both", "--dictionary", "fi-en=fi.tsv", "-o", "more", "--json")
    assert json.loads(extended.stdout)["languages"] == {"en": 3, "fr": 2, "fi": 3}
    nearest = run(
        "embeddings", "nearest", "auto", "--lang", "fi", "--to", "en", "-n", "1", "--embeddings", "more", "--json"
    )
    assert json.loads(nearest.stdout)["nearest"][0]["word"] == "car"


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for the sentence encoder."""

    def encode(words: list[str]) -> NDArray[np.float32]:
        return np.stack([np.random.default_rng(sum(map(ord, word))).standard_normal(16) for word in words]).astype("f4")

    monkeypatch.setattr(
        "ingest.embeddings.sentence_models.open_encoder", lambda *arguments: Encoder("fake 1", 16, encode)
    )


@pytest.mark.usefixtures("encoder")
def test_a_store_is_built_of_a_dictionary_and_a_collection(empty_home: Path, run: Run, dictionary: str) -> None:
    write_rows(empty_home / "pages.jsonl", [{"id": "1", "language": "en", "text": "the cat in the car"}])
    result = run("embeddings", "build", "--dictionary", dictionary, "--collection", "pages.jsonl", "--json")
    assert json.loads(result.stdout)["languages"] == {"en": 2, "fr": 2}
    assert (empty_home / ".sinkrank" / "encoded-words.sqlite3").exists()


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["train", "--dictionary", "en-xx=a.tsv"], 2, "is not a language code"),
        (["train", "--dictionary", "fr-zh"], 1, "FreeDict has no dictionary fr-zh; it has fr-bg"),
        (["train", "--dictionary", "en-fr=none.tsv"], 1, "no file 'none.tsv'"),
        (["train"], 2, "name at least one file of documents"),
        (["import", "en=en.vec", "--min-count", "2"], 1, "give a vocabulary"),
        (["import", "en=en.vec", "--vocabulary", "words"], 2, "fr=words"),
        (["extend", "none", "a.jsonl"], 1, "there are no embeddings at"),
        (["train", "x.jsonl", "--dim", "0"], 2, "--dim"),
        (["import", "x.vec", "--max-terms", "0"], 2, "--max-terms"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_cure(
    run: Run, files: list[str], arguments: list[str], exit_code: int, message: str
) -> None:
    assert message in run("embeddings", *arguments, exits=exit_code).stderr


def test_a_damaged_store_does_not_verify(home: Path, run: Run) -> None:
    path = home / ".sinkrank" / "embeddings" / "slots.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    result = run("embeddings", "info", "--verify", exits=1)
    assert "slots.npy is not what the store was made with" in result.stderr


def test_a_vocabulary_with_counts_cuts_an_import(empty_home: Path, run: Run, files: list[str]) -> None:
    (empty_home / "counts").write_text("cat 9\ndog 2\ncar 7\n")
    result = run("embeddings", "import", *files, "--vocabulary", "en=counts", "--min-count", "5", "--json")
    assert json.loads(result.stdout)["languages"] == {"en": 2, "fr": 2}
