"""Chooses the text of each hit, and reads it into a bag of words.

Hits of our own index carry their bags, and of other indices mostly their text. Where the caller's `_source` filter
keeps the text back it is looked up by one search for all such hits; where the index keeps no `_source`, the engine's
term vectors say which words a document has. Texts looked up are kept for when the document comes again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from reranker.embeddings import Embeddings
from reranker.proxy.bare_windows import (
    BAGS,
    BARE_MEMBERS,
    MOST_FETCHED,
    NUMBERS,
    is_of_one_shard,
    place_of,
)
from reranker.proxy.known_bags import DocumentKey, KnownBags, document_keys
from reranker.proxy.search import Search
from reranker.proxy.term_vectors import TermVectors
from reranker.query_dsl.answer_filters import BAG_FIELD, ID_FIELD, KEY_FIELDS, LANGUAGE_FIELD, is_match
from reranker.query_dsl.source_texts import field_texts, joined, source_text
from reranker.service.text_bags import Bag, TextBags, checked_bag
from reranker.text.bags import BagOfWords
from reranker.text.exact_text import exact_keys
from reranker.upstream.calls import EngineCalls

# The engine's own limit on a page.
_MAX_LOOKED_UP = 10_000
# Packed bags that are kept unpacked, 2 KB each for some 100 words.
_MAX_PACKED = 5_000
_WITHOUT_VECTOR = {"excludes": ["nbow"]}

Hit = Mapping[str, Any]
LookUp = Callable[[Sequence[tuple[Search, bytes]]], Sequence[Any]]
"""From searches and other bodies for them to the engine's answers, in the same order."""


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


@dataclass(slots=True)
class _Window:
    """What is known of the hits of a search.

    Attributes:
        hits: with their texts or bags as far as they came with them, or were fetched.
        bags: of the hits, as far as they are found.
        unread: the places of the hits whose bags are to be found in what came with them.
        is_stored: whether these bags are those that ingest has stored, as doc values, so that there is no text.
        is_lost: not all bags can be had, and the whole window is to be asked for.
        keys: of the hits, where sequence numbers name documents.
        new: the places of those whose bags are not known by these keys.
    """

    search: Search
    hits: list[Hit]
    bags: list[Bag | None]
    unread: Sequence[int]
    is_stored: bool
    is_lost: bool
    keys: Sequence[DocumentKey | None] = ()
    new: Sequence[int] = ()


