"""Finds the bag of words of each hit of a window. Where it is to be found depends on the kind of the window:

    sequence_numbers    the cache; documents that are not in it are fetched by one search
    stored_bags         the doc values of the hit
    whole               the hit's `_source`: its bag in an index of our own, its text in any other

Where the caller's `_source` filter keeps the text back it is looked up by one search for all such hits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from reranker.base.aged_cache import AgedCache
from reranker.embeddings import Embeddings
from reranker.proxy.document_keys import CachedBag, DocumentKey, document_keys
from reranker.proxy.search import Search
from reranker.proxy.window import Window
from reranker.proxy.window_kinds import (
    SEQUENCE_NUMBERS,
    STORED_BAGS,
    is_of_one_shard,
    place_of,
)
from reranker.query_dsl.answer_filters import BAG_FIELD, ID_FIELD, KEY_FIELDS, LANGUAGE_FIELD, is_match
from reranker.query_dsl.source_texts import field_texts, source_text, texts_and_keys
from reranker.service.text_bags import MAX_AGE_S, Bag, TextBags, checked_bag
from reranker.text.exact_text import exact_keys

# The engine's own limit on a page.
_MAX_LOOKED_UP = 10_000
# Bags that are cached by their documents: as many as by their texts (`text_bags.py`), most of which are the same. One
# of 100 words takes 4.6 kB with what ranking caches of it, its weights and mean embedding.
_MAX_DOCUMENTS = 10_000
# Packed bags that are cached unpacked, 2 KB each for some 100 words.
_MAX_PACKED = 5_000
_WITHOUT_VECTOR = {"excludes": ["nbow"]}

Hit = Mapping[str, Any]
LookUp = Callable[[Sequence[tuple[Search, bytes]]], Sequence[Any]]
"""From searches and other bodies for them to the engine's answers, in the same order."""


class WindowBags(NamedTuple):
    """What ranking needs of the hits of a window.

    Attributes:
        bags: of each hit, with its language; an empty bag where no text can be had.
        doc_ids: their ids.
        are_ours: whether all are of indices that Sinkrank made.
        n_cached: hits whose bags were cached for an earlier search.
    """

    bags: Sequence[Bag]
    doc_ids: Sequence[str]
    are_ours: bool = False
    n_cached: int = 0


@dataclass(frozen=True, slots=True)
class _Hits:
    """Hits of one search whose bags are to be read from what they come with.

    Attributes:
        keys: what their documents are cached by.
        ours: the names of those of their indices that Sinkrank made; `are_ours`: whether all are of such.
        is_partial: whether their `_source` may lack what is to be read.
    """

    search: Search
    hits: Sequence[Hit]
    keys: Sequence[DocumentKey | None]
    ours: Collection[str]
    are_ours: bool
    is_partial: bool = False

    def lacking(self, bags: Sequence[object | None]) -> _Hits:
        """Those without a bag."""
        if not any(bags):
            return self
        left = [place for place, bag in enumerate(bags) if bag is None]
        return replace(self, hits=[self.hits[place] for place in left], keys=[self.keys[place] for place in left])


