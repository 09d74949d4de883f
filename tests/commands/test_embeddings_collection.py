"""`sinkrank embeddings import --collection` is cut to the words that documents hold, or enough of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reranker.embeddings import Embeddings
from tests.commands.test_embeddings import files
from tests.support.commands import MakeForeign, Run, write_rows
from tests.support.engines.sources import Engine

__all__ = ["files"]

# cat 1, dog 2, chat 2 (twice in one document counts once), voiture 1; car none.
ROWS = [
    {"id": "1", "lang": "en", "text": "The cat and a dog"},
    {"id": "2", "lang": "en", "title": "Dog", "text": ""},
    {"id": "3", "lang": "fr", "text": "Chat, chat, voiture"},
    {"id": "4", "lang": "fr", "text": "un chat"},
]


def held(home: Path) -> set[str]:
    store = Embeddings.open(home / ".sinkrank" / "embeddings")
    return {store.term(row)[1] for row in range(store.n_terms)}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"cat", "dog", "chat", "voiture"}),
        (["--min-count", "2"], {"dog", "chat"}),
        (["--max-terms", "1"], {"dog", "chat"}),
        (["--max-terms", "1", "--min-count", "2"], {"dog", "chat"}),
        (["--vocabulary", "en=words"], {"car", "chat", "voiture"}),  # the file holds for its language
    ],
)
def test_the_words_of_a_collection_are_taken_and_those_in_enough_documents(
    empty_home: Path, run: Run, files: list[str], options: list[str], expected: set[str]
) -> None:
    write_rows(empty_home / "pages.jsonl", ROWS)
    (empty_home / "words").write_text("car\n")
    run("embeddings", "import", *files, "--collection", "pages.jsonl", *options)
    assert held(empty_home) == expected


def test_a_language_that_the_collection_does_not_hold_keeps_all_its_words(
    empty_home: Path, run: Run, files: list[str]
) -> None:
    write_rows(empty_home / "pages.jsonl", ROWS[:2])
    run("embeddings", "import", *files, "--collection", "pages.jsonl")
    assert held(empty_home) == {"cat", "dog", "chat", "voiture"}


def test_rows_without_a_language_take_the_one_that_is_given_and_the_text_its_field(
    empty_home: Path, run: Run, files: list[str]
) -> None:
    write_rows(empty_home / "pages.jsonl", [{"id": "1", "article": "dog"}])
    command = ["embeddings", "import", *files, "--collection", "pages.jsonl", "--text-field", "article"]
    assert "no document with words and a language came of pages.jsonl" in run(*command, exits=1).stderr
    assert not (empty_home / ".sinkrank" / "embeddings").exists()
    run(*command, "--lang", "en")
    assert held(empty_home) == {"dog", "chat", "voiture"}


@pytest.fixture
def foreign(engine: Engine, make_foreign: MakeForeign) -> str:
    """An index of the rows that another program has made."""
    fields = {"lang": {"type": "keyword"}, "title": {"type": "text"}, "body_text": {"type": "text"}}
    rows = [{"lang": row["lang"], "title": row.get("title", ""), "body_text": row["text"]} for row in ROWS]
    return f"{engine.url}/{make_foreign(fields, rows)}"


@pytest.mark.any_engine
@pytest.mark.engine
def test_the_collection_may_be_an_index(foreign: str, empty_home: Path, run: Run, files: list[str]) -> None:
    command = ["embeddings", "import", *files, "--collection", foreign, "--text-field", "body_text"]
    assert json.loads(run(*command, "--min-count", "2", "--json").stdout)["languages"] == {"en": 1, "fr": 1}
    assert held(empty_home) == {"dog", "chat"}
    assert list((empty_home / ".sinkrank" / "collections").iterdir()) == []


def test_equally_frequent_words_are_taken_in_the_order_of_their_coming(
    empty_home: Path, run: Run, files: list[str]
) -> None:
    """Also in another process, whose sets have another order."""
    names = [f"w{chr(97 + one)}{chr(97 + two)}" for one in range(26) for two in range(4)]
    (empty_home / "many.vec").write_text(f"{len(names)} 2\n" + "".join(f"{name} 1 0\n" for name in names))
    write_rows(empty_home / "pages.jsonl", [{"id": "1", "lang": "en", "text": " ".join(reversed(names))}])
    run("embeddings", "import", "en=many.vec", "--collection", "pages.jsonl", "--max-terms", "3")
    assert held(empty_home) == set(names[-3:])


def test_what_says_how_a_collection_is_read_needs_one(empty_home: Path, run: Run, files: list[str]) -> None:
    result = run("embeddings", "import", *files, "--text-field", "fr", exits=2)
    assert "Invalid value for --text-field" in result.stderr
    assert "--collection" in result.stderr


def test_a_wrong_url_is_told_without_its_password(empty_home: Path, run: Run, files: list[str]) -> None:
    result = run("embeddings", "import", *files, "--collection", "http://someone:secret-word@localhost:1/", exits=2)
    assert "URL/INDEX" in result.stderr
    assert "secret-word" not in result.output
