"""Reads the two query syntaxes into leaves: Lucene's (`q=`, `query_string`) and that of `simple_query_string`.

Both give the parts of a query that count for its score (words, beginnings of words, filters), without operators, quotes
and escapes, in time proportional to the query's length. A part without fields is for the default ones. The readers
accept what the engine would refuse, because the engine's own error is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import regex

from reranker.query_dsl.nodes import Field, Kind, Leaf

# Groups within groups.
MAX_SYNTAX_DEPTH = 32


def joined(terms: Iterable[Leaf]) -> list[Leaf]:
    """The terms with all words of the same field and boost in one, in the order in which they first appear."""
    texts: dict[Leaf, list[str]] = {}
    for term in terms:
        key = replace(term, text="") if term.kind is Kind.TEXT else term
        texts.setdefault(key, []).append(term.text)
    return [replace(key, text=" ".join(words)) if key.kind is Kind.TEXT else key for key, words in texts.items()]


# No two places can begin to match over the same letters, or whoever sends a query would choose how long it takes.
_TOKEN = regex.compile(
    r"""
      (?P<lone>[-+!](?=\s|$))                # an operator before a blank is none
    | (?P<quoted>"(?:[^"\\]|\\.)*+")
    | (?P<regexp>/(?:[^/\\]|\\.)*+/)
    | (?P<range>[\[{][^\[\]{}]*+[\]}])
    | (?P<forbidden>[-!]|NOT(?=[\s():^\[\]"{}~/]|$))
    | (?P<operator>\+|&&|\|\||(?:AND|OR)(?=[\s():^\[\]"{}~/]|$))
    | (?P<open>\()
    | (?P<close>\))
    | (?P<colon>:)
    | \^(?P<boost>\d*+(?:\.\d++)?)
    | (?P<fuzzy>~\d*+(?:\.\d++)?)
    | (?P<term>(?:[^\s+\-!():^\[\]"{}~\\/]|\\.)(?:[^\s!():^\[\]"{}~\\/]|\\.)*+)
    """,
    regex.VERBOSE | regex.DOTALL,
)
# Fields, boosts and ranges are words to this syntax, and so is a sign within a word.
_SIMPLE_TOKEN = regex.compile(
    r"""
      (?P<lone>-++(?=[\s|+)]|$))
    | (?P<forbidden>-)
    | (?P<quoted>"(?:[^"\\]|\\.)*+")(?:~\d*+)?
    | (?P<open>\()
    | (?P<close>\))
    | (?P<term>(?:\\.|[^"|+()\ \t\n\r\\])++\\?|\\)
    """,
    regex.VERBOSE | regex.DOTALL,
)
_OPERATOR = regex.compile(r'["|()*~\\+]|(?:^|\s)-')
_SIMPLE_ESCAPE = regex.compile(r"\\(.)", regex.DOTALL)
_FUZZY = regex.compile(r"~\d*+\Z")
_ESCAPE = regex.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", regex.DOTALL)
_VALUES = frozenset(["term", "quoted", "range", "regexp", "lone"])
_PLAIN = frozenset(["term", "colon", "boost", "lone"])
_EXISTS = "_exists_"
_COMPARISONS = ("<", ">")


def read_lucene_syntax(query: str) -> list[Leaf] | None:
    """The terms of a query that count for its score; None where it is too deep to read.

    >>> [(term.fields, term.text) for term in read_lucene_syntax('title:"black cat"~2 AND animal -dog NOT text:fish')]
    [((Field(name='title', boost=1.0),), 'black cat'), ((), 'animal')]
    """
    return _read(query, _TOKEN, _terms)


def read_simple_syntax(query: str) -> list[Leaf] | None:
    """The same of the syntax of `simple_query_string`.

    >>> [term.text for term in read_simple_syntax('"black cat" + animal | -dog')]
    ['black cat animal']
    """
    return _read(query, _SIMPLE_TOKEN, _simple_terms)


def is_plain_lucene(query: str) -> bool:
    """Whether a query is terms alone, with fields and boosts: no operator, quotes or group.

    >>> is_plain_lucene("title:black cat^2"), is_plain_lucene("black -cat")
    (True, False)
    """
    return all(match.lastgroup in _PLAIN for match in _TOKEN.finditer(query))


def is_plain_simple(query: str) -> bool:
    """Whether a query is words alone.

    >>> is_plain_simple("black e-mail"), is_plain_simple("black -cat"), is_plain_simple('"black cat"')
    (True, False, False)
    """
    return _OPERATOR.search(query) is None


ReadTerms = Callable[[str, str, str | None], list[Leaf]]
"""From the kind of a token, its text, and the field that it is for, to terms."""


def _read(query: str, token: regex.Pattern[str], read_terms: ReadTerms) -> list[Leaf] | None:
    try:
        found = _Reader(query, token, read_terms).group(None, 0)
    except RecursionError:
        return None
    return joined(term if boost == 1.0 else replace(term, boost=boost) for term, boost in found)


class _Reader:
    """Recursive descent over the tokens; each is looked at once."""

    def __init__(self, query: str, token: regex.Pattern[str], read_terms: ReadTerms) -> None:
        self._tokens = [(str(match.lastgroup), match[str(match.lastgroup)]) for match in token.finditer(query)]
        self._read_terms = read_terms
        self._place = 0

    def group(self, field: str | None, depth: int) -> list[tuple[Leaf, float]]:
        """The terms up to the end, or to the parenthesis that closes the group, with their boosts."""
        if depth > MAX_SYNTAX_DEPTH:
            raise RecursionError
        found: list[tuple[Leaf, float]] = []
        while (kind := self._next()) is not None:
            if kind == "close" and depth:
                break
            is_forbidden = False
            while kind in ("forbidden", "operator"):
                is_forbidden ^= kind == "forbidden"
                self._place += 1
                kind = self._next()
            clause = self._clause(field, depth)
            found += [] if is_forbidden else clause
        return found

    def _next(self, ahead: int = 0) -> str | None:
        place = self._place + ahead
        return self._tokens[place][0] if place < len(self._tokens) else None

    def _take(self) -> str:
        self._place += 1
        return str(self._tokens[self._place - 1][1])

    def _clause(self, field: str | None, depth: int) -> list[tuple[Leaf, float]]:
        if self._next() == "term" and self._next(1) == "colon":
            field = _plain(self._take())
            self._place += 1
        kind = self._next()
        if kind == "open":
            self._place += 1
            terms = self.group(field, depth + 1)
            if self._next() == "close":
                self._place += 1
        elif kind in _VALUES:
            terms = [(term, 1.0) for term in self._read_terms(str(kind), self._take(), field)]
        elif kind == "close" and depth:
            return []
        else:
            self._place += kind is not None  # a stray sign
            return []
        boost = self._boost()
        return terms if boost == 1.0 else [(term, inner * boost) for term, inner in terms]

    def _boost(self) -> float:
        boost = 1.0
        while (kind := self._next()) in ("boost", "fuzzy"):
            value = self._take()
            if kind == "boost" and value:
                boost = float(value)
        return boost


def _terms(kind: str, raw: str, field: str | None) -> list[Leaf]:
    if kind == "lone":
        return []
    fields = () if field is None else (Field(field),)
    if kind in ("range", "regexp") or field == _EXISTS:
        return [Leaf(Kind.FILTER, "", fields)]
    if kind == "quoted":
        return [Leaf(Kind.TEXT, _plain(raw[1:-1]), fields)]
    unescaped = _ESCAPE.sub("", raw)
    if unescaped == raw == "*":
        return [] if field in (None, "*") else [Leaf(Kind.FILTER, "", fields)]
    if raw.startswith(_COMPARISONS) and len(raw) > 1:
        return [Leaf(Kind.FILTER, "", fields)]
    if unescaped.endswith("*") and unescaped.count("*") == 1 and "?" not in unescaped:
        return [Leaf(Kind.PREFIX, _plain(raw[:-1]), fields)]
    if "*" in unescaped or "?" in unescaped:
        return [Leaf(Kind.FILTER, "", fields)]
    return [Leaf(Kind.TEXT, _plain(raw), fields)]


def _plain(text: str) -> str:
    """A text without its escapes."""
    return str(_ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], text))


def _simple_terms(kind: str, raw: str, field: str | None) -> list[Leaf]:
    if kind == "lone":
        return []
    if kind == "quoted":
        return [Leaf(Kind.TEXT, _SIMPLE_ESCAPE.sub(r"\1", raw[1:-1]))]
    raw = _FUZZY.sub("", raw)
    is_prefix = raw.endswith("*") and _SIMPLE_ESCAPE.sub("", raw).endswith("*")
    text = _SIMPLE_ESCAPE.sub(r"\1", raw[:-1] if is_prefix else raw)
    return [Leaf(Kind.PREFIX if is_prefix else Kind.TEXT, text)] if text else []