class HitTexts:
    """Collects the bags of hits; safe to share between threads.

    Args:
        is_ours: whether a named index holds bags of words of these embeddings.
        texts: what reads texts.
    """

    def __init__(self, embeddings: Embeddings, is_ours: Callable[[str], bool], texts: TextBags) -> None:
        self._is_ours = is_ours
        self._texts = texts
        self._known = KnownBags()
        self._embeddings = embeddings
        self._unpacked = lru_cache(_MAX_PACKED)(self._unpack)
        self._term_vectors = TermVectors(embeddings)

    def collect(self, searches: Sequence[Search], calls: EngineCalls, look_up: LookUp) -> list[list[Bag] | None]:
        """A bag for each hit of each window; an empty one where no text can be had. None for a bare window whose bags
        cannot all be had: the whole one is to be asked for.

        Raises:
            Fallback: the texts cannot be asked for.
        """
        if any(search.was_misread for search in searches):
            self._known.clear()
        caller = calls.incoming.caller
        is_ours = cache(self._is_ours)  # a window has one index or a few
        windows = [self._window(search, caller, is_ours) for search in searches]
        asked = [one for one in windows if one.search.bare_kind == NUMBERS and one.unread and not one.is_lost]
        if asked:
            self._fetch(asked, look_up)
        missing: list[_Missing] = []
        for number, window in enumerate(windows):
            search = window.search
            if window.is_lost or not window.unread:
                continue
            hits = [window.hits[place] for place in window.unread]
            found = self._in_doc_values(search, hits) if window.is_stored else self._in_hand(search, hits, is_ours)
            for place, hit, bag in zip(window.unread, hits, found, strict=True):
                window.bags[place] = bag
                if bag is None and window.is_stored:
                    window.is_lost = True
                elif bag is None:
                    (key,) = document_keys(search, [hit], caller, by_id=True)
                    missing.append(_Missing(search, number, place, hit, key))
        if missing:
            self._find(missing, [window.bags for window in windows], calls, look_up)
        collected: list[list[Bag] | None] = []
        for window in windows:
            if window.is_lost:
                if window.search.bare_kind == BAGS:
                    window.search.known_share = None  # no reason to wait until more are known
                collected.append(None)
                continue
            bags = [self._texts.read("") if bag is None else bag for bag in window.bags]
            if window.new:
                hits = [window.hits[place] for place in window.new]
                # There is a doc value where there is a stored bag.
                ids = [str(hit["_id"] if "_id" in hit else hit["fields"][ID_FIELD][0]) for hit in hits]
                self._known.put([(window.keys[at], bags[at], one) for at, one in zip(window.new, ids, strict=True)])
                if window.search.bare_kind == NUMBERS:
                    for place, doc_id in zip(window.new, ids, strict=True):
                        window.search.doc_ids[place] = doc_id
            collected.append(bags)
        return collected

    def _window(self, search: Search, caller: bytes, is_ours: Callable[[str], bool]) -> _Window:
        """The hits of a search. Where sequence numbers name documents, the bags are looked for that earlier searches
        have brought: a window of sequence numbers takes them from there."""
        hits: list[Hit] = list(search.window)
        search.has_stored_bags = all(map(is_ours, {str(hit.get("_index")) for hit in hits}))
        is_by_number = search.bare_kind == NUMBERS
        is_stored = search.bare_kind is not None and search.has_stored_bags
        is_lost = is_by_number or (search.bare_kind == BAGS and not is_stored)
        window = _Window(search, hits, [None] * len(hits), range(len(hits)), is_stored, is_lost)
        if not hits or NUMBERS not in search.bare_plan.kinds or search.answer is None:
            return window
        if not is_of_one_shard(search.answer.raw.parsed):
            return window
        window.keys = document_keys(search, hits, caller)
        known = self._known.get(window.keys)
        window.new = [place for place, one in enumerate(known) if one is None]
        share = 1 - len(window.new) / len(hits)
        # To fetch one bag takes a request more than a window with the bags of ours.
        search.known_share = float(share == 1) if search.has_stored_bags else share
        if is_by_number:
            window.bags = [one and one.bag for one in known]
            window.unread = window.new
            window.is_lost = not is_stored and 1 - share > MOST_FETCHED
            search.doc_ids = ["" if one is None else one.doc_id for one in known]
        return window

    def _fetch(self, windows: Sequence[_Window], look_up: LookUp) -> None:
        """Asks for the hits whose bags are not known by their sequence numbers. A window is lost if one of them is not
        there any more."""
        answers = look_up([(window.search, _numbers_body(window)) for window in windows])
        for window, answer in zip(windows, answers, strict=True):
            found = {place_of(hit): hit for hit in _hits(answer)}
            for place in window.unread:
                window.hits[place] = found.get(place_of(window.hits[place]), {})
            window.is_lost = not all(window.hits)

    def _find(self, missing: list[_Missing], bags: list[list[Bag | None]], calls: EngineCalls, look_up: LookUp) -> None:
        """Fills in the bags of hits that come without their text, as far as they can be had."""
        steps: Sequence[Callable[[list[_Missing]], list[Bag | None]]] = (
            lambda missing: [None if one is None else one.bag for one in self._known.get([one.key for one in missing])],
            lambda missing: self._looked_up(missing, look_up),
            lambda missing: self._by_term_vectors(missing, calls),
        )
        for find in steps:
            left, found = [], []
            for one, bag in zip(missing, find(missing), strict=True):
                if bag is None:
                    left.append(one)
                    continue
                bags[one.number][one.place] = bag
                found.append((one.key, bag, str(one.hit.get("_id"))))
            self._known.put(found)
            missing = left
            if not missing:
                break

    def _in_hand(self, search: Search, hits: Sequence[Hit], is_ours: Callable[[str], bool]) -> list[Bag | None]:
        """The bag that Sinkrank put into its own index, or that of the text in the hit; None where both are missing."""
        key_names = _key_names(search.read_fields)
        has_text = search.source_filter.brings(search.read_fields)
        found: list[Bag | None] = []
        for hit in hits:
            source = hit.get("_source")
            if not isinstance(source, dict):
                found.append(None)
                continue
            bag = self.packed_bag(source, key_names) if is_ours(str(hit.get("_index"))) else None
            if has_text and bag is None:
                bag = self.source_bag(source, search.weighted_fields, or_all=not search.text_fields)
            elif has_text and bag is not None and ID_FIELD not in source:  # its keys were not stored
                bag = with_exact_keys(bag[0], field_texts(source, search.read_fields)), bag[1]
            found.append(bag)
        return found

    def _in_doc_values(self, search: Search, hits: Sequence[Hit]) -> list[Bag | None]:
        """The bag that each hit of a bare window has as doc values; None where it is missing."""
        key_names = _key_names(search.read_fields)
        found: list[Bag | None] = []
        for hit in hits:
            values: Mapping[str, Sequence[Any]] = hit.get("fields") or {}
            try:
                (packed,), (language,), (_,) = values[BAG_FIELD], values[LANGUAGE_FIELD], values[ID_FIELD]
            except (KeyError, ValueError):  # one is missing, or there are several
                found.append(None)
                continue
            keys = [one[0] for name in key_names if len(one := values.get(name, ())) == 1]
            found.append(self._unpacked(packed, language, *keys))
        return found

    def packed_bag(self, source: Mapping[str, Any], key_names: Sequence[str] = ()) -> Bag | None:
        """The bag in a `_source` of an index of ours; None where there is none.

        Args:
            key_names: the fields with the keys of its title and text, as far as these count.
        """
        # Without an id of ours the keys are not known to be ours either.
        keys = [source.get(name) for name in key_names] if ID_FIELD in source else []
        packed, language = source.get(BAG_FIELD), source.get(LANGUAGE_FIELD)
        if not isinstance(packed, str) or not isinstance(language, str):
            return None
        return self._unpacked(packed, language, *[key for key in keys if isinstance(key, int)])

    def _unpack(self, packed: str, language: str, *keys: int) -> Bag | None:
        bag = checked_bag(packed, self._embeddings, frozenset(keys))
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
        bag, language = self._texts.read(joined(texts[name] for name in fields))
        if or_all and not len(bag):
            bag, language = self._texts.read(source_text(source, ()))
        return with_exact_keys(bag, texts), language

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
        language = self._texts.embeddings.document_language
        return [None if text is None else self._texts.read(text, language) for text in words]


