"""Parses the roff source of a manual page (man macros) into paragraphs. Knows nothing of files or languages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sinkrank.demo.pages import Paragraph

# Macros that begin a paragraph.
_BREAKS = frozenset({"PP", "P", "LP", "IP", "TP", "TQ", "HP", "SH", "SS", "RS", "RE"})
_HEADINGS = frozenset({"SH", "SS"})
# Macros for text in one font, and for text whose words alternate fonts and are joined.
_FONTS = frozenset({"B", "I", "SM", "SB"})
_ALTERNATING = frozenset({"BR", "BI", "IB", "IR", "RB", "RI"})
# Code, tables and macro definitions with the macros that end them; they are the same in every language.
_SKIPPED_UNTIL = {"nf": "fi", "EX": "EE", "TS": "TE", "de": ".", "SY": "YS"}

# Sections that are left out: links to other pages, translators and authors.
_DROPPED_SECTIONS = frozenset(
    {
        *("SEE ALSO", "COLOPHON", "AUTHOR", "AUTHORS", "COPYRIGHT", "REPORTING BUGS"),
        *("VOIR AUSSI", "TRADUCTION", "AUTEUR", "AUTEURS", "SIGNALER DES BOGUES"),
        *("SIEHE AUCH", "ÜBERSETZUNG", "AUTOR", "AUTOREN", "FEHLER MELDEN"),
        *("VÉASE TAMBIÉN", "TRADUCCIÓN", "AUTORES", "INFORMAR DE ERRORES"),
        *("ZOBACZ TAKŻE", "TŁUMACZENIE", "AUTORZY", "ZGŁASZANIE BŁĘDÓW", "PRAWA AUTORSKIE"),
    }
)

_NAMED = {"aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "em": "—", "en": "–", "bu": "•", "co": "©"}
_ESCAPE = re.compile(
    r"""\\(?:
      f(?:\[[^\]]*\]|\(..|.)               # a font
    | s(?:\[[^\]]*\]|[-+]?\d)              # a size
    | [*n](?:\[(?P<string>[^\]]*)\]|\((?P<pair>..)|.)
    | \[(?P<named>[^\]]*)\] | \((?P<short>..)
    | [hvw]'[^']*'
    | (?P<one>.)
    )""",
    re.VERBOSE,
)
# Everything else of one letter (\& \| \^ \c \: \% \/ \,) prints nothing.
_ONE = {"-": "-", "e": "\\", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`"}
_COMMENT = re.compile(r'\\["#].*')
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:\\ |\S)+)')


def parse_manual(source: str) -> tuple[str, tuple[Paragraph, ...]] | None:
    """Return the title (`access(2)`) and the paragraphs of a manual page, or None if it is a link to another page or
    uses other macros.

    The id of a paragraph is the number of its section and its number in the section (`3.2`), both from 0. Code, tables,
    links to other pages and the authors are left out.
    """
    title = ""
    paragraphs: list[Paragraph] = []
    section, place, dropped = 0, 0, False
    for kind, text in _blocks(source):
        if kind == "TH":
            title = text
        elif not title:
            return None
        elif kind == "SH":
            section, place, dropped = section + 1, 0, text.upper() in _DROPPED_SECTIONS
            if not dropped:
                paragraphs.append(Paragraph(f"{section}.0", text))
        elif not dropped:
            place += 1
            paragraphs.append(Paragraph(f"{section}.{place}", text))
    return (title, tuple(paragraphs)) if paragraphs else None


def _blocks(source: str) -> Iterator[tuple[str, str]]:
    """The title (TH), the headings of sections (SH) and the paragraphs (the others) in their order."""
    words: list[str] = []
    kind = "PP"
    for macro, text in _lines(source):
        if macro == "TH":
            arguments = _arguments(text)
            if len(arguments) > 1:
                yield "TH", f"{arguments[0].lower().rstrip('.')}({arguments[1]})"
        elif macro in _BREAKS:
            if words:
                yield kind, " ".join(words)
            # A heading follows its macro on the same or the next line. Other macros are followed by marks and widths.
            kind, words = macro, []
            if macro in _HEADINGS and text:
                yield macro, _joined(" ".join(_arguments(text)))
                kind = "PP"
        elif macro in _ALTERNATING:
            words.append(_joined("".join(_arguments(text))))
        elif macro in _FONTS:
            words.append(_joined(" ".join(_arguments(text))))
        elif not macro:
            words.append(_joined(_plain(text)))
        words = [word for word in words if word]
    if words:
        yield kind, " ".join(words)


def _lines(source: str) -> Iterator[tuple[str, str]]:
    """(macro or "", the text after it), without comments and skipped blocks."""
    until = ""
    for line in source.splitlines():
        line = _COMMENT.sub("", line)
        macro, text = "", line
        if line[:1] in (".", "'"):
            macro, _, text = line[1:].strip().partition(" ")
        if until:
            until = "" if macro == until else until
        elif macro in _SKIPPED_UNTIL:
            until = _SKIPPED_UNTIL[macro]
        else:
            yield macro, text.strip()


def _arguments(text: str) -> list[str]:
    found = [quoted.replace('""', '"') or bare for quoted, bare in _ARGUMENT.findall(text)]
    return [_plain(each) for each in found]


def _joined(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    return _ESCAPE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    if one := match["one"]:
        return _ONE.get(one, "")
    name = match["named"] or match["short"] or match["string"] or match["pair"] or ""
    return _NAMED.get(name, "")
