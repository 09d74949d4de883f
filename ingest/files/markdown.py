"""Turns Markdown into rows: the title, the text without markup, and the front matter."""

from __future__ import annotations

import datetime
import html
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import regex
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest.files.row import Row, not_utf8
from reranker.base.errors import one_line

# YAML between lines of ---, TOML between lines of +++ (Hugo).
_FRONT_MATTER = regex.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)^\1[ \t]*$\n?", regex.S | regex.M)
# Attributes after a heading: `## Install {#install}`.
_ATTRIBUTES = regex.compile(r"\{[:#.][^{}]*\}\Z")
# Tags, comments, scripts and styles. Without an end the last three hide the rest, as in a browser. (Else the end would
# be looked for again after each `<!--`.)
_TAG = regex.compile(
    r"<!--(?:-?>|.*?(?:-->|\Z))|<(script|style)(?=[\s>]).*?(?:</\1\s*>|\Z)|<[^<>]*>", regex.S | regex.I
)
_LANGUAGE_KEYS = ("language", "lang")
_BLOCK_TEXT = ("fence", "code_block")
# More than any page needs. The time that TOML's dotted keys take grows with the square of their length.
_MAX_FRONT_MATTER = 65_536

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def parse_markdown(row: Row) -> Row:
    """The row with title, text and front matter.

    The title is that of the front matter, or else the first heading, which is then removed from the text. All other
    strings, numbers, booleans, dates, and lists of these in the front matter are metadata.
    """
    try:
        source = row.raw.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        return row._replace(error=not_utf8(error))
    try:
        matter, source = _front_matter(source)
    except Exception as error:  # PyYAML raises KeyError, AttributeError and others for values that it cannot convert
        return row._replace(error=f"the front matter cannot be read ({one_line(error)}); correct or remove it")
    blocks = list(_blocks(_PARSER.parse(source)))
    title = str(matter.get("title") or "").strip()
    headings = [place for place, (is_heading, _) in enumerate(blocks) if is_heading]
    if headings and title in ("", blocks[headings[0]][1]):
        title = blocks.pop(headings[0])[1]
    fields = {"title": title, "text": "\n".join(text for _, text in blocks)}
    # YAML reads the code of Norwegian, `no`, as false.
    languages = ("no" if matter.get(key) is False else matter.get(key) for key in _LANGUAGE_KEYS)
    language = next((one for one in languages if isinstance(one, str)), None)
    if language:
        fields["language"] = language
    if isinstance(matter.get("url"), str):
        fields["url"] = matter["url"]
    more = {key: value for key, value in matter.items() if key not in (*fields, "id", *_LANGUAGE_KEYS)}
    values = {**(row.values or {}), **fields} | ({"metadata": more} if more else {})
    return row._replace(values=values, format="")


def _front_matter(source: str) -> tuple[Mapping[str, Any], str]:
    """The front matter as values of JSON, and the rest of the source.

    Raises:
        Exception: it is too long, or not valid YAML or TOML.
    """
    found = _FRONT_MATTER.match(source)
    if found is None:
        return {}, source
    if len(found[2]) > _MAX_FRONT_MATTER:
        raise ValueError(f"it has more than {_MAX_FRONT_MATTER:,} characters")
    read = tomllib.loads(found[2]) if found[1] == "+++" else yaml.load(found[2], _Loader)  # noqa: S506 - a SafeLoader
    if not isinstance(read, dict):
        if found[1] == "---":
            return {}, source  # text between two horizontal rules
        raise ValueError("it has no keys")
    plain = ((str(key), _plain(value)) for key, value in read.items())
    return {key: value for key, value in plain if value not in (None, "", [])}, source[found.end() :]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads YAML without aliases: lists of aliases of lists make a large page of a small one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("aliases are not read")
        return super().compose_node(parent, index)


def _plain(value: Any) -> Any:
    """A value that filters can use, or None."""
    if isinstance(value, list):
        flat = (_plain(one) for one in value if not isinstance(one, list))
        return [one for one in flat if one is not None]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool) else None


def _blocks(tokens: Sequence[Token]) -> Iterator[tuple[bool, str]]:
    """Each block with text: whether it is a heading, and its text."""
    is_heading = False
    for token in tokens:
        if token.type == "heading_open":
            is_heading = True
        elif token.type == "inline":
            text = _inline(token.children or ())
            text = _ATTRIBUTES.sub("", text).rstrip() if is_heading else text
            if text:
                yield is_heading, text
            is_heading = False
        elif token.type in _BLOCK_TEXT:
            yield False, token.content.rstrip()
        elif token.type == "html_block" and (text := html.unescape(_TAG.sub("", token.content)).strip()):
            yield False, text


def _inline(tokens: Sequence[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type == "image":
            parts.append(_inline(token.children or ()))  # the alternative text
        elif token.type in ("text", "code_inline"):
            parts.append(token.content)
    return "".join(parts).strip()