class HitTexts:
    """Collects the bags of hits; safe to share between threads.

    Args:
        is_ours: whether a named index holds bags of words of these embeddings.
        texts: what reads texts.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        is_ours: Callable[[str], bool],
        texts: TextBags,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_ours = is_ours
        self._texts = texts
        self._cached: AgedCache[DocumentKey | None, CachedBag] = AgedCache(_MAX_DOCUMENTS, MAX_AGE_S, clock)
        self._embeddings = embeddings
        self._unpacked = lru_cache(_MAX_PACKED)(self._unpack)

    def collect(self, windows: Sequence[Window], caller: bytes, look_up: LookUp) -> list[WindowBags | None]:
        """The bags of each window; None for an ids-only window that lacks some.

        Args:
            caller: `caller_key` of the request.

        Raises:
            Fallback: the texts cannot be asked for.
        """
        collectors = {STORED_BAGS: self._of_stored, SEQUENCE_NUMBERS: self._of_numbers, None: self._of_whole}
        found: dict[int, WindowBags | None] = {}
        for kind, collect in collectors.items():
            places = [place for place, window in enumerate(windows) if window.kind == kind]
            if places:
                bags = collect([windows[place] for place in places], caller, look_up)
                found |= zip(places, bags, strict=True)
        return [found[place] for place in range(len(windows))]

    def forget(self) -> None:
        """Empties the cache of bags by sequence numbers."""
        self._cached.clear()

    def has_bags(self, window: Window, kind: str) -> bool:
        """Whether the bags of a window's hits would be known if it were of an ids-only kind."""
        return is_of_one_shard(window.answer.raw.parsed) if kind == SEQUENCE_NUMBERS else self._are_ours(window)

    def _are_ours(self, window: Window) -> bool:
        return all(map(self._is_ours, window.index_names))

    def _hits(self, window: Window, keys: Sequence[DocumentKey | None], is_partial: bool = False) -> _Hits:
        ours = list(filter(self._is_ours, window.index_names))
        return _Hits(window.search, window.hits, keys, ours, len(ours) == len(window.index_names), is_partial)

    def _of_stored(self, windows: Sequence[Window], caller: bytes, look_up: LookUp) -> list[WindowBags | None]:
        """By the doc values of each hit."""
        found = [self._in_doc_values(window) if self._are_ours(window) else None for window in windows]
        for window, own in zip(windows, found, strict=True):
            if own is not None:
                self._cache(_document_keys(window, caller), own.bags, own.doc_ids)
        return found

    def _of_numbers(self, windows: Sequence[Window], caller: bytes, look_up: LookUp) -> list[WindowBags | None]:
        """From the cache; documents that are not in it are fetched, for all windows in one request."""
        keys = [_document_keys(window, caller) for window in windows]
        cached = list(map(self._cached.get, keys))
        lacking = [
            self._hits(window, own_keys).lacking(own)
            for window, own_keys, own in zip(windows, keys, cached, strict=True)
        ]
        fetched = _fetched(lacking, look_up)
        read = [replace(one, hits=hits or ()) for one, hits in zip(lacking, fetched, strict=True)]
        found: list[WindowBags | None] = []
        new_bags = self._read(read, look_up)
        for window, one, own, hits, bags in zip(windows, lacking, cached, fetched, new_bags, strict=True):
            if hits is None or not is_of_one_shard(window.answer.raw.parsed):
                found.append(None)
                continue
            new = zip(bags, (str(hit["_id"]) for hit in hits), strict=True)
            both = [next(new) if each is None else each for each in own]
            n_cached = len(own) - len(one.hits)
            found.append(WindowBags([bag for bag, _ in both], [doc_id for _, doc_id in both], one.are_ours, n_cached))
        return found

    def _of_whole(self, windows: Sequence[Window], caller: bytes, look_up: LookUp) -> list[WindowBags | None]:
        """From the `_source` of each hit."""
        hits = [
            self._hits(window, _document_keys(window, caller), window.search.source_filter.is_partial)
            for window in windows
        ]
        n_cached = [len(one.keys) - self._cached.get(one.keys).count(None) for one in hits]
        bags = self._read(hits, look_up)
        return [
            WindowBags(own, [str(hit.get("_id")) for hit in one.hits], n_cached=n)
            for own, one, n in zip(bags, hits, n_cached, strict=True)
        ]

    def _read(self, read: Sequence[_Hits], look_up: LookUp) -> list[list[Bag]]:
        """The bags of hits by what they come with, from the cache, or by asking the engine for more. What is read is
        cached, so that an ids-only window finds it."""
        bags: list[list[Bag | None]] = [[None] * len(one.hits) for one in read]
        for find in (self._in_source, self._from_cache, self._looked_up, self._without_text):
            lacking = [one.lacking(own) for one, own in zip(read, bags, strict=True)]
            if not any(one.hits for one in lacking):
                break
            found = find(lacking, look_up)
            if find != self._from_cache:
                for one, own in zip(lacking, found, strict=True):
                    self._cache(one.keys, own, [str(hit.get("_id")) for hit in one.hits])
            bags = [_filled(own, rest) for own, rest in zip(bags, found, strict=True)]
        return [[bag for bag in own if bag is not None] for own in bags]

    def _cache(self, keys: Sequence[DocumentKey | None], bags: Sequence[Bag | None], doc_ids: Sequence[str]) -> None:
        self._cached.put(
            [
                (key, (bag, doc_id))
                for key, bag, doc_id in zip(keys, bags, doc_ids, strict=True)
                if key is not None and bag is not None
            ]
        )

    def _from_cache(self, lacking: Sequence[_Hits], look_up: LookUp) -> list[list[Bag | None]]:
        """Those that were read for an earlier search."""
        return [[one and one[0] for one in self._cached.get(hits.keys)] for hits in lacking]

    def _in_source(self, read: Sequence[_Hits], look_up: LookUp) -> list[list[Bag | None]]:
        """Those in the hits' `_source`."""
        return list(map(self._in_own_source, read))

    def _in_own_source(self, read: _Hits) -> list[Bag | None]:
        """The bag that Sinkrank put into its own index, or that of the text in the hit; None where both are missing."""
        search, key_names = read.search, _key_names(read.search.read_fields)
        has_text = not read.is_partial or search.source_filter.brings(search.read_fields)
        reads_all = not search.text_fields
        sources = [hit.get("_source") for hit in read.hits]
        found: list[Bag | None] = [None] * len(sources)
        for place, (hit, source) in enumerate(zip(read.hits, sources, strict=True)) if read.ours else ():
            if isinstance(source, dict) and str(hit.get("_index")) in read.ours:
                found[place] = self.packed_bag(source, key_names, search.read_fields if has_text else ())
        to_read = {
            place: source
            for place, (source, bag) in enumerate(zip(sources, found, strict=True))
            if bag is None and has_text and isinstance(source, dict)
        }
        bags = self.source_bags(list(to_read.values()), search.weighted_fields, reads_all and not read.is_partial)
        is_lacking = reads_all and read.is_partial and bool(search.weighted_fields)
        for place, bag in zip(to_read, bags, strict=True):
            # Without a known word the other strings have to be looked up.
            found[place] = None if is_lacking and not len(bag[0].term_ids) else bag
        return found

    def _in_doc_values(self, window: Window) -> WindowBags | None:
        """The bags and ids that the hits have as doc values; None where one is missing."""
        key_names = _key_names(window.search.read_fields)
        bags: list[Bag] = []
        ids: list[str] = []
        for hit in window.hits:
            values: Mapping[str, Sequence[Any]] = hit.get("fields") or {}
            try:
                (packed,), (language,), (doc_id,) = values[BAG_FIELD], values[LANGUAGE_FIELD], values[ID_FIELD]
            except (KeyError, ValueError):  # one is missing, or there are several
                return None
            keys = [one[0] for name in key_names if len(one := values.get(name, ())) == 1]
            bag = self._unpacked(packed, language, *keys)
            if bag is None:
                return None
            bags.append(bag)
            ids.append(str(doc_id))
        return WindowBags(bags, ids, are_ours=True)

    def packed_bag(
        self, source: Mapping[str, Any], key_names: Sequence[str] = (), fields: Sequence[str] = ()
    ) -> Bag | None:
        """The bag in a `_source` of an index of ours; None where there is none.

        Args:
            key_names: the fields with the keys of its title and text, as far as these count.
            fields: those whose short texts are known of it where their keys were not stored.
        """
        packed, language = source.get(BAG_FIELD), source.get(LANGUAGE_FIELD)
        if not isinstance(packed, str) or not isinstance(language, str):
            return None
        if ID_FIELD in source:
            keys = [key for name in key_names if isinstance(key := source.get(name), int)]
        else:  # without an id of ours the keys are not known to be ours either
            keys = sorted(exact_keys(list(chain.from_iterable(field_texts(source, fields).values()))))
        return self._unpacked(packed, language, *keys)

    def _unpack(self, packed: str, language: str, *keys: int) -> Bag | None:
        bag = checked_bag(packed, self._embeddings, frozenset(keys))
        return None if bag is None else (bag, language)

    def source_bags(self, sources: Sequence[Any], fields: Sequence[str], or_all: bool = False) -> list[Bag]:
        """The bag of each `_source`'s text and its language; an empty one where there is no known word.

        Args:
            fields: that hold the text (dots for nested ones, `*` for any part); every string where there are none.
            or_all: whether every string is read where these fields hold no known word.
        """
        if not fields:
            return self._texts.read([source_text(source, ()) for source in sources])
        lines, keys = texts_and_keys(sources, fields)
        bags = self._texts.read(lines, exact_keys=keys)
        if or_all:
            empty = [place for place, (bag, _) in enumerate(bags) if not len(bag.term_ids)]
            others = [source_text(sources[place], ()) for place in empty]
            read = self._texts.read(others, exact_keys=[keys[place] for place in empty])
            for place, bag in zip(empty, read, strict=True):
                bags[place] = bag
        return bags

    def _looked_up(self, lacking: Sequence[_Hits], look_up: LookUp) -> list[list[Bag | None]]:
        """By the whole `_source` of hits that came without. Where it was asked for and is not there, the index keeps
        none."""
        asked = {number: one for number, one in enumerate(lacking) if one.is_partial and one.hits}
        answers = (
            look_up(
                [(one.search, look_up_body(one.search, one.hits, one.search.text_fields)) for one in asked.values()]
            )
            if asked
            else ()
        )
        sources = {
            (number, *identity(hit)): hit.get("_source")
            for number, answer in zip(asked, answers, strict=True)
            for hit in hits_in(answer)
        }
        found: list[list[Bag | None]] = []
        for number, one in enumerate(lacking):
            fields, or_all = one.search.weighted_fields, not one.search.text_fields
            own = [sources.get((number, *identity(hit))) for hit in one.hits]
            bags = iter(self.source_bags([each for each in own if isinstance(each, dict)], fields, or_all))
            found.append([next(bags) if isinstance(each, dict) else None for each in own])
        return found

    def _without_text(self, lacking: Sequence[_Hits], look_up: LookUp) -> list[list[Bag | None]]:
        """Empty ones."""
        return [[*self._texts.read([""] * len(one.hits))] for one in lacking]


