"""`sinkrank embeddings`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sinkrank.commands.embeddings import _named
from tests.cli.conftest import Run

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
    result = run("embeddings", "nearest", *arguments)
    assert result.exit_code == exit_code
    assert message in result.stderr


def test_files_are_imported_with_the_languages_in_front_of_them(empty_home: Path, run: Run, files: list[str]) -> None:
    result = run("embeddings", "import", *files, "--json")

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["languages"] == {"en": 3, "fr": 2}
    nearest = run("embeddings", "nearest", "cat", "--lang", "en", "--to", "fr", "-n", "1", "--json")
    assert json.loads(nearest.stdout)["nearest"][0]["word"] == "chat"


def test_a_store_that_is_there_is_replaced_only_when_asked(empty_home: Path, run: Run, files: list[str]) -> None:
    assert run("embeddings", "import", files[0], "--output", "mine").exit_code == 0
    again = run("embeddings", "import", files[1], "--output", "mine")
    assert again.exit_code == 1
    assert "--replace" in again.stderr

    assert run("embeddings", "import", files[1], "--output", "mine", "--replace").exit_code == 0
    info = json.loads(run("embeddings", "info", "--embeddings", "mine", "--json").stdout)
    assert info["languages"] == {"fr": 2}


def test_a_broken_file_leaves_no_store(empty_home: Path, run: Run) -> None:
    (empty_home / "bad.vec").write_text("2 2\ncat 1 0\ndog nan 0.6\n")
    result = run("embeddings", "import", "en=bad.vec")
    assert result.exit_code == 1
    assert "bad.vec" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (empty_home / ".sinkrank" / "embeddings").exists()


def test_aligned_texts_are_trained_on(empty_home: Path, run: Run) -> None:
    pairs = [
        ("cat milk", "chat lait"),
        ("dog bone", "chien os"),
        ("car road", "voiture route"),
        ("sun sky", "soleil ciel"),
    ]
    rows = [
        {"group": f"{n}-{repeat}", "language": language, "text": text}
        for n, pair in enumerate(pairs)
        for repeat in range(5)
        for language, text in zip(("en", "fr"), pair, strict=True)
    ]
    (empty_home / "aligned.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    result = run("embeddings", "train", "aligned.jsonl", "--dim", "3", "--json")

    assert result.exit_code == 0, result.stderr
    assert set(json.loads(result.stdout)["languages"]) == {"en", "fr"}


def test_a_name_with_an_equals_sign_is_a_path_where_such_a_file_is(empty_home: Path) -> None:
    assert _named("fr=a.vec", None) == (Path("a.vec"), "fr")
    assert _named("a.vec", "fr") == (Path("a.vec"), "fr")
    (empty_home / "fr=a.vec").touch()
    assert _named("fr=a.vec", None) == (Path("fr=a.vec"), None)


@pytest.mark.parametrize("arguments", [["train", "x.jsonl", "--dim", "0"], ["import", "x.vec", "--max-terms", "0"]])
def test_a_number_out_of_its_range_is_wrong_use(empty_home: Path, run: Run, arguments: list[str]) -> None:
    assert run("embeddings", *arguments).exit_code == 2
