"""Reads Lucene's query syntax (`q=`, `query_string`): which words of a query count for its score, and on which fields.

The tokens and the grammar are those of Lucene's classic query parser. The reader takes what the engine would refuse,
too: the engine's own error is passed on in any case. It takes time in proportion to the length of the query.
"""

from __future__ import annotations

import regex

from reranker.proxy.syntax_terms import (
    MAX_SYNTAX_CHARS,
    MAX_SYNTAX_DEPTH,
    SyntaxKind,
    SyntaxTerm,
    boosted,
    joined,
)

# No two places can begin to match over the same letters, or whoever sends a query would choose how long it takes.
_TOKEN = regex.compile(
    r"""
      (?P<bare>[-+!](?=\s|$))                # an operator before a blank is none
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
_ESCAPE = regex.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", regex.DOTALL)
_VALUES = frozenset(["term", "quoted", "range", "regexp", "bare"])
_PLAIN = frozenset(["term", "colon", "boost", "bare"])
_EXISTS = "_exists_"
_COMPARISONS = ("<", ">")


def read_lucene_syntax(query: str) -> list[SyntaxTerm] | None:
    """The terms of a query that count for its score; None where it is too long or too deep to read.

    >>> [(term.field, term.text) for term in read_lucene_syntax('title:"black cat"~2 AND animal -dog NOT text:fish')]
    [('title', 'black cat'), (None, 'animal')]
    """
    if len(query) > MAX_SYNTAX_CHARS:
        return None
    try:
        return joined(_Reader(query).group(None, 0))
    except _TooDeepError:
        return None


def is_plain_lucene(query: str) -> bool:
    """Whether a query is words alone, with fields and boosts: no operator, quotes, group or pattern.

    >>> is_plain_lucene("title:black cat^2"), is_plain_lucene("black -cat"), is_plain_lucene("wo*")
    (True, False, False)
    """
    if len(query) > MAX_SYNTAX_CHARS or any(match.lastgroup not in _PLAIN for match in _TOKEN.finditer(query)):
        return False
    terms = read_lucene_syntax(query)
    return terms is not None and all(term.kind is SyntaxKind.WORDS for term in terms)


class _TooDeepError(Exception):
    pass


class _Reader:
    """Recursive descent over the tokens; each is looked at once."""

    def __init__(self, query: str) -> None:
        self._tokens = [(str(match.lastgroup), match[str(match.lastgroup)]) for match in _TOKEN.finditer(query)]
        self._place = 0

    def group(self, field: str | None, depth: int) -> list[SyntaxTerm]:
        """The terms up to the end, or to the parenthesis that closes the group."""
        if depth > MAX_SYNTAX_DEPTH:
            raise _TooDeepError
        found: list[SyntaxTerm] = []
        while (kind := self._next()) is not None:
            if kind == "close" and depth:
                break
            is_forbidden = False
            while kind in ("forbidden", "operator"):
                is_forbidden |= kind == "forbidden"
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

    def _clause(self, field: str | None, depth: int) -> list[SyntaxTerm]:
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
            terms = _terms(str(kind), self._take(), field)
        elif kind == "close" and depth:
            return []
        else:
            self._place += kind is not None  # a stray sign
            return []
        return boosted(terms, self._boost())

    def _boost(self) -> float:
        boost = 1.0
        while (kind := self._next()) in ("boost", "fuzzy"):
            value = self._take()
            if kind == "boost" and value:
                boost = float(value)
        return boost


def _terms(kind: str, raw: str, field: str | None) -> list[SyntaxTerm]:
    if kind == "bare":
        return []
    if kind in ("range", "regexp") or field == _EXISTS:
        return [SyntaxTerm(SyntaxKind.FILTER, "", field)]
    if kind == "quoted":
        return [SyntaxTerm(SyntaxKind.WORDS, _plain(raw[1:-1]), field)]
    bare = _ESCAPE.sub("", raw)
    if bare == raw == "*":
        return [] if field in (None, "*") else [SyntaxTerm(SyntaxKind.FILTER, "", field)]
    if raw.startswith(_COMPARISONS) and len(raw) > 1:
        return [SyntaxTerm(SyntaxKind.FILTER, "", field)]
    if bare.endswith("*") and bare.count("*") == 1 and "?" not in bare:
        return [SyntaxTerm(SyntaxKind.PREFIX, _plain(raw[:-1]), field)]
    if "*" in bare or "?" in bare:
        return [SyntaxTerm(SyntaxKind.FILTER, "", field)]
    return [SyntaxTerm(SyntaxKind.WORDS, _plain(raw), field)]


def _plain(text: str) -> str:
    """A text without its escapes."""
    return str(_ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], text))