def _document_keys(window: Window, caller: bytes) -> Sequence[DocumentKey | None]:
    """What the documents of a window are cached by; nothing where it is of several shards."""
    if not is_of_one_shard(window.answer.raw.parsed):
        return [None] * len(window.hits)
    return document_keys(window.search, window.hits, caller)


def _fetched(lacking: Sequence[_Hits], look_up: LookUp) -> list[list[Hit] | None]:
    """The documents of hits, in their order; None where one is not there any more."""
    asked = [(one.search, _numbers_body(one)) for one in lacking if one.hits]
    answers = iter(look_up(asked) if asked else ())
    found: list[list[Hit] | None] = []
    for one in lacking:
        documents = {place_of(hit): hit for hit in hits_in(next(answers))} if one.hits else {}
        own = [documents.get(place_of(hit)) for hit in one.hits]
        found.append(None if None in own else [hit for hit in own if hit is not None])
    return found


def _filled(bags: Sequence[Bag | None], rest: Sequence[Bag | None]) -> list[Bag | None]:
    """The bags, with others in the place of those that lack."""
    if not any(bags):
        return list(rest)
    left = iter(rest)
    return [next(left) if bag is None else bag for bag in bags]


def identity(hit: Hit) -> tuple[Any, ...]:
    """What a hit is known by in an answer that was asked for by ids."""
    return tuple(hit.get(name) for name in ("_index", "_id", "_routing"))


