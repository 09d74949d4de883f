"""`sinkrank embeddings`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run

STORE = ".sinkrank/embeddings"
VECTORS = {"en": "3 2\ncat 1 0\ndog 0.8 0.6\ncar 0 -1\n", "fr": "2 2\nchat 0.96 0.28\nvoiture 0.28 -0.96\n"}


@pytest.fixture
def files(empty_home: Path) -> list[str]:
    """Two word2vec text files, each named with its language as the command takes it."""
    for language, text in VECTORS.items():
        (empty_home / f"{language}.vec").write_text(text)
    return [f"{language}={language}.vec" for language in VECTORS]


def test_show_tells_what_a_store_holds(home: Path, run: Run) -> None:
    shown = json.loads(run("embeddings", "show", "--json").stdout)
    assert (shown["n_terms"], shown["dim"], shown["languages"]) == (10, 2, {"en": 5, "fr": 5})
    assert "10 terms of 2 dimensions: en 5, fr 5" in run("embeddings", "show", STORE).stdout


def test_the_nearest_words_are_ordered_by_cosine(home: Path, run: Run) -> None:
    result = run("embeddings", "show", STORE, "CAT", "--lang", "en", "--to", "fr", "-n", "3", "--json")
    (shown,) = json.loads(result.stdout)["words"]
    assert (shown["word"], shown["language"]) == ("CAT", "en")
    assert [other["word"] for other in shown["nearest"]] == ["chat", "chien", "voiture"]
    assert [other["cosine"] for other in shown["nearest"]] == pytest.approx([0.96, 0.6, 0.28], abs=1e-6)


def test_several_words_are_shown_each_in_its_own_language(home: Path, run: Run) -> None:
    lines = [line.split() for line in run("embeddings", "show", STORE, "cat", "chat", "-n", "1").stdout.splitlines()]
    assert ["nearest", "to", "cat", "(en)"] in lines
    assert ["chat", "fr", "0.9600"] in lines
    assert ["nearest", "to", "chat", "(fr)"] in lines
    assert ["cat", "en", "0.9600"] in lines


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        ([STORE, "catt"], 1, "no embedding in en, fr; similar words with one: 'cat'"),
        ([STORE, "catt", "--lang", "en"], 1, "no embedding in language 'en'; similar words with one: 'cat'"),
        ([STORE, "cat", "--lang", "fi"], 2, "only en, fr"),
        ([STORE, "cat", "--lang", "english"], 2, "is not a language code"),
        ([STORE, "--to", "fr"], 2, "it needs a WORD after the STORE"),
        (["cat"], 2, "sinkrank embeddings show .sinkrank/embeddings cat"),
        (["none", "cat"], 1, "there are no embeddings at none"),
    ],
)
def test_what_cannot_be_shown_is_an_error(
    home: Path, run: Run, arguments: list[str], exit_code: int, message: str
) -> None:
    assert message in " ".join(run("embeddings", "show", *arguments, exits=exit_code).stderr.split())


def test_files_are_imported_with_the_languages_in_front_of_them(empty_home: Path, run: Run, files: list[str]) -> None:
    assert json.loads(run("embeddings", "import", *files, "--json").stdout)["languages"] == {"en": 3, "fr": 2}
    shown = json.loads(run("embeddings", "show", STORE, "cat", "--to", "fr", "-n", "1", "--json").stdout)
    assert shown["words"][0]["nearest"][0]["word"] == "chat"


def test_what_is_skipped_of_a_file_is_counted_by_reason(empty_home: Path, run: Run) -> None:
    (empty_home / "words.vec").write_text("cat 1 0\ndog 0 1\ntwo_words 1 1\n", encoding="utf-8")
    shown = run("embeddings", "import", "en=words.vec").stdout
    assert "skipped (1): entries that are not a word of letters" in shown


def test_a_store_that_is_there_is_replaced_only_when_asked(empty_home: Path, run: Run, files: list[str]) -> None:
    run("embeddings", "import", files[0], "--output", "mine")
    assert "--replace" in run("embeddings", "import", files[1], "--output", "mine", exits=1).stderr

    run("embeddings", "import", files[1], "--output", "mine", "--replace")
    shown = json.loads(run("embeddings", "show", "mine", "--json").stdout)
    assert shown["languages"] == {"fr": 2}


def test_a_damaged_store_is_not_shown(home: Path, run: Run) -> None:
    path = home / ".sinkrank" / "embeddings" / "slots.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    result = run("embeddings", "show", exits=1)
    assert "slots.npy is damaged" in result.stderr
