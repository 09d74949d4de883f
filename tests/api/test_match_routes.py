"""`POST /v1/matches`."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient


def test_matches_of_each_text_come_with_their_places(client: FlaskClient) -> None:
    answer = client.post("/v1/matches", json={"query": "cat zzz", "texts": ["Le chat dort", "no", "A zzz"]}).get_json()
    assert (answer["language"], answer["unknown_words"]) == ("en", ["zzz"])
    first, second, third = answer["texts"]
    assert first == {
        "language": "fr",
        "matches": [{"start": 3, "end": 7, "query_word": "cat", "word": "chat", "likeness": 0.96}],
    }
    assert second["matches"] == []
    assert [(each["start"], each["end"], each["likeness"]) for each in third["matches"]] == [(2, 5, 1.0)]


@pytest.mark.parametrize(("query", "language"), [("cat", "en"), ("chat", "fr")])
def test_a_text_that_fits_several_languages_is_read_in_that_of_the_query(
    client: FlaskClient, query: str, language: str
) -> None:
    answer = client.post("/v1/matches", json={"query": query, "texts": ["zzz"]}).get_json()
    assert (answer["language"], answer["texts"][0]["language"]) == (language, language)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"query": "cat"}, 400, "'texts' is missing"),
        ({"query": "cat", "texts": ["a"], "languages": ["en", "fr"]}, 400, "2 languages came for 1 texts"),
        ({"query": "cat", "texts": ["a"], "languages": ["klingon"]}, 400, "klingon"),
        ({"query": " ", "texts": ["a"]}, 400, "no word"),
        ({"query": "cat", "texts": ["a"] * 101}, 413, "at most 100"),
    ],
)
def test_bad_requests_say_what_is_wrong(client: FlaskClient, body: dict[str, Any], status: int, words: str) -> None:
    answer = client.post("/v1/matches", json=body)
    assert answer.status_code == status
    assert words in answer.get_json()["detail"]
