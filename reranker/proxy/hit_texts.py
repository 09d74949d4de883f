"""Chooses the text of each hit, and reads it into a bag of words.

Hits of our own index carry their bags, and of other indices mostly their text. Where the caller's `_source` filter
keeps the text back it is looked up by one search for all such hits; where the index keeps no `_source`, the engine's
term vectors say which words a document has. Texts looked up are kept for when the document comes again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.proxy.answer_filters import BAG_FIELD, LANGUAGE_FIELD, is_match
from reranker.proxy.search import Search
from reranker.proxy.term_vectors import TermVectors
from reranker.proxy.upstream.calls import EngineCalls
from reranker.service.text_bags import Bag, TextBags, checked_bag
from reranker.text.bags import BagOfWords, unpack
from reranker.text.exact_text import exact_keys

# 500 words are read of a document; no language's words are so long that this cuts them off.
_MAX_TEXT_CHARS = 20_000
_MAX_DEPTH = 16
# The engine's own limit on a page.
_MAX_LOOKED_UP = 10_000
_WITHOUT_VECTOR = {"excludes": ["nbow"]}

Hit = Mapping[str, Any]
LookUp = Callable[[Sequence[tuple[Search, bytes]]], Sequence[Any]]
"""From searches and other bodies for them to the engine's answers, in the same order."""


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """A document at one time, as one caller sees it: what a text that is not in hand is known by in the cache.

    The sequence number changes with each writing. The caller counts since not everybody may read each field.

    Attributes:
        caller: `caller_key` of the request.
        fields: that are read.
    """

    caller: bytes
    index: str
    doc_id: str
    seq_no: int
    primary_term: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Missing:
    """A hit without its text: the place of its search among those of the request, and its own place there."""

    search: Search
    number: int
    place: int
    hit: Hit
    key: DocumentKey | None

    @property
    def identity(self) -> tuple[Any, ...]:
        """In its search."""
        return (self.number, *_identity(self.hit))


class HitTexts:
    """Collects the bags of hits; safe to share between threads.

    Args:
        is_ours: whether a named index holds bags of words of these embeddings.
        texts: what reads texts.
    """

    def __init__(self, embeddings: Embeddings, is_ours: Callable[[str], bool], texts: TextBags) -> None:
        self._embeddings = embeddings
        self._is_ours = is_ours
        self._texts = texts
        self._term_vectors = TermVectors(embeddings)

    def collect(self, searches: Sequence[Search], calls: EngineCalls, look_up: LookUp) -> list[list[Bag]]:
        """A bag for each hit of each window; an empty one where no text can be had.

        Raises:
            Fallback: the texts cannot be asked for.
        """
        is_ours = cache(self._is_ours)  # a window has one index or a few
        bags: list[list[Bag | None]] = [
            [self._in_hand(search, hit, is_ours) for hit in search.window] for search in searches
        ]
        missing = [
            _Missing(search, number, place, hit, _document_key(search, hit, calls.incoming.caller))
            for number, search in enumerate(searches)
            for place, (hit, bag) in enumerate(zip(search.window, bags[number], strict=True))
            if bag is None
        ]
        steps: Sequence[Callable[[list[_Missing]], list[Bag | None]]] = (
            self._known,
            lambda missing: self._looked_up(missing, look_up),
            lambda missing: self._by_term_vectors(missing, calls),
        )
        for find in steps if missing else ():
            left = []
            for one, bag in zip(missing, find(missing), strict=True):
                if bag is None:
                    left.append(one)
                    continue
                bags[one.number][one.place] = bag
                if one.key is not None:
                    self._texts.cache.put(one.key, bag)
            missing = left
            if not missing:
                break
        empty = self._texts.read("")
        return [[empty if bag is None else bag for bag in row] for row in bags]

    def _in_hand(self, search: Search, hit: Hit, is_ours: Callable[[str], bool]) -> Bag | None:
        """The bag that Sinkrank put into its own index, or that of the text in the hit; None where both are missing."""
        source = hit.get("_source")
        bag = self.packed_bag(source) if is_ours(str(hit.get("_index"))) else None
        if not isinstance(source, dict) or not search.source_filter.brings(search.read_fields):
            return bag
        if bag is None:
            return self.source_bag(source, search.weighted_fields, or_all=not search.text_fields)
        return with_exact_keys(bag[0], field_texts(source, search.read_fields)), bag[1]

    def packed_bag(self, source: Any) -> Bag | None:
        """The bag in a `_source` of an index of ours; None where there is none."""
        if not isinstance(source, Mapping):
            return None
        packed, language = source.get(BAG_FIELD), source.get(LANGUAGE_FIELD)
        if not isinstance(packed, str) or not isinstance(language, str):
            return None
        bag = checked_bag(packed, self._embeddings)
        return None if bag is None else (bag, language)

    def source_bag(self, source: Any, fields: Sequence[str], or_all: bool = False) -> Bag:
        """The bag of a `_source`'s text and its language; an empty one where there is no known word.

        Args:
            fields: that hold the text (dots for nested ones, `*` for any part); every string where there are none.
            or_all: whether every string is read where these fields hold no known word.
        """
        if not fields:
            return self._texts.read(source_text(source, ()))
        texts = field_texts(source, fields)
        bag, language = self._texts.read(_joined(texts[name] for name in fields))
        if or_all and not len(bag):
            bag, language = self._texts.read(source_text(source, ()))
        return with_exact_keys(bag, texts), language

    def _known(self, missing: list[_Missing]) -> list[Bag | None]:
        return [None if one.key is None else self._texts.cache.get(one.key) for one in missing]

    def _looked_up(self, missing: list[_Missing], look_up: LookUp) -> list[Bag | None]:
        # A `_source` that is not there though it was asked for whole is not kept by the index.
        partial = [one for one in missing if one.search.source_filter.is_partial]
        searches = {one.number: one.search for one in partial}
        if not searches:
            return [None] * len(missing)
        bodies = [
            (search, _look_up_body(search, [one.hit for one in partial if one.number == number]))
            for number, search in searches.items()
        ]
        sources = {
            (number, *_identity(hit)): hit.get("_source")
            for number, answer in zip(searches, look_up(bodies), strict=True)
            for hit in _hits(answer)
        }
        found = [sources.get(one.identity) for one in missing]
        return [
            self.source_bag(source, one.search.weighted_fields, or_all=not one.search.text_fields)
            if isinstance(source, dict)
            else None
            for one, source in zip(missing, found, strict=True)
        ]

    def _by_term_vectors(self, missing: list[_Missing], calls: EngineCalls) -> list[Bag | None]:
        found: dict[int, str | None] = {}
        for fields in sorted({one.search.text_fields for one in missing}):
            places = [place for place, one in enumerate(missing) if one.search.text_fields == fields]
            texts = self._term_vectors.texts([missing[place].hit for place in places], fields, calls)
            found.update(zip(places, texts, strict=True))
        words = [found[place] for place in range(len(missing))]
        return [None if text is None else self._texts.read(text) for text in words]


