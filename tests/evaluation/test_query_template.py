"""The body of a search with a place for the query."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reranker.base.errors import BadInput
from sinkrank.evaluation.query_template import QueryTemplate

BODY = {
    "query": {"bool": {"must": [{"match": {"title": {"query": "{{text}}", "boost": 5}}}], "filter": {"term": {"n": 1}}}}
}


def read(tmp_path: Path, text: str) -> QueryTemplate:
    path = tmp_path / "template.json"
    path.write_text(text, encoding="utf-8")
    return QueryTemplate.read(path)


@pytest.mark.parametrize("text", ["cat", 'a "cat" \\ }', "a\nb\u2028", "Ελλάδα", "{{text}}", '"}, "size": {"'])
def test_a_query_stands_in_its_place_whatever_is_in_it(tmp_path: Path, text: str) -> None:
    filled = read(tmp_path, json.dumps(BODY)).filled(text)
    assert filled["query"]["bool"]["must"][0]["match"]["title"] == {"query": text, "boost": 5}
    assert filled["query"]["bool"]["filter"] == {"term": {"n": 1}}
    assert list(filled) == ["query"]


def test_a_query_may_stand_in_several_places_and_within_other_text(tmp_path: Path) -> None:
    template = read(tmp_path, '{"query": {"dis_max": {"queries": ["title:({{text}})", ["{{text}} {{text}}"]]}}}')
    assert template.filled("cat") == {"query": {"dis_max": {"queries": ["title:(cat)", ["cat cat"]]}}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"query": {"match": {"a": {{text}}}}}', "within quotes"),
        ("[1]", "not hold a JSON object"),
        ('{"query": {"match_all": {}}}', "has no {{text}}"),
        ('{"{{text}}": 1}', "has no {{text}}"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_template_is_refused_with_an_example(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told.replace("{", r"\{")):
        read(tmp_path, text)
