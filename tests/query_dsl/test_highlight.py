"""What a search's `highlight` says of the form of its fragments; the defaults are the engines'."""

from __future__ import annotations

from typing import Any

import pytest

from reranker.query_dsl.highlight import HighlightField, read_highlight

DEFAULT = HighlightField("body", ("<em>",), ("</em>",), 100, 5, False, False, False, False)


def read(fields: Any, **options: Any) -> dict[str, HighlightField]:
    return {one.name: one for one in read_highlight({"fields": fields, **options})}


def test_the_defaults_are_the_engines() -> None:
    assert read({"body": {}}) == {"body": DEFAULT}
    assert list(read([{"title": {}}, {"body": {}}])) == ["title", "body"]


def test_a_field_goes_before_what_is_said_of_all() -> None:
    found = read(
        {"title": {"number_of_fragments": 0, "pre_tags": ["<a>", "<b>"], "post_tags": ["</a>", "</b>"]}, "body": {}},
        number_of_fragments="3",
        fragment_size=30.0,
        order="score",
        require_field_match=False,
        tags_schema="styled",
    )
    title, body = found["title"], found["body"]
    assert (title.n_fragments, title.pre_tags, title.post_tags) == (0, ("<a>", "<b>"), ("</a>", "</b>"))
    assert (body.n_fragments, body.fragment_size, body.is_by_score, body.is_any) == (3, 30, True, True)
    assert (body.pre_tags[0], body.pre_tags[9], body.post_tags) == (
        '<em class="hlt1">',
        '<em class="hlt10">',
        ("</em>",),
    )


def test_html_is_a_matter_of_all_fields() -> None:
    """Elasticsearch does not escape where `encoder` stands in a field, and OpenSearch refuses it."""
    assert read({"body": {}}, encoder="html")["body"].is_html
    assert not read({"body": {"encoder": "html"}})["body"].is_html


def test_fields_whose_fragments_are_the_engines_alone_are_noted() -> None:
    query = {"match": {"body": "cat"}}
    assert read({"body": {}}, highlight_query=query)["body"].is_engines
    assert read({"body": {"highlight_query": query}})["body"].is_engines
    found = read({"body": {"type": "semantic"}, "title": {}})
    assert [found[name].is_engines for name in ("body", "title")] == [True, False]


def test_the_first_hundred_fields_are_read_and_a_field_has_a_hundred_tags_at_most() -> None:
    names = [f"x{number}*" for number in range(4_000)]
    assert list(read({name: {} for name in names})) == names[:100]
    assert list(read([{name: {}} for name in names])) == names[:100]
    tags = [f"<{number}>" for number in range(101)]
    assert read({"body": {"pre_tags": tags[:100], "post_tags": ["</>"]}})["body"].pre_tags == tuple(tags[:100])
    assert read({"body": {"pre_tags": tags, "post_tags": ["</>"]}}) == {}


@pytest.mark.parametrize(
    "highlight",
    [
        None,
        [],
        {"fields": None},
        {"fields": ["body"]},
        {"fields": {"body": None}},
        {"fields": {"body": {"number_of_fragments": None}}},
        {"fields": {"body": {"number_of_fragments": -1}}},
        {"fields": {"body": {"fragment_size": "x"}}},
        {"fields": {"body": {"pre_tags": [], "post_tags": []}}},
        {"fields": {"body": {"pre_tags": [""], "post_tags": [""]}}},
        {"fields": {"body": {"pre_tags": 1}}},
    ],
)
def test_what_cannot_be_read_is_left_to_the_engine(highlight: Any) -> None:
    assert read_highlight(highlight) == ()
