"""The two query syntaxes, read as the engines read them."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import urllib3
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.query_dsl import syntax
from reranker.query_dsl.nodes import Kind, Leaf
from reranker.query_dsl.syntax import read_lucene_syntax, read_simple_syntax
from tests.support.engines.sources import Engine

READERS: list[Callable[[str], list[Leaf] | None]] = [read_lucene_syntax, read_simple_syntax]


def words(terms: list[Leaf] | None) -> str:
    assert terms is not None
    return " | ".join(
        "".join(f"{one.name}:" for one in term.fields) + term.text for term in terms if term.kind is Kind.TEXT
    )


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("wool cap", "wool cap"),
        ("title:wool", "title:wool"),
        ('title:"wool cap"~2', "title:wool cap"),
        ("title.fr:wool OR cap^2.5", "title.fr:wool | cap"),
        ("title : wool", "title:wool"),
        ("title:(wool hat) cap", "title:wool hat | cap"),
        (r"book.\*:(wool text:hat)", "book.*:wool | text:hat"),
        ("+wool -hat !scarf cap", "wool cap"),
        ("wool NOT hat", "wool"),
        ("wool NOT title:hat", "wool"),
        ("wool -(hat (scarf glove))", "wool"),
        ("-(hat (scarf) -glove) wool", "wool"),
        ("wool AND NOT hat OR cap", "wool cap"),
        ("wool && cap || !hat", "wool cap"),
        ("wool - hat", "wool hat"),
        ("NOTE wool ANDY", "NOTE wool ANDY"),
        ("well-known cap", "well-known cap"),
        (r"SKU\-00001 \(wool\) \"hat\"", 'SKU-00001 (wool) "hat"'),
        (r"sku:SKU\-00001", "sku:SKU-00001"),
        (r"w\u006fol", "wool"),
        (r'"a \"wool\" cap"', 'a "wool" cap'),
        ("wo?l c*p cap", "cap"),
        ("*:* wool", "wool"),
        ("*", ""),
        ("title:* wool", "wool"),
        ("_exists_:title wool", "wool"),
        ("year:[1999 TO 2005] day:{now-1d/d TO *} wool", "wool"),
        ("year:>=1999 year:<2005 wool", "wool"),
        ("wool~1 cap~", "wool cap"),
        ("(wool AND cap) OR hat", "wool cap hat"),
        ("/wo+l/ cap", "cap"),
        ("νερό AND ψωμί", "νερό ψωμί"),
        ("", ""),
        ("title:", ""),
        ("((wool", "wool"),
        ("wool) cap", "wool cap"),
        ('wool "cap', "wool cap"),
    ],
)
def test_lucenes_syntax_gives_the_words_that_count(query: str, read: str) -> None:
    assert words(read_lucene_syntax(query)) == read


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("wool cap", "wool cap"),
        ('"wool cap" -hat', "wool cap"),
        ("wool + cap | hat", "wool cap hat"),
        ("title:wool", "title:wool"),  # there are no fields: it is one word
        ("--wool -hat", "wool"),
        ("- wool", "wool"),
        ("wool -(hat (scarf)) cap", "wool cap"),
        ("wool~1 cap~", "wool cap"),
        ('"wool cap"~3', "wool cap"),
        (r"wool\-cap \-hat", "wool-cap -hat"),
        ('wool "cap', "wool cap"),
        ("((wool", "wool"),
        ("wool) NOT", "wool NOT"),
        ("well-known", "well-known"),
        ("*", ""),
        ("", ""),
    ],
)
def test_the_simple_syntax_gives_the_words_that_count(query: str, read: str) -> None:
    assert words(read_simple_syntax(query)) == read


def test_boosts_of_words_and_groups_are_read() -> None:
    terms = read_lucene_syntax("title:(wool cap^2)^3 OR text:hat~1^0.5")
    assert terms is not None
    assert [(term.fields[0].name, term.text, term.boost) for term in terms] == [
        ("title", "wool", 3.0),
        ("title", "cap", 6.0),
        ("text", "hat", 0.5),
    ]


def test_a_term_in_many_groups_is_made_anew_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def replace(term: Leaf, **changes: Any) -> Leaf:
        made.extend([changes["boost"]] if "boost" in changes else [])
        return dataclasses.replace(term, **changes)

    monkeypatch.setattr(syntax, "replace", replace)
    terms = read_lucene_syntax(f"{'(' * 30}wool{')^2' * 30}")
    assert terms == [Leaf(Kind.TEXT, "wool", boost=2.0**30)]
    assert made == [2.0**30]


@pytest.mark.parametrize("reader", READERS)
def test_the_beginning_of_a_word_is_told_from_a_word(reader: Callable[[str], list[Leaf] | None]) -> None:
    terms = reader("wool ca*")
    assert terms is not None
    assert [(term.kind, term.text) for term in terms] == [(Kind.TEXT, "wool"), (Kind.PREFIX, "ca")]


@pytest.mark.parametrize("reader", READERS)
def test_what_is_too_deep_is_not_read(reader: Callable[[str], list[Leaf] | None]) -> None:
    assert reader("(" * 40 + "wool" + ")" * 40) is None
    assert reader("(" * 20 + "wool" + ")" * 20) is not None


SIGNS = st.text(st.sampled_from('ab \t"\\/[]{}()+-!&|:^~*?<>=.019ORNTAD_'), max_size=60)


@given(SIGNS | st.text(max_size=60))
def test_no_query_breaks_a_reader(query: str) -> None:
    for reader in READERS:
        terms = reader(query)
        assert terms is not None
        assert all(not term.text or isinstance(term.text, str) for term in terms)


@given(st.text(st.sampled_from('ab "\\/[{]}()+-!:^~*1N'), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_no_query_takes_long_to_read(part: str) -> None:
    query = part * (20_000 // len(part))
    for reader in READERS:
        started = time.thread_time()
        reader(query)
        assert time.thread_time() - started < 10.0  # some 50 ms; in a time that grows with the square, minutes


WORDS = ["wool", "cap", "hat", "scarf"]
clauses = st.recursive(
    st.sampled_from(WORDS)
    | st.sampled_from(WORDS).map(lambda word: f"f:{word}")
    | st.sampled_from(WORDS).map(lambda word: f"{word}^2")
    | st.just('"wool cap"~2'),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({' '.join(parts)})")
        | inner.map(lambda part: part if part[0] in "-+!" else f"-{part}")
        | inner.map(lambda part: part if part[0] in "-+!" else f"+{part}")
        | st.tuples(inner, inner).map(" OR ".join)
    ),
    max_leaves=6,
)


def counted(explanation: str) -> set[str]:
    """The words of a Lucene query, as it prints itself, that no `-` stands before."""
    found: set[str] = set()
    forbidden = [False]
    is_next = False
    for token in re.findall(r'"[^"]*"|[()]|(?<![\w)])-|\w+:|\w+', explanation):
        if token == "-":
            is_next = True
        elif token == "(":
            forbidden.append(forbidden[-1] or is_next)
            is_next = False
        elif token == ")":
            forbidden.pop()
        elif not token.endswith(":"):
            found |= set() if forbidden[-1] or is_next else set(token.strip('"').split())
            is_next = False
    return found & set(WORDS)


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["query_string", "simple_query_string"])
def test_the_engine_counts_the_same_words(engine: Engine, kind: str) -> None:
    with urllib3.PoolManager(retries=False) as http:
        index = f"{engine.url}/query-syntax"
        http.request("DELETE", index)
        http.request("PUT", index, json={"mappings": {"properties": {"f": {"type": "text"}}}})

        @given(clauses)
        @settings(max_examples=150, deadline=None, database=None)
        def check(query: str) -> None:
            body = {"query": {kind: {"query": query, "fields": ["f"]}}}
            answer = http.request("GET", f"{index}/_validate/query?explain=true&rewrite=false", json=body).json()
            if answer["valid"]:
                terms = read_lucene_syntax(query) if kind == "query_string" else read_simple_syntax(query)
                read = set(re.findall(r"\w+", words(terms))) & set(WORDS)
                assert read == counted(answer["explanations"][0]["explanation"])

        check()
        http.request("DELETE", index)