def _identity(hit: Hit) -> tuple[Any, ...]:
    return tuple(hit.get(name) for name in ("_index", "_id", "_routing"))


def _document_key(search: Search, hit: Hit, caller: bytes) -> DocumentKey | None:
    seq_no, primary_term = hit.get("_seq_no"), hit.get("_primary_term")
    # An engine gives -2 where it knows none.
    if not isinstance(seq_no, int) or not isinstance(primary_term, int) or seq_no < 0:
        return None
    index, doc_id = str(hit.get("_index")), str(hit.get("_id"))
    return DocumentKey(caller, index, doc_id, seq_no, primary_term, search.weighted_fields)


def _look_up_body(search: Search, hits: Sequence[Hit]) -> bytes:
    ids = sorted({str(hit.get("_id")) for hit in hits})
    n_indices = len({hit.get("_index") for hit in hits})
    body = {
        "query": {"ids": {"values": ids}},
        "size": min(_MAX_LOOKED_UP, len(ids) * n_indices),
        "_source": list(search.text_fields) or _WITHOUT_VECTOR,
    }
    return json.dumps(body).encode()


def _hits(answer: Any) -> list[Any]:
    outer = answer.get("hits") if isinstance(answer, dict) else None
    hits = outer.get("hits") if isinstance(outer, dict) else None
    return [hit for hit in hits if isinstance(hit, dict)] if isinstance(hits, list) else []


def with_exact_keys(bag: BagOfWords, texts: Mapping[str, Sequence[str]]) -> BagOfWords:
    """The bag, knowing the short ones of these texts of named fields; of none where none are named."""
    return replace(bag, exact_keys=exact_keys(chain.from_iterable(texts.values()))) if texts else bag


def field_texts(source: Any, fields: Sequence[str]) -> dict[str, list[str]]:
    """The strings of each of these fields of a `_source`."""
    return {name: [text for _, text in named_strings(_field(source, name))] for name in dict.fromkeys(fields)}


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
        return _joined([text] for _, text in named_strings(source))
    texts = field_texts(source, fields)
    return _joined(texts[name] for name in fields)


def _joined(texts: Iterable[Sequence[str]]) -> str:
    """One string a line, up to the length that is read."""
    found: list[str] = []
    n_chars = 0
    for text in chain.from_iterable(texts):
        found.append(text)
        n_chars += len(text)
        if n_chars > _MAX_TEXT_CHARS:
            break
    return "\n".join(found)[:_MAX_TEXT_CHARS]


def _field(source: Any, name: str) -> Any:
    # `title.*` is whatever is below a title, or a title with fields of its own.
    name = name.removesuffix(".*")
    if "*" in name:
        return [text for path, text in named_strings(source) if is_match(name, path)]
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


def named_strings(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """All strings below a value, such as a `_source`, but packed bags and the ids that Sinkrank writes beside their
    hashes; each with the dotted name of its field."""
    if isinstance(value, str):
        yield path, value
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        for name, one in value.items():
            is_id = name == "doc_id" and isinstance(value.get("id_hash"), int)
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
