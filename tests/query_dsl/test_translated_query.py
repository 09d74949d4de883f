"""The caller's query with word groups in the place of its texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from reranker.query_dsl.scoring import FieldType
from reranker.query_dsl.translated_query import TranslatedText, translated_query
from reranker.translation import Translation, WordGroup


class Types:
    def __init__(self, **is_text: bool) -> None:
        self._is_text = is_text

    def __call__(self, names: Collection[str]) -> Mapping[str, FieldType]:
        return {name: FieldType(self._is_text[name], name) for name in names if name in self._is_text}


def group(token: str, *terms: str) -> WordGroup:
    return WordGroup(token, 1, tuple(Translation(term, 1.0) for term in terms))


@pytest.fixture
def translate() -> Any:
    """chat is cat, noir is black or dark; nothing is known of the frequencies, so that all boosts are 1."""
    groups = {"chat": group("chat", "cat"), "noir": group("noir", "black", "dark"), "gris": group("gris", "grey")}

    def call(texts: Sequence[str]) -> Mapping[str, Sequence[TranslatedText]]:
        found = {text: [groups[word] for word in text.split() if word in groups] for text in texts}
        return {text: [TranslatedText("en", of_text, None)] for text, of_text in found.items() if of_text}

    return call


def word(name: str, field: str = "text", **more: Any) -> dict[str, Any]:
    return {"match": {field: {"query": name, "boost": 1.0, **more}}}


def both(*clauses: Any) -> dict[str, Any]:
    return {"dis_max": {"queries": list(clauses), "tie_breaker": 0.1}}


BLACK_CAT = [word("cat"), both(word("black"), word("dark"))]
OF_FIELDS = [
    {"multi_match": {"query": "cat", "boost": 1.0, "fields": ["title^2", "text"]}},
    {"multi_match": {"query": "grey", "boost": 1.0, "fields": ["title^2", "text"]}},
]


def test_a_text_becomes_its_word_groups_in_the_same_field(translate: Any) -> None:
    assert translated_query({"match": {"text": "chat noir"}}, translate) == {"bool": {"should": BLACK_CAT}}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"operator": "and"}, "100%"),
        ({"operator": "AND", "minimum_should_match": 1}, "100%"),
        ({"minimum_should_match": "75%"}, "75%"),
        ({"minimum_should_match": 5}, 2),
        ({"minimum_should_match": "-1"}, -1),
        ({"minimum_should_match": float("inf")}, float("inf")),
    ],
)
def test_so_many_groups_have_to_match_as_the_caller_asks_for(
    translate: Any, options: dict[str, Any], expected: Any
) -> None:
    query = {"match": {"text": {"query": "chat noir", **options}}}
    assert translated_query(query, translate) == {"bool": {"should": BLACK_CAT, "minimum_should_match": expected}}


def test_fields_boosts_and_analyzers_stay_and_fuzziness_goes(translate: Any) -> None:
    options = {
        "query": "chat",
        "fuzziness": "AUTO",
        "analyzer": "whitespace",
        "lenient": True,
        "_name": "a",
        "boost": 3,
    }
    assert translated_query({"match": {"text": options}}, translate) == {
        "bool": {
            "must": [{"bool": {"should": [word("cat", analyzer="whitespace", lenient=True)]}}],
            "boost": 3,
            "_name": "a",
        }
    }
    options = {"query": "chat gris", "fields": ["title^2", "text"], "fuzziness": 1}
    assert translated_query({"multi_match": options}, translate) == {"bool": {"should": OF_FIELDS}}


def test_a_phrase_becomes_words_that_all_have_to_be_there(translate: Any) -> None:
    query = {"match_phrase": {"text": {"query": "chat noir", "slop": 2}}}
    expected = {"bool": {"should": BLACK_CAT, "minimum_should_match": "100%"}}
    assert translated_query(query, translate) == expected
    query = {"multi_match": {"query": "chat gris", "type": "phrase", "fields": ["title^2", "text"]}}
    assert translated_query(query, translate) == {"bool": {"should": OF_FIELDS, "minimum_should_match": "100%"}}


def test_combined_fields_stay_combined(translate: Any) -> None:
    query = {"combined_fields": {"query": "chat", "fields": ["title", "text"], "operator": "and"}}
    clause = {"combined_fields": {"fields": ["title", "text"], "query": "cat", "boost": 1.0}}
    assert translated_query(query, translate) == {"bool": {"should": [clause], "minimum_should_match": "100%"}}


@pytest.mark.parametrize("kind", ["query_string", "simple_query_string"])
def test_a_query_string_of_words_is_translated_in_its_fields(translate: Any, kind: str) -> None:
    query = {kind: {"query": "chat gris", "fields": ["title^2", "text"]}}
    assert translated_query(query, translate) == {"bool": {"should": OF_FIELDS}}


def test_words_of_a_query_string_keep_the_fields_that_they_name(translate: Any) -> None:
    query = {"query_string": {"query": "title:chat^2 noir", "default_field": "text", "default_operator": "AND"}}

    def clause(name: str, field: str, boost: float) -> dict[str, Any]:
        return {"multi_match": {"fields": [field], "query": name, "boost": boost}}

    assert translated_query(query, translate) == {
        "bool": {
            "must": [
                {"bool": {"should": [clause("cat", "title", 2.0)], "minimum_should_match": "100%"}},
                {
                    "bool": {
                        "should": [both(clause("black", "text", 1.0), clause("dark", "text", 1.0))],
                        "minimum_should_match": "100%",
                    }
                },
            ]
        }
    }


@pytest.mark.parametrize(
    "query",
    [
        {"query_string": {"query": '"chat noir"'}},
        {"query_string": {"query": "chat -noir"}},
        {"query_string": {"query": "chat AND noir"}},
        {"query_string": {"query": "cha*"}},
        {"query_string": {"query": "(chat noir)"}},
        {"simple_query_string": {"query": "chat | noir"}},
        {"simple_query_string": {"query": "chat -noir"}},
        {"match_phrase_prefix": {"text": "chat"}},
        {"multi_match": {"query": "chat", "type": "bool_prefix"}},
        {"intervals": {"text": {"match": {"query": "chat"}}}},
        {"function_score": {"query": {"match": {"text": "chat"}}, "field_value_factor": {"field": "n"}}},
        {"bool": {"filter": {"match": {"text": "chat"}}}},
        {"term": {"text": "chat"}},
        {"match": {"text": "xylophone"}},
        {"match_all": {}},
        None,
        "chat",
        {"match": "chat"},
    ],
)
def test_what_holds_no_plain_text_that_can_be_translated_is_left_alone(translate: Any, query: Any) -> None:
    assert translated_query(query, translate) is None


def test_what_stands_around_and_beside_a_text_stays(translate: Any) -> None:
    def around(text: Any) -> dict[str, Any]:
        inner = {"nested": {"path": "parts", "query": text, "score_mode": "max", "inner_hits": {}}}
        return {
            "bool": {
                "must": [{"function_score": {"query": {"dis_max": {"queries": [text, inner], "tie_breaker": 0.3}}}}],
                "should": {"term": {"kind": "chat"}},
                "filter": [{"match": {"text": "chat"}}],
                "must_not": {"match": {"text": "chat"}},
                "minimum_should_match": 0,
                "boost": 2,
            }
        }

    query = around({"match": {"text": "chat"}})
    assert translated_query(query, translate) == around({"bool": {"should": [word("cat")]}})


def test_a_match_on_a_keyword_stays(translate: Any) -> None:
    texts = [{"match": {"text": "chat"}}, {"match": {"kind": "chat"}}]
    found = translated_query({"bool": {"should": texts}}, translate, Types(text=True, kind=False))
    assert found == {"bool": {"should": [{"bool": {"should": [word("cat")]}}, {"match": {"kind": "chat"}}]}}


def test_each_language_of_the_documents_has_a_clause_and_the_best_of_them_counts() -> None:
    def translate(texts: Sequence[str]) -> Mapping[str, Sequence[TranslatedText]]:
        groups = {"en": group("chat", "cat"), "de": group("chat", "katze")}
        return {text: [TranslatedText(language, [one], None) for language, one in groups.items()] for text in texts}

    assert translated_query({"match": {"text": "chat"}}, translate) == {
        "dis_max": {"queries": [{"bool": {"should": [word("cat")]}}, {"bool": {"should": [word("katze")]}}]}
    }


def test_a_long_query_stays_below_the_engines_1024_clauses() -> None:
    groups = [group(f"token{n}", *(f"word{n}-{one}" for one in range(5))) for n in range(500)]

    def translate(texts: Sequence[str]) -> Mapping[str, Sequence[TranslatedText]]:
        return {text: [TranslatedText(language, groups, None) for language in ("en", "fr")] for text in texts}

    fields = ["title", "text", "summary"]
    texts = [{"multi_match": {"query": "long", "fields": fields}}, {"match": {"title": "long"}}]
    found = translated_query({"bool": {"should": texts}}, translate)
    assert 0 < n_words(found, len(fields)) < 1_024


def n_words(query: Any, n_fields: int) -> int:
    """Clauses of single words; one in several fields is as many."""
    if isinstance(query, list):
        return sum(n_words(one, n_fields) for one in query)
    if not isinstance(query, dict):
        return 0
    own = n_fields if "multi_match" in query else 1 if "match" in query else 0
    return own + sum(n_words(value, n_fields) for value in query.values())


def test_a_query_with_query_strings_over_the_limit_is_not_translated(translate: Any) -> None:
    clause = {"query_string": {"query": "chat " * 10_000, "default_field": "text"}}  # 50,000 characters
    assert translated_query({"bool": {"should": [clause] * 2}}, translate) is not None
    assert translated_query({"bool": {"should": [clause] * 3}}, translate) is None


def test_all_texts_of_a_query_are_translated_together(translate: Any) -> None:
    asked: list[Sequence[str]] = []

    def call(texts: Sequence[str]) -> Any:
        asked.append(texts)
        return translate(texts)

    texts = [{"match": {"text": one}} for one in ("chat", "noir", "chat", "zzz")]
    translated_query({"bool": {"should": texts}}, call)
    assert asked == [["chat", "noir", "zzz"]]
