"""`sinkrank embeddings train` learns from the documents that `sinkrank ingest` takes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reranker.embeddings import Embeddings
from tests.support.commands import MakeForeign, Run, write_rows
from tests.support.engines.sources import Engine
from tests.support.tiny import write_embeddings

# Two topics that share no word: a word's nearest neighbours must be of its own topic.
PETS = ("cat", "dog", "fur", "paw", "leash")
FOOD = ("bread", "soup", "salt", "oven", "butter")


def articles(language: str | None = "en") -> list[dict[str, Any]]:
    """Ten documents of each topic, each with a title and a text of three words; JSON has no language if None."""
    rows = []
    for topic in (PETS, FOOD):
        for n in range(10):
            words = [topic[(n + k) % 5] for k in (0, 1, 3)]
            row = {"id": f"{topic[0]}-{n}", "title": words[0], "text": f"{words[1]} {words[2]}"}
            rows.append(row if language is None else row | {"language": language})
    return rows


def store(home: Path) -> Embeddings:
    return Embeddings.open(home / ".sinkrank" / "embeddings")


def nearest(home: Path, word: str, n: int = 4) -> set[str]:
    return {term for _, term, _ in store(home).nearest(word, "en", "en", n)}


def test_documents_of_one_language_train_and_topics_separate(empty_home: Path, run: Run) -> None:
    (empty_home / "a.jsonl.gz").write_bytes(
        gzip.compress("".join(f"{json.dumps(row)}\n" for row in articles(None)).encode())
    )
    result = run("embeddings", "train", "a.jsonl.gz", "--lang", "en", "--json")
    assert json.loads(result.stdout)["languages"] == {"en": 10}  # of which each title is one
    for topic in (PETS, FOOD):
        for word in topic:
            assert nearest(empty_home, word) == set(topic) - {word}
    assert store(empty_home).idf.languages["en"].n_documents == 20


@pytest.mark.parametrize("has_store", [False, True])
def test_a_link_to_the_store_stays_and_the_store_is_where_it_points(
    empty_home: Path, run: Run, has_store: bool
) -> None:
    write_rows(empty_home / "a.jsonl", articles(None))
    (empty_home / "disk").mkdir()
    (empty_home / "link").symlink_to("disk/store")
    if has_store:
        write_embeddings(empty_home / "disk" / "store", {"en": {"old": (1, 0)}})
    run("embeddings", "train", "a.jsonl", "--lang", "en", "--output", "link", "--replace")
    assert (empty_home / "link").is_symlink()
    assert [path.name for path in (empty_home / "disk").iterdir()] == ["store"]
    assert Embeddings.open(empty_home / "disk" / "store").n_terms == 10


def test_documents_without_a_language_are_told_of_the_option(empty_home: Path, run: Run) -> None:
    write_rows(empty_home / "a.jsonl", articles(None))
    result = run("embeddings", "train", "a.jsonl", exits=1)
    assert "20 of the documents cannot be used: a.jsonl, line 1: no field 'language'" in result.stderr
    assert "(and 17 more)" in result.stderr
    assert "--lang" in result.stderr
    assert not (empty_home / ".sinkrank" / "embeddings").exists()


def test_fields_of_other_names_are_read_where_they_are_named(empty_home: Path, run: Run) -> None:
    rows = [{"head": row["title"], "article": row["text"], "tongue": "en"} for row in articles()]
    write_rows(empty_home / "a.jsonl", rows)
    assert "--text-field" in run("embeddings", "train", "a.jsonl", "--lang", "en", exits=1).stderr
    fields = ["--title-field", "head", "--text-field", "article", "--language-field", "tongue"]
    run("embeddings", "train", "a.jsonl", *fields)
    assert nearest(empty_home, "cat") == set(PETS) - {"cat"}


def test_a_language_is_detected_where_it_is_asked_for(empty_home: Path, run: Run) -> None:
    english = "The committee has decided that the library of the university will be open on Sunday"
    texts = [english, f"{english} morning", f"{english} evening for all of the students"]
    write_rows(empty_home / "a.jsonl", [{"text": text} for text in texts] + [{"text": "12345"}])
    result = run("embeddings", "train", "a.jsonl", "--lang", "auto", "--json")
    assert list(json.loads(result.stdout)["languages"]) == ["en"]


def test_rows_that_are_no_documents_are_counted_and_named(empty_home: Path, run: Run) -> None:
    bad = ["{", {"language": "en", "text": 5}, {"language": "xx", "text": "cat"}, {"language": "en", "text": " "}]
    write_rows(empty_home / "a.jsonl", [*articles(), *bad])
    result = run("embeddings", "train", "a.jsonl", "--json")
    assert json.loads(result.stdout)["skipped"] == {"documents that cannot be used": 4}
    assert "a.jsonl, line 21: not JSON" in result.stderr
    assert "a.jsonl, line 22: field 'text' is a number" in result.stderr
    assert "(and 1 more)" in result.stderr


@pytest.mark.parametrize(("field", "options"), [("group", []), ("page", ["--group-field", "page"])])
def test_documents_of_one_group_are_translations(
    empty_home: Path, run: Run, field: str, options: Sequence[str]
) -> None:
    rows = [
        {"id": f"{language}{n}", field: n, "language": language, "text": f"{word} {word}x{n % 3}"}
        for language, words in (("en", PETS + FOOD), ("fr", tuple(word[::-1] for word in PETS + FOOD)))
        for n, word in enumerate(words)
    ]
    write_rows(empty_home / "a.jsonl", rows)
    run("embeddings", "train", "a.jsonl", *options)
    for word in PETS + FOOD:
        assert store(empty_home).nearest(word, "en", "fr", 1)[0][:2] == ("fr", word[::-1])


def test_the_ids_of_documents_can_be_their_groups(empty_home: Path, run: Run) -> None:
    rows = articles() + [row | {"language": "fr"} for row in articles()]
    write_rows(empty_home / "a.jsonl", rows)
    run("embeddings", "train", "a.jsonl", "--group-field", "id")
    assert store(empty_home).languages == ("en", "fr")


def test_languages_without_translations_are_an_error_that_names_both_cures(empty_home: Path, run: Run) -> None:
    french = [{"id": f"f{n}", "language": "fr", "text": f"chat {n}"} for n in range(3)]
    write_rows(empty_home / "a.jsonl", articles() + french)
    result = run("embeddings", "train", "a.jsonl", exits=1)
    assert "several languages (en 20, fr 3)" in result.stderr
    for cure in ("--group-field", "--lang", "embeddings prepare"):
        assert cure in result.stderr
    run("embeddings", "train", "a.jsonl", "--lang", "en")
    assert store(empty_home).languages == ("en",)


def test_a_few_documents_in_another_language_are_left_out_and_counted(empty_home: Path, run: Run) -> None:
    write_rows(empty_home / "a.jsonl", [*articles(), {"id": "f", "language": "fr", "text": "chat noir"}])
    result = run("embeddings", "train", "a.jsonl", "--json")
    assert json.loads(result.stdout)["skipped"] == {"documents in other languages (fr)": 1}


@pytest.mark.any_engine
@pytest.mark.engine
def test_the_documents_may_be_those_of_an_index(
    engine: Engine, make_foreign: MakeForeign, empty_home: Path, run: Run
) -> None:
    fields = {"lang": {"type": "keyword"}, "page": {"properties": {"group": {"type": "keyword"}}}}
    english = [
        {"lang": "en", "headline": row["title"], "article": row["text"], "page": {"group": row["id"]}}
        for row in articles()
    ]
    # Each word is written backwards.
    french = [
        row | {"lang": "fr", "headline": row["headline"][::-1], "article": row["article"][::-1]} for row in english
    ]
    index = make_foreign(fields | {"headline": {"type": "text"}, "article": {"type": "text"}}, [*english, *french])
    options = ["--text-field", "article", "--group-field", "page.group", "--json"]
    result = run("embeddings", "train", f"{engine.url}/{index}", *options)
    assert json.loads(result.stdout)["languages"] == {"en": 10, "fr": 10}
    nearest_to_cat = {term for _, term, _ in store(empty_home).nearest("cat", "en", "fr", 5)}
    assert nearest_to_cat == {word[::-1] for word in PETS}
    assert list((empty_home / ".sinkrank" / "collections").iterdir()) == []
