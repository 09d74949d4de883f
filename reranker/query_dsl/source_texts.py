"""Reads the texts of a `_source`: those of some fields, or all that there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from mappings import BAG_FIELD, ID_FIELD
from reranker.base.errors import BadInput
from reranker.query_dsl.name_patterns import is_match
from reranker.text.bags import unpack
from reranker.text.exact_text import exact_keys

# 2,000 words are read of a document; no language's words are so long that this cuts them off.
_MAX_TEXT_CHARS = 80_000
_MAX_DEPTH = 16


def field_texts(source: Any, fields: Sequence[str]) -> dict[str, list[str]]:
    """The strings of each of these fields of a `_source`."""
    return _FieldReader(fields).texts(source)


class _FieldReader:
    """Reads the strings of some fields, whose names are looked into once for all sources."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        self._patterns: dict[str, str] = {}
        for name in fields:
            # `title.*` is whatever is below a title, or a title with fields of its own.
            path = name.removesuffix(".*")
            self._paths[name] = [] if "*" in path else path.split(".")
            if "*" in path:
                self._patterns[name] = path

    def texts(self, source: Any) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, path in self._paths.items():
            value = _at(source, path) if path else None
            found[name] = [value] if isinstance(value, str) else [text for _, text in named_strings(value)]
        if self._patterns:
            of_paths: dict[str, list[list[str]]] = {}
            for at, text in named_strings(source):
                if at not in of_paths:
                    of_paths[at] = [found[name] for name, pattern in self._patterns.items() if is_match(pattern, at)]
                for texts in of_paths[at]:
                    texts.append(text)
        return found


def source_text(source: Any, fields: Sequence[str]) -> str:
    """The text of a `_source`: the named fields' strings, or all there are, one a line.

    >>> source_text({"title": "A cat", "body": {"parts": ["sits", "here"]}, "n": 1}, [])
    'A cat\\nsits\\nhere'
    >>> source_text({"title": "A cat", "body": {"parts": ["sits", "here"]}, "n": 1}, ["body.parts"])
    'sits\\nhere'
    >>> source_text({"title": "A cat", "body": {"parts": ["sits", "here"]}, "n": 1}, ["b*s", "ti*"])
    'sits\\nhere\\nA cat'
    """
    if not fields:
        return joined(text for _, text in named_strings(source))
    texts = field_texts(source, fields)
    return joined(text for name in fields for text in texts[name])


def texts_and_keys(sources: Sequence[Any], fields: Sequence[str]) -> tuple[list[str], list[frozenset[int]]]:
    """The text of each `_source`, each field's as often as it is named, and the keys of its short texts."""
    # Twice the first one, as the value of one alone would be no tuple.
    members, are_patterns = itemgetter(*fields, fields[0]), any("*" in name for name in fields)
    distinct = dict.fromkeys(fields)
    places = [fields.index(name) for name in distinct]
    reader = _FieldReader(fields)
    texts, keys = [], []
    for source in sources:
        try:  # most fields are members with a text
            own = () if are_patterns else members(source)[:-1]
            text = "\n".join(own)
            short = [own[place] for place in places]
        except (KeyError, TypeError, IndexError):
            found = reader.texts(source)
            text = joined([text for name in fields for text in found[name]])
            short = list(chain.from_iterable(found.values()))
        texts.append(text[:_MAX_TEXT_CHARS])
        keys.append(exact_keys(short))
    return texts, keys


def joined(texts: Iterable[str]) -> str:
    """One string a line, up to the length that is read."""
    found: list[str] = []
    n_chars = 0
    for text in texts:
        found.append(text)
        n_chars += len(text)
        if n_chars > _MAX_TEXT_CHARS:
            break
    return "\n".join(found)[:_MAX_TEXT_CHARS]


def _at(value: Any, path: Sequence[str], n_lists: int = 0) -> Any:
    """What stands at a path; lists on the way are gone through, and names with dots in them are found too.

    A text before the end of the path is that of `title` for the field `title.english`.
    """
    if not path or isinstance(value, str):
        return value
    if isinstance(value, list):
        # What lies deeper is not read (`named_strings`).
        return [_at(one, path, n_lists + 1) for one in value] if n_lists <= _MAX_DEPTH else None
    if not isinstance(value, Mapping):
        return None
    whole = ".".join(path)
    return value[whole] if whole in value else _at(value.get(path[0]), path[1:], n_lists)


def named_strings(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """All strings below a value, such as a `_source`, but packed bags and the ids that Sinkrank writes beside their
    hashes; each with the dotted name of its field."""
    if isinstance(value, str):
        yield path, value
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        for name, one in value.items():
            is_id = name == ID_FIELD and isinstance(value.get("id_hash"), int)
            if not is_id and not (name == BAG_FIELD and _is_packed(one)):
                yield from named_strings(one, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list):
        for one in value:
            yield from named_strings(one, path, depth + 1)


def _is_packed(value: Any) -> bool:
    """Whether it is a bag that some version of Sinkrank packed, which is no text."""
    try:
        return isinstance(value, str) and unpack(value) is not None
    except BadInput:
        return False


def source_names(fields: Iterable[str]) -> list[str]:
    """What of `_source` holds the texts of fields: that of `title.english` is the text of `title`.

    >>> source_names(["title.english", "title", "parts.*"])
    ['parts.*', 'title']
    """
    return sorted({name if "*" in name else name.split(".")[0] for name in fields})
