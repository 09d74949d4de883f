"""A query in a language that the embeddings lack, and the command that adds the language."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from reranker.service.missing_embeddings import prepare_command, unprepared_language
from reranker.service.settings import Settings

FINNISH = ["tulostimessa paperitukos", "kaksipuolinen tulostus", "satunnaisluku", "verkkoyhteys ei toimi"]
GERMAN = ["Bildschirmhelligkeit", "Papierstau im Drucker", "Zufallszahl erzeugen", "Passwort ändern"]
NO_LANGUAGE = ["ERR_1234", "zzz qqq", "42", "xkcd foo bar", "kubernetes ingress"]


@pytest.mark.parametrize(("query", "language"), [(q, "fi") for q in FINNISH] + [(q, "de") for q in GERMAN])
def test_a_query_without_a_known_word_is_in_the_language_of_its_letters(query: str, language: str) -> None:
    assert unprepared_language(query, False, ["en"]) == language


@pytest.mark.parametrize("query", [*FINNISH, *GERMAN])
def test_a_language_of_the_embeddings_is_not_missing(query: str) -> None:
    assert unprepared_language(query, False, ["de", "en", "fi"]) == ""


@pytest.mark.parametrize("query", NO_LANGUAGE)
def test_names_and_numbers_are_in_no_language(query: str) -> None:
    assert unprepared_language(query, False, ["en"]) == ""


def test_a_known_word_asks_for_more_confidence() -> None:
    assert unprepared_language("satunnaisluku", True, ["en"]) == ""
    assert unprepared_language("kaksipuolinen tulostus", True, ["en"]) == "fi"


def test_the_command_names_the_index_and_all_languages_of_queries() -> None:
    settings = Settings(store="https://me:secret@search.example", index="pages", home=Path("other"))
    assert prepare_command(settings, query_languages=["en", "de", "fi"]) == (
        "sinkrank embeddings prepare --store https://search.example:443 --index pages --home other "
        "--queries-in en,de,fi --replace"
    )


def asked(client: FlaskClient, query: str) -> tuple[str, list[str], str]:
    answer = client.post("/-/ui/unprepared", json={"query": query, "index": "pages"})
    assert answer.status_code == 200
    found = answer.get_json()
    return found["language"], found["prepared"], found["command"]


def test_the_service_names_the_language_and_the_command(client: FlaskClient, settings: Settings) -> None:
    assert asked(client, "tulostimessa paperitukos") == (
        "fi",
        ["en", "fr"],
        f"sinkrank embeddings prepare FILE --home {settings.home} --queries-in en,fr,fi --replace",
    )
    assert asked(client, "les chats dorment dans la maison") == ("", ["en", "fr"], "")


@pytest.mark.parametrize("body", [{}, {"query": ""}, {"query": "a", "file": "x"}, {"query": 1}])
def test_a_wrong_body_is_refused(client: FlaskClient, body: dict[str, object]) -> None:
    assert client.post("/-/ui/unprepared", json=body).status_code == 400