def _identity(hit: Hit) -> tuple[Any, ...]:
    return tuple(hit.get(name) for name in ("_index", "_id", "_routing"))


def _numbers_body(window: _Window) -> bytes:
    """Asks for hits by their sequence numbers, with what a window of stored bags or a whole one has of them."""
    search, numbers = window.search, [window.hits[place].get("_seq_no") for place in window.unread]
    body: dict[str, Any] = {
        "query": {"terms": {"_seq_no": numbers}},
        "size": len(numbers),
        "seq_no_primary_term": True,
        "track_total_hits": False,
    }
    if window.is_stored:
        body |= BARE_MEMBERS[BAGS]
    else:
        widened = search.source_filter.widened
        body["_source"] = search.body.raw.parsed.get("_source", True) if widened is None else widened
    return json.dumps(body).encode()


def _look_up_body(search: Search, hits: Sequence[Hit]) -> bytes:
    ids = sorted({str(hit.get("_id")) for hit in hits})
    n_indices = len({hit.get("_index") for hit in hits})
    body = {
        "query": {"ids": {"values": ids}},
        "size": min(_MAX_LOOKED_UP, len(ids) * n_indices),
        "_source": list(search.text_fields) or _WITHOUT_VECTOR,
    }
    if "pit" in search.body.raw.parsed:  # which names the indices
        body["pit"] = search.body.raw.parsed["pit"]
    return json.dumps(body).encode()


def _hits(answer: Any) -> list[Any]:
    outer = answer.get("hits") if isinstance(answer, dict) else None
    hits = outer.get("hits") if isinstance(outer, dict) else None
    return [hit for hit in hits if isinstance(hit, dict)] if isinstance(hits, list) else []


@lru_cache(maxsize=100)
def _key_names(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the keys of the title and text, as far as these fields are read."""
    return tuple(key for name, key in KEY_FIELDS.items() if any(is_match(one.split(".")[0], name) for one in fields))


def with_exact_keys(bag: BagOfWords, texts: Mapping[str, Sequence[str]]) -> BagOfWords:
    """The bag, knowing the short ones of these texts of named fields; of none where none are named."""
    return replace(bag, exact_keys=exact_keys(chain.from_iterable(texts.values()))) if texts else bag
