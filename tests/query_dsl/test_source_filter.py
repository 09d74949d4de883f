import time
from dataclasses import replace
from typing import Any

import pytest

from reranker.query_dsl.answer_filters import SourceFilter, read_source_filter

KEYS = ("doc_id", "title_key", "text_key")
ALL = ("bag", "lang", *KEYS)


@pytest.mark.parametrize(
    ("source", "widened", "taken_out"),
    [
        (["title"], {"includes": ["title", *ALL], "excludes": []}, ALL),
        ("title", {"includes": ["title", *ALL], "excludes": []}, ALL),
        (
            {"includes": ["title", "lang"]},
            {"includes": ["title", "lang", "bag", *KEYS], "excludes": []},
            ("bag", *KEYS),
        ),
        (
            {"include": "ti*", "exclude": "bag"},
            {"includes": ["ti*", "bag", "lang", "doc_id", "text_key"], "excludes": []},
            ("bag", "lang", "doc_id", "text_key"),
        ),
        ({"excludes": ["bag", "nbow"]}, {"excludes": ["nbow"]}, ("bag",)),
        (
            {"includes": ["title", "bag", "lang"], "excludes": ["t*"]},
            {"includes": ["title", "bag", "lang", "doc_id"], "excludes": ["t*"]},
            ("doc_id",),
        ),
    ],
)
def test_what_is_added_to_a_filter_is_to_be_taken_out_again(source: Any, widened: Any, taken_out: Any) -> None:
    read = read_source_filter({"_source": source}, {})
    assert (read.widened, read.extra, read.drop) == (widened, taken_out, False)
    assert read.is_partial


def test_where_no_source_is_asked_for_it_is_to_be_taken_out_whole() -> None:
    read = read_source_filter({"_source": False}, {})
    assert (read.widened, read.extra, read.drop) == ([*ALL], (), True)


@pytest.mark.parametrize("pattern", ["*", "**", "b*g", "*a*", "bag*", "*bag", "b*a*g", "bag"])
def test_a_star_stands_for_any_letters(pattern: str) -> None:
    assert "bag" not in read_source_filter({"_source": [pattern, "lang"]}, {}).extra


@pytest.mark.parametrize("pattern", ["b*bag", "ba*ag", "ag", "ba", "*ba", "ag*", "b*x*g", "b*a*a*g", "", "b.*"])
def test_other_letters_are_not_let_through(pattern: str) -> None:
    assert read_source_filter({"_source": [pattern, "lang"]}, {}).extra == ("bag", *KEYS)


def test_a_pattern_of_any_length_is_read_at_once() -> None:
    started = time.thread_time()
    read_source_filter({"_source": ["*a" * 500_000 + "x"]}, {})
    assert time.thread_time() - started < 5.0  # with a regular expression some 20 s


@pytest.mark.parametrize("source", [["title", *ALL], {"excludes": ["nbow"]}, {"excludes": ["b*"]}, 7])
def test_a_filter_that_brings_both_or_cannot_be_widened_stays(source: Any) -> None:
    read = read_source_filter({"_source": source}, {})
    assert (read.widened, read.extra, read.drop, read.is_partial) == (None, (), False, True)


@pytest.mark.parametrize(
    "body",
    [{}, {"_source": True}, {"_source": "true"}, {"_source": ["*"]}, {"_source": []}, {"_source": {"includes": "*"}}],
)
def test_no_filter_is_the_whole_source(body: dict[str, Any]) -> None:
    assert read_source_filter(body, {}) == SourceFilter()


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ({"_source": "title,url"}, ["title", "url"]),
        ({"_source": "false"}, False),
        ({"_source": "true"}, True),
        ({"_source_includes": "title"}, ["title"]),
        ({"_source_excludes": "nbow,bag"}, {"excludes": ["nbow", "bag"]}),
        ({"_source": "false", "_source_includes": "title"}, False),
        ({"_source": "url", "_source_includes": "title"}, ["title"]),
    ],
)
def test_a_filter_in_the_url_goes_before_that_of_the_body(parameters: dict[str, str], body: Any) -> None:
    from_url = read_source_filter({"_source": ["text"]}, parameters)
    from_body = read_source_filter({"_source": body}, {})
    assert replace(from_url, widened=None) == replace(from_body, widened=None)
    # The URL's is not sent: the body has to say the same.
    assert from_url.widened is not None
    assert from_body.widened in (None, from_url.widened)


@pytest.mark.parametrize(
    ("body", "parameters"),
    [
        ({"stored_fields": ["a"]}, {}),
        ({}, {"stored_fields": "a"}),
        ({"script_fields": {}}, {}),
        ({"stored_fields": ["_source"]}, {"stored_fields": "a"}),
    ],
)
def test_stored_fields_alone_switch_the_source_off(body: dict[str, Any], parameters: dict[str, str]) -> None:
    assert read_source_filter(body, parameters) == read_source_filter({"_source": False}, {})


def test_fields_that_the_caller_names_are_there() -> None:
    read = read_source_filter({"_source": ["title", "body"]}, {})
    assert read.brings(["title", "body.part"])
    assert not read.brings(["titles"])
    assert not read.brings([])
    assert not read_source_filter({"_source": {"includes": ["title"], "excludes": ["title.de"]}}, {}).brings(["title"])


@pytest.mark.parametrize(
    ("body", "parameters"),
    [({"stored_fields": ["title", "_source"]}, {}), ({"stored_fields": "title"}, {"stored_fields": "title,_source"})],
)
def test_a_source_among_the_stored_fields_comes_whole(body: dict[str, Any], parameters: dict[str, str]) -> None:
    assert read_source_filter(body, parameters) == SourceFilter()


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        (["title", "url"], (("title", "url"), ())),
        ({"excludes": ["text", "bag"]}, ((), ("text", "bag"))),
        ({"includes": "text", "excludes": ["bag"]}, (("text",), ("bag",))),
        ({"excludes": ["nbow"]}, ((), ("nbow",))),
    ],
)
def test_a_filter_of_plain_names_is_known(source: Any, plain: Any) -> None:
    assert read_source_filter({"_source": source}, {}).plain == plain


@pytest.mark.parametrize("source", [["title.en"], ["ti*"], ["title", ""], {"excludes": ["text.en"]}, True, False, 7])
def test_any_other_filter_is_left_to_the_engine(source: Any) -> None:
    assert read_source_filter({"_source": source}, {}).plain is None