def _numbers_body(lacking: _Hits) -> bytes:
    """Asks for the bags or texts of hits by their sequence numbers."""
    body = {
        "query": {"terms": {"_seq_no": [hit.get("_seq_no") for hit in lacking.hits]}},
        "size": len(lacking.hits),
        "seq_no_primary_term": True,
        "track_total_hits": False,
        "_source": _WITHOUT_VECTOR if lacking.are_ours else list(lacking.search.text_fields) or True,
    }
    return json.dumps(body).encode()


def look_up_body(search: Search, hits: Sequence[Hit], fields: Sequence[str]) -> bytes:
    """Asks for fields of hits by their ids; for all fields where none are named."""
    ids = sorted({str(hit.get("_id")) for hit in hits})
    n_indices = len({hit.get("_index") for hit in hits})
    body = {
        "query": {"ids": {"values": ids}},
        "size": min(_MAX_LOOKED_UP, len(ids) * n_indices),
        "_source": list(fields) or _WITHOUT_VECTOR,
    }
    if "pit" in search.body.raw.parsed:  # which names the indices
        body["pit"] = search.body.raw.parsed["pit"]
    return json.dumps(body).encode()


def hits_in(answer: Any) -> list[Any]:
    """The hits of an answer of the engine."""
    outer = answer.get("hits") if isinstance(answer, dict) else None
    hits = outer.get("hits") if isinstance(outer, dict) else None
    return [hit for hit in hits if isinstance(hit, dict)] if isinstance(hits, list) else []


@lru_cache(maxsize=100)
def _key_names(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the keys of the title and text, as far as these fields are read."""
    return tuple(key for name, key in KEY_FIELDS.items() if any(is_match(one.split(".")[0], name) for one in fields))
