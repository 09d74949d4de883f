"""Turns an engine's hits into bags of words: the packed bag where the index is ours, else the words of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reranker.bags import BagOfWords, unpack
from reranker.detection import guess_language
from reranker.embeddings import Embeddings
from reranker.errors import BadInput
from reranker.service.proxy.source_filter import BAG_FIELD, LANGUAGE_FIELD

Bag = tuple[BagOfWords, str]

# 500 words are read of a document; no language's words are so long that this cuts them off.
_MAX_TEXT_CHARS = 20_000
_MAX_DEPTH = 16


class HitReader:
    """Reads hits with one set of embeddings.

    Args:
        text_fields: `_source` fields (dots for nested ones) that hold the text; every string where there are none.
        is_ours: whether a named index holds bags of words of these embeddings.
    """

    def __init__(self, embeddings: Embeddings, text_fields: Sequence[str], is_ours: Callable[[str], bool]) -> None:
        self._embeddings = embeddings
        self._text_fields = tuple(text_fields)
        self._is_ours = is_ours

    def bag(self, hit: Mapping[str, Any], source: Any) -> Bag:
        """A hit's bag and its language; an empty one where there is no known word."""
        packed = self.packed_bag(hit, source)
        if packed is not None:
            return packed
        text = source_text(source, self._text_fields)
        language = guess_language(text, self._embeddings)
        return self._embeddings.bag(text, language), language

    def packed_bag(self, hit: Mapping[str, Any], source: Any) -> Bag | None:
        """The bag that Sinkrank put into its own index; None for any other hit.

        Term ids are checked: whoever may write to the index may have written anything.
        """
        if not isinstance(source, Mapping) or not self._is_ours(str(hit.get("_index"))):
            return None
        packed, language = source.get(BAG_FIELD), source.get(LANGUAGE_FIELD)
        if not isinstance(packed, str) or not isinstance(language, str):
            return None
        try:
            bag = unpack(packed)
        except BadInput:
            return None
        in_range = not len(bag) or (bag.term_ids.min() >= 0 and bag.term_ids.max() < self._embeddings.n_terms)
        return (bag, language) if in_range else None


def source_text(source: Any, fields: Sequence[str]) -> str:
    """The text of a `_source`: the named fields' strings, or all there are, one a line.

    >>> source_text({"title": "A cat", "body": {"parts": ["sits", "here"]}, "n": 1}, [])
    'A cat\\nsits\\nhere'
    >>> source_text({"title": "A cat", "body": {"parts": ["sits", "here"]}, "n": 1}, ["body.parts"])
    'sits\\nhere'
    """
    values = [_field(source, name.split(".")) for name in fields] if fields else [source]
    found: list[str] = []
    n_chars = 0
    for text in _strings(values, 0):
        found.append(text)
        n_chars += len(text)
        if n_chars > _MAX_TEXT_CHARS:
            break
    return "\n".join(found)[:_MAX_TEXT_CHARS]


def _field(value: Any, path: Sequence[str]) -> Any:
    """What stands at a path; lists on the way are gone through, and names with dots in them are found too."""
    if not path:
        return value
    if isinstance(value, list):
        return [_field(one, path) for one in value]
    if not isinstance(value, Mapping):
        return None
    whole = ".".join(path)
    return value[whole] if whole in value else _field(value.get(path[0]), path[1:])


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        for name, one in value.items():
            if not (name == BAG_FIELD and _is_packed(one)):
                yield from _strings(one, depth + 1)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one, depth + 1)


def _is_packed(value: Any) -> bool:
    """Whether it is a bag that some version of Sinkrank packed, which is no text."""
    try:
        return isinstance(value, str) and unpack(value) is not None
    except BadInput:
        return False
