"""Reads the syntax of `simple_query_string`, which has operators of its own, no fields, and no errors.

It takes time in proportion to the length of the query.
"""

from __future__ import annotations

from typing import Any

import regex

from reranker.proxy.syntax_terms import MAX_SYNTAX_CHARS, MAX_SYNTAX_DEPTH, SyntaxKind, SyntaxTerm, joined

# By their bits in Lucene's parser.
_FLAGS = {
    "AND": 1,
    "NOT": 2,
    "OR": 4,
    "PREFIX": 8,
    "PHRASE": 16,
    "PRECEDENCE": 32,
    "ESCAPE": 64,
    "WHITESPACE": 128,
    "FUZZY": 256,
    "NEAR": 512,
    "SLOP": 512,
    "NONE": 0,
    "ALL": -1,
}
_BLANKS = " \t\n\r"
# What ends a word, each where its flag is set.
_ENDS = (('"', "PHRASE"), ("|", "OR"), ("+", "AND"), ("()", "PRECEDENCE"), (_BLANKS, "WHITESPACE"))
_SKIPPED = (("+", "AND"), ("|", "OR"), (_BLANKS, "WHITESPACE"), (")", "PRECEDENCE"))
_NUMBERS = regex.compile(r"~\d*+")
_OPERATOR = regex.compile(r'["|()*~\\+]|(?:^|\s)-')
_FUZZY = regex.compile(r"~\d*+\Z")


def read_simple_syntax(query: str, flags: Any = "ALL") -> list[SyntaxTerm] | None:
    """The terms of a query that count for its score; None where it is too long or too deep to read.

    Args:
        flags: as the engine takes them: names parted by `|`, or a number.

    >>> [term.text for term in read_simple_syntax('"black cat" + animal | -dog')]
    ['black cat animal']
    """
    if len(query) > MAX_SYNTAX_CHARS:
        return None
    bits = _bits(flags)
    reader = _Reader(query, bits)
    if reader.depth > MAX_SYNTAX_DEPTH:
        return None
    return joined(reader.group(0, len(query)))


def is_plain_simple(query: str) -> bool:
    """Whether a query is words alone, whatever its flags are.

    >>> is_plain_simple("black e-mail"), is_plain_simple("black -cat"), is_plain_simple('"black cat"')
    (True, False, False)
    """
    return _OPERATOR.search(query) is None


def _bits(flags: Any) -> int:
    if isinstance(flags, int):
        return flags
    names = [name.strip().upper() for name in str(flags).split("|")] or ["ALL"]
    bits = 0
    for name in names:
        bits |= _FLAGS.get(name, -1)
    return bits


class _Reader:
    def __init__(self, query: str, bits: int) -> None:
        self._query = query
        self._bits = bits
        escape = r"\\." if self._has("ESCAPE") else r"(?!)"
        backslash = r"\\" if self._has("ESCAPE") else ""
        ends = "".join(regex.escape(chars) for chars, name in _ENDS if self._has(name))
        inner = f"[^{ends}{backslash}]" if ends + backslash else "."
        self._word = regex.compile(rf"(?:{escape}|{inner})++\\?|\\", regex.S)
        self._phrase = regex.compile(rf'"((?:{escape}|[^"{backslash}])*+)"', regex.S)
        self._escapes = regex.compile(r"\\(.)" if self._has("ESCAPE") else r"(?!)", regex.S)
        self._skipped = "".join(chars for chars, name in _SKIPPED if self._has(name))
        self._closing, self.depth = self._pairs()

    def _has(self, name: str) -> bool:
        return bool(self._bits & _FLAGS[name])

    def _pairs(self) -> tuple[dict[int, int], int]:
        """The parenthesis that closes each open one, and how deep they are nested."""
        closing: dict[int, int] = {}
        opened: list[int] = []
        depth = 0
        if not self._has("PRECEDENCE"):
            return closing, 0
        for match in regex.finditer(r"\\.|[()]" if self._has("ESCAPE") else r"[()]", self._query, regex.S):
            if match[0] == "(":
                opened.append(match.start())
                depth = max(depth, len(opened))
            elif match[0] == ")" and opened:
                closing[opened.pop()] = match.start()
        return closing, depth

    def group(self, place: int, end: int) -> list[SyntaxTerm]:
        """The terms between two places."""
        found: list[SyntaxTerm] = []
        is_forbidden = False
        while place < end:
            char = self._query[place]
            if char == "-" and self._has("NOT"):
                is_forbidden = not is_forbidden
                place += 1
                continue
            terms, place = self._part(place, end)
            found += [] if is_forbidden else terms
            is_forbidden = False
        return found

    def _part(self, place: int, end: int) -> tuple[list[SyntaxTerm], int]:
        """A group, a phrase, a word, or what is skipped; and where it ends."""
        char = self._query[place]
        closes = self._closing.get(place, end)
        if char == "(" and closes < end:
            return self.group(place + 1, closes), closes + 1
        if char in self._skipped or (char == "(" and self._has("PRECEDENCE")):
            return [], place + 1
        if char == '"' and self._has("PHRASE"):
            phrase = self._phrase.match(self._query, place, end)
            if phrase is None:
                return [], place + 1
            slop = _NUMBERS.match(self._query, phrase.end(), end) if self._has("NEAR") else None
            text = self._escapes.sub(r"\1", phrase[1])
            return [SyntaxTerm(SyntaxKind.WORDS, text)], (slop or phrase).end()
        word = self._word.match(self._query, place, end)
        if word is None:
            return [], place + 1
        return self._terms(word[0]), word.end()

    def _terms(self, raw: str) -> list[SyntaxTerm]:
        if self._has("FUZZY"):
            raw = _FUZZY.sub("", raw)
        is_prefix = raw.endswith("*") and self._has("PREFIX") and self._escapes.sub("", raw).endswith("*")
        text = self._escapes.sub(r"\1", raw[:-1] if is_prefix else raw)
        if not text:
            return []
        return [SyntaxTerm(SyntaxKind.PREFIX if is_prefix else SyntaxKind.WORDS, text)]
