import time
from typing import Any

import pytest

from reranker.service.proxy.source_filter import SourceFilter, read_source_filter

SOURCE = {"title": "t", "lang": "en", "bag": "AQ==", "nbow": [1.0]}


@pytest.mark.parametrize(
    ("source", "widened", "left"),
    [
        (["title"], {"includes": ["title", "bag", "lang"], "excludes": []}, {"title"}),
        ("title", {"includes": ["title", "bag", "lang"], "excludes": []}, {"title"}),
        ({"includes": ["title", "lang"]}, {"includes": ["title", "lang", "bag"], "excludes": []}, {"title", "lang"}),
        ({"include": "ti*", "exclude": "bag"}, {"includes": ["ti*", "bag", "lang"], "excludes": []}, {"title"}),
        ({"excludes": ["bag", "nbow"]}, {"excludes": ["nbow"]}, {"title", "lang"}),
    ],
)
def test_what_was_added_to_a_filter_is_taken_out_again(source: Any, widened: Any, left: set[str]) -> None:
    read = read_source_filter({"_source": source}, {})
    assert read.widened == widened
    assert read.is_partial
    # What the engine brings for each of the widened filters:
    hit = {"_id": "1", "_source": {name: SOURCE[name] for name in ("title", "lang", "bag")}}
    assert set(read.restore(hit)["_source"]) == left


def test_a_hit_without_source_is_given_without_it() -> None:
    read = read_source_filter({"_source": False}, {})
    assert read.widened == ["bag", "lang"]
    assert read.restore({"_id": "1", "_source": {"bag": "AQ=="}}) == {"_id": "1"}


@pytest.mark.parametrize("pattern", ["*", "**", "b*g", "*a*", "bag*", "*bag", "b*a*g", "bag"])
def test_a_star_stands_for_any_letters(pattern: str) -> None:
    assert read_source_filter({"_source": [pattern, "lang"]}, {}).widened is None


@pytest.mark.parametrize("pattern", ["b*bag", "ba*ag", "ag", "ba", "*ba", "ag*", "b*x*g", "b*a*a*g", "", "b.*"])
def test_other_letters_are_not_let_through(pattern: str) -> None:
    assert read_source_filter({"_source": [pattern, "lang"]}, {}).extra == ("bag",)


def test_a_pattern_of_any_length_is_read_at_once() -> None:
    started = time.thread_time()
    read_source_filter({"_source": ["*a" * 500_000 + "x"]}, {})
    assert time.thread_time() - started < 1.0  # with a regular expression some 20 s


@pytest.mark.parametrize("source", [["title", "bag", "lang"], ["*"], {"excludes": ["nbow"]}, {"excludes": ["b*"]}, 7])
def test_a_filter_that_brings_both_or_cannot_be_widened_stays(source: Any) -> None:
    read = read_source_filter({"_source": source}, {})
    assert read.widened is None
    assert read.restore({"_source": SOURCE}) == {"_source": SOURCE}


@pytest.mark.parametrize("body", [{}, {"_source": True}, {"_source": "true"}])
def test_no_filter_is_the_whole_source(body: dict[str, Any]) -> None:
    assert read_source_filter(body, {}) == SourceFilter()


@pytest.mark.parametrize("name", ["_source", "_source_includes", "_source_excludes", "stored_fields"])
def test_a_filter_in_the_url_is_the_engines(name: str) -> None:
    assert read_source_filter({"_source": ["title"]}, {name: "title"}) == SourceFilter(is_partial=True)
