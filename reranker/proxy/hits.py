"""Turns an engine's hits into bags of words: the packed bag where the index is ours, else the words of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.proxy.answer_filters import BAG_FIELD, LANGUAGE_FIELD, is_match
from reranker.service.bag_cache import Bag
from reranker.service.text_bags import TextBags
from reranker.text.bags import BagOfWords, unpack
from reranker.text.exact_text import exact_keys

# 500 words are read of a document; no language's words are so long that this cuts them off.
_MAX_TEXT_CHARS = 20_000
_MAX_DEPTH = 16


class Hit(Protocol):
    """What is read of a hit: its parts by their keys."""

    def get(self, key: str, /) -> Any: ...


class HitReader:
    """Reads hits with one set of embeddings; safe to share between threads.

    Args:
        is_ours: whether a named index holds bags of words of these embeddings.
        texts: what reads texts.
    """

    def __init__(self, embeddings: Embeddings, is_ours: Callable[[str], bool], texts: TextBags) -> None:
        self._embeddings = embeddings
        self.is_ours = is_ours
        self._texts = texts

    def packed_bag(self, hit: Hit) -> Bag | None:
        """The bag that Sinkrank put into its own index (`is_ours`); None where there is none.

        Term ids are checked: whoever may write to the index may have written anything.
        """
        source = hit.get("_source")
        if not isinstance(source, Mapping):
            return None
        packed, language = source.get(BAG_FIELD), source.get(LANGUAGE_FIELD)
        if not isinstance(packed, str) or not isinstance(language, str):
            return None
        try:
            bag = unpack(packed)
        except BadInput:
            return None
        return (bag, language) if bag.is_within(self._embeddings.n_terms) else None

    def source_bag(self, source: Any, fields: Sequence[str], or_all: bool = False) -> Bag:
        """The bag of a `_source`'s text and its language; an empty one where there is no known word.

        Args:
            fields: that hold the text (dots for nested ones, `*` for any part); every string where there are none.
            or_all: whether every string is read where these fields hold no known word.
        """
        bag, language = self.text_bag(source_text(source, fields))
        if or_all and fields and not len(bag):
            bag, language = self.text_bag(source_text(source, ()))
        return with_exact_keys(bag, source, fields), language

    def text_bag(self, text: str) -> Bag:
        """The same of a text."""
        return self._texts.read(text)


def with_exact_keys(bag: BagOfWords, source: Any, fields: Sequence[str]) -> BagOfWords:
    """The bag, knowing the short texts of the named fields; of none where none are named."""
    if not fields:
        return bag
    distinct = dict.fromkeys(fields)  # a boosted field is read several times
    return replace(bag, exact_keys=exact_keys(_strings([_field(source, name) for name in distinct], 0)))


def source_text(source: Any, fields: Sequence[str]) -> str:
    """The text of a `_source`: the named fields' strings, or all there are, one a line.

    >>> source_text({"title": "A cat", "body": {"parts": ["sits", "here"]}, "n": 1}, [])
    'A cat\\nsits\\nhere'
    >>> source_text({"title": "A cat", "body": {"parts": ["sits", "here"]}, "n": 1}, ["body.parts"])
    'sits\\nhere'
    >>> source_text({"title": "A cat", "body": {"parts": ["sits", "here"]}, "n": 1}, ["b*s", "ti*"])
    'sits\\nhere\\nA cat'
    """
    values = [_field(source, name) for name in fields] if fields else [source]
    found: list[str] = []
    n_chars = 0
    for text in _strings(values, 0):
        found.append(text)
        n_chars += len(text)
        if n_chars > _MAX_TEXT_CHARS:
            break
    return "\n".join(found)[:_MAX_TEXT_CHARS]


def _field(source: Any, name: str) -> Any:
    # `title.*` is whatever is below a title, or a title with fields of its own.
    name = name.removesuffix(".*")
    if "*" in name:
        return [text for path, text in _named_strings(source, "", 0) if is_match(name, path)]
    return _at(source, name.split("."))


def _at(value: Any, path: Sequence[str]) -> Any:
    """What stands at a path; lists on the way are gone through, and names with dots in them are found too.

    A text before the end of the path is that of `title` for the field `title.english`.
    """
    if not path or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_at(one, path) for one in value]
    if not isinstance(value, Mapping):
        return None
    whole = ".".join(path)
    return value[whole] if whole in value else _at(value.get(path[0]), path[1:])


def named_strings(source: Any) -> Iterator[tuple[str, str]]:
    """All strings of a `_source` but packed bags, each with the dotted name of its field."""
    return _named_strings(source, "", 0)


def _strings(value: Any, depth: int) -> Iterator[str]:
    return (text for _, text in _named_strings(value, "", depth))


def _named_strings(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """All strings below a value, each with the dotted path of its field."""
    if isinstance(value, str):
        yield path, value
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        for name, one in value.items():
            if not (name == BAG_FIELD and _is_packed(one)):
                yield from _named_strings(one, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list):
        for one in value:
            yield from _named_strings(one, path, depth + 1)


def _is_packed(value: Any) -> bool:
    """Whether it is a bag that some version of Sinkrank packed, which is no text."""
    try:
        return isinstance(value, str) and unpack(value) is not None
    except BadInput:
        return False
