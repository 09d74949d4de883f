import time
import weakref
from typing import Any

import pytest

from mappings import RANKING_FIELDS
from reranker.query_dsl.name_patterns import is_match
from reranker.query_dsl.source_filter import SourceFilter, read_source_filter


@pytest.mark.parametrize("pattern", ["*", "**", "b*g", "*a*", "bag*", "*bag", "b*a*g", "bag"])
def test_a_star_stands_for_any_letters(pattern: str) -> None:
    assert is_match(pattern, "bag")


@pytest.mark.parametrize("pattern", ["b*bag", "ba*ag", "ag", "ba", "*ba", "ag*", "b*x*g", "b*a*a*g", "", "b.*"])
def test_other_letters_are_not_let_through(pattern: str) -> None:
    assert not is_match(pattern, "bag")


def test_a_pattern_of_any_length_is_read_at_once() -> None:
    started = time.thread_time()
    read_source_filter({"_source": ["*a" * 500_000 + "x"]}, {})
    assert time.thread_time() - started < 5.0  # with a regular expression some 20 s


class Name(str):
    """A string that can be watched."""


def test_nothing_is_kept_of_a_filter() -> None:
    """A body may be as large as the settings allow, and anybody may send it."""
    name = Name("x" * 1_000)
    watched = weakref.ref(name)
    assert read_source_filter({"_source": [name]}, {}).is_partial
    del name
    assert watched() is None


def test_fields_that_the_caller_names_are_there() -> None:
    read = read_source_filter({"_source": ["title", "body"]}, {})
    assert read.brings(["title", "body.part"])
    assert not read.brings(["titles"])
    assert not read.brings([])
    assert not read_source_filter({"_source": {"includes": ["title"], "excludes": ["title.de"]}}, {}).brings(["title"])


@pytest.mark.parametrize(
    ("excluded", "are_there"),
    [("vector", True), ("titles", True), ("title.de", False), ("title", False), ("parts", False), ("v*", False)],
)
def test_fields_that_the_caller_does_not_exclude_are_there(excluded: str, are_there: bool) -> None:
    read = read_source_filter({"_source": {"excludes": [excluded]}}, {})
    assert read.brings(["title", "parts.text"]) is are_there
    assert read.brings(["title.*"]) is (are_there or excluded == "parts")
    assert not read.brings(["t*"])
    assert not read.brings([])  # all fields


@pytest.mark.parametrize("source", [False, ["title"], {"excludes": ["nbow"]}, {"excludes": ["b*"]}, 7])
def test_any_other_filter_may_keep_something_back(source: Any) -> None:
    assert read_source_filter({"_source": source}, {}).is_partial


@pytest.mark.parametrize(
    ("source", "brings"),
    [
        (True, True),
        (False, False),
        ({"excludes": ["nbow"]}, True),
        ({"excludes": ["title_key"]}, False),
        ({"excludes": ["n*"]}, False),  # a pattern is the engine's to read
        (["title", "bag", "lang", "doc_id", "title_key", "text_key"], True),
        (["title", "bag", "lang", "doc_id"], False),
    ],
)
def test_a_filter_brings_the_bag_of_words_with_its_language_id_and_keys_or_it_is_looked_up(
    source: Any, brings: bool
) -> None:
    assert read_source_filter({"_source": source}, {}).brings(RANKING_FIELDS) is brings


@pytest.mark.parametrize("more", [{"exclude_vectors": True}, {"foo": 1}])
@pytest.mark.parametrize("source", [{}, {"includes": ["title"]}, {"excludes": ["title"]}])
def test_a_filter_with_names_of_later_versions_is_the_engines(source: dict[str, Any], more: dict[str, Any]) -> None:
    assert not read_source_filter({"_source": source | more}, {}).brings(["text"])


@pytest.mark.parametrize(
    "body",
    [{}, {"_source": True}, {"_source": "true"}, {"_source": ["*"]}, {"_source": []}, {"_source": {"includes": "*"}}],
)
def test_no_filter_is_the_whole_source(body: dict[str, Any]) -> None:
    assert read_source_filter(body, {}) == SourceFilter()
