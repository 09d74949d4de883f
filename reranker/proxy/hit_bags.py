"""Finds a bag of words for each hit: in the hit, in the cache, by one more search for their texts, or in term vectors.

Hits of our own index carry their bags, and of other indices mostly their text. Where the caller's `_source` filter
keeps the text back it is looked up by one search for all such hits; where the index keeps no `_source`, the engine's
term vectors say which words a document has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from reranker.proxy.document_key import DocumentKey
from reranker.proxy.hits import Hit, HitReader, with_exact_keys
from reranker.proxy.search_request import ProxySearch
from reranker.proxy.term_vectors import TermVectors
from reranker.proxy.upstream.calls import EngineCalls
from reranker.service.bag_cache import Bag, BagCache

# The engine's own limit on a page.
_MAX_LOOKED_UP = 10_000
_WITHOUT_VECTOR = {"excludes": ["nbow"]}


@dataclass(frozen=True, slots=True)
class Window:
    """A search and the hits that it is to re-rank."""

    search: ProxySearch
    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class _Missing:
    """A hit without its text: the number of its window, and its place there."""

    window: int
    place: int
    hit: Hit
    key: DocumentKey | None

    @property
    def identity(self) -> tuple[Any, ...]:
        return tuple(self.hit.get(name) for name in ("_index", "_id", "_routing"))


# From (number of the window, body) of searches to their answers; as many, in the same order.
LookUp = Callable[[Sequence[tuple[int, bytes]]], Sequence[Any]]


class HitBags:
    """Collects bags; safe to share between threads."""

    def __init__(self, reader: HitReader, cache: BagCache, term_vectors: TermVectors) -> None:
        self._reader = reader
        self._cache = cache
        self._term_vectors = term_vectors

    def collect(self, windows: Sequence[Window], caller: bytes, calls: EngineCalls, look_up: LookUp) -> list[list[Bag]]:
        """A bag for each hit of each window; an empty one where no text can be had.

        Raises:
            Fallback: the texts cannot be asked for.
        """
        is_ours = cache(self._reader.is_ours)  # a window has one index or a few
        bags: list[list[Bag | None]] = [
            [self._in_hand(window.search, hit, is_ours) for hit in window.hits] for window in windows
        ]
        missing = [
            _Missing(number, place, window.hits[place], _document_key(window, window.hits[place], caller))
            for number, window in enumerate(windows)
            for place, bag in enumerate(bags[number])
            if bag is None
        ]
        for steps in (self._known, self._looked_up(windows, look_up), self._vectors(windows, calls)):
            missing = self._fill(bags, missing, steps) if missing else []
        empty = self._reader.text_bag("")
        return [[empty if bag is None else bag for bag in row] for row in bags]

    def _fill(
        self,
        bags: list[list[Bag | None]],
        missing: list[_Missing],
        find: Callable[[list[_Missing]], list[Bag | None]],
    ) -> list[_Missing]:
        """Puts in what is found; what is still missing."""
        left = []
        for one, bag in zip(missing, find(missing), strict=True):
            if bag is None:
                left.append(one)
            else:
                bags[one.window][one.place] = bag
                if one.key is not None:
                    self._cache.put(one.key, bag)
        return left

    def _in_hand(self, search: ProxySearch, hit: Hit, is_ours: Callable[[str], bool]) -> Bag | None:
        bag = self._reader.packed_bag(hit) if is_ours(str(hit.get("_index"))) else None
        source = hit.get("_source")
        if not isinstance(source, dict) or not search.source_filter.brings(search.read_fields):
            return bag
        if bag is None:
            return self._source_bag(search, source)
        return with_exact_keys(bag[0], source, search.read_fields), bag[1]

    def _source_bag(self, search: ProxySearch, source: Any) -> Bag:
        """Of the named fields; where a query names them and they hold no known word, of every string."""
        return self._reader.source_bag(source, search.weighted_fields, or_all=not search.text_fields)

    def _known(self, missing: list[_Missing]) -> list[Bag | None]:
        return [None if one.key is None else self._cache.get(one.key) for one in missing]

    def _looked_up(self, windows: Sequence[Window], look_up: LookUp) -> Callable[[list[_Missing]], list[Bag | None]]:
        def find(missing: list[_Missing]) -> list[Bag | None]:
            # A `_source` that is not there though it was asked for whole is not kept by the index.
            partial = [one for one in missing if windows[one.window].search.source_filter.is_partial]
            numbers = sorted({one.window for one in partial})
            if not numbers:
                return [None] * len(missing)
            bodies = [
                (number, _look_up_body(windows[number].search, [one.hit for one in partial if one.window == number]))
                for number in numbers
            ]
            sources = {
                (number, *(hit.get(name) for name in ("_index", "_id", "_routing"))): hit.get("_source")
                for number, answer in zip(numbers, look_up(bodies), strict=True)
                for hit in _hits(answer)
            }
            found = [sources.get((one.window, *one.identity)) for one in missing]
            return [
                self._source_bag(windows[one.window].search, source) if isinstance(source, dict) else None
                for one, source in zip(missing, found, strict=True)
            ]

        return find

    def _vectors(self, windows: Sequence[Window], calls: EngineCalls) -> Callable[[list[_Missing]], list[Bag | None]]:
        def find(missing: list[_Missing]) -> list[Bag | None]:
            found: list[Bag | None] = [None] * len(missing)
            for fields in sorted({windows[one.window].search.text_fields for one in missing}):
                places = [
                    place for place, one in enumerate(missing) if windows[one.window].search.text_fields == fields
                ]
                texts = self._term_vectors.texts([missing[place].hit for place in places], fields, calls)
                for place, text in zip(places, texts, strict=True):
                    found[place] = None if text is None else self._reader.text_bag(text)
            return found

        return find


def _document_key(window: Window, hit: Hit, caller: bytes) -> DocumentKey | None:
    seq_no, primary_term = hit.get("_seq_no"), hit.get("_primary_term")
    # An engine gives -2 where it knows none.
    if not isinstance(seq_no, int) or not isinstance(primary_term, int) or seq_no < 0:
        return None
    index, doc_id = str(hit.get("_index")), str(hit.get("_id"))
    return DocumentKey(caller, index, doc_id, seq_no, primary_term, window.search.weighted_fields)


def _look_up_body(search: ProxySearch, hits: Sequence[Hit]) -> bytes:
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
