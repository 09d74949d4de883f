"""Finds the bag of words of each hit of a window. Where it is to be found depends on the kind of the window:

    sequence_numbers    the cache; documents that are not in it are fetched by one search
    stored_bags         the doc values of the hit
    whole               the hit's `_source`: its bag in an index of our own, its text in any other

Where the caller's `_source` filter keeps the bag or the text back it is looked up by one search for all such hits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from mappings import BAG_FIELD, ID_FIELD, KEY_FIELDS, LANGUAGE_FIELD, RANKING_FIELDS
from reranker.base.aged_cache import AgedCache
from reranker.embeddings import Embeddings
from reranker.proxy.document_keys import DocumentKey, document_keys
from reranker.proxy.search import Search
from reranker.proxy.window import Window
from reranker.proxy.window_kinds import (
    SEQUENCE_NUMBERS,
    STORED_BAGS,
    is_of_one_shard,
    place_of,
)
from reranker.query_dsl.name_patterns import is_match
from reranker.query_dsl.source_filter import SourceFilter
from reranker.query_dsl.source_texts import source_names, source_text, texts_and_keys
from reranker.service.text_bags import MAX_AGE_S, Bag, TextBags, checked_bag
from reranker.text.bags import BagOfWords
from reranker.text.tokens import MAX_TOKENS
from reranker.upstream.answers import EngineAnswer
from reranker.upstream.calls import Fallback

# The engine's own limit on a page.
_MAX_LOOKED_UP = 10_000
# Bags that are cached by their documents: as many as by their texts (`text_bags.py`), most of which are the same. One
# of 100 words takes 4.6 kB with what ranking caches of it, its weights and mean embedding.
_MAX_DOCUMENTS = 10_000
# Packed bags that are cached unpacked, 2 KB each for some 100 words.
_MAX_PACKED = 5_000
WITHOUT_VECTOR = {"excludes": ["nbow"]}

Hit = Mapping[str, Any]
KnownBag = tuple[Bag, str]
"""The bag of a hit, and its id."""


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


class KnownHits(NamedTuple):
    """The hits of a window, and what is known of them.

    Attributes:
        likely: as `TextBags.read`.
        keys: what their documents are cached by.
        ours: the names of those of their indices that Sinkrank made.
        known: the bag and the id of each; None where they are to be looked up.
        n_cached: hits whose bags were cached for an earlier search.
    """

    window: Window
    likely: str
    keys: Sequence[DocumentKey | None]
    ours: Collection[str]
    known: Sequence[KnownBag | None]
    n_cached: int = 0

    @property
    def are_ours(self) -> bool:
        return len(self.ours) == len(self.window.index_names)

    @property
    def lacking(self) -> list[int]:
        """The places of hits that are to be looked up."""
        return [place for place, one in enumerate(self.known) if one is None]

    def look_up_body(self) -> bytes:
        """Asks for the documents of these hits."""
        search, hits = self.window.search, [self.window.hits[place] for place in self.lacking]
        # Unlike a filter, `true` does not fail an index without `_source`, which would hinder the others.
        source = WITHOUT_VECTOR if self.ours else source_names(search.text_fields) or True
        if self.window.kind is None:
            return look_up_body(search, hits, source)
        body = {
            "query": {"terms": {"_seq_no": [hit.get("_seq_no") for hit in hits]}},
            "size": len(hits),
            "seq_no_primary_term": True,
            "track_total_hits": False,
            "_source": source,
        }
        return json.dumps(body).encode()


class HitTexts:
    """Collects the bags of hits; safe to share between threads.

    Args:
        is_ours: whether a named index holds bags of words of these embeddings.
        texts: what reads texts.
    """

    def __init__(self, embeddings: Embeddings, is_ours: Callable[[str], bool], texts: TextBags) -> None:
        self._is_ours = is_ours
        self._texts = texts
        self._cached: AgedCache[DocumentKey | None, KnownBag] = AgedCache(_MAX_DOCUMENTS, MAX_AGE_S)
        self._embeddings = embeddings
        self._unpacked = lru_cache(_MAX_PACKED)(self._unpack)

    def collect(
        self, hits: Sequence[KnownHits | None], looked_up: Sequence[EngineAnswer] = ()
    ) -> list[WindowBags | None]:
        """The bags of each window; None for an ids-only window that lacks some.

        Args:
            hits: as `at_hand` gives them.
            looked_up: the answers to `look_ups` of these.

        Raises:
            Fallback: the answers lack documents.
        """
        answers = iter(looked_up)
        whole = [
            self._with_looked_up(one, next(answers)) if one is not None and None in one.known else one for one in hits
        ]
        return [None if one is None else _window_bags(one) for one in whole]

    def forget(self) -> None:
        """Empties the cache of bags by sequence numbers."""
        self._cached.clear()

    def has_bags(self, window: Window, kind: str) -> bool:
        """Whether the bags of a window's hits would be known if it were of an ids-only kind."""
        if kind == SEQUENCE_NUMBERS:
            return is_of_one_shard(window.answer.raw.parsed)
        return all(map(self._is_ours, window.index_names))

    def has_changed(self, window: Window, bags: WindowBags, place: int, source: Mapping[str, Any]) -> bool:
        """Whether the document of a hit has other words than its bag, as far as its `_source` tells.

        Args:
            source: as the caller asked for it.
        """
        own, language = bags.bags[place]
        if bags.are_ours:
            read = self._packed_bag(source, _key_names(window.search.read_fields))
        else:
            (read,) = self._in_sources(window.search, language, (), [{"_source": source}], window.search.source_filter)
        # Mostly it is the same bag, which is cached by its text too.
        return read is not None and read[0] is not own and _words(read[0]) != _words(own)

    def at_hand(self, window: Window, likely: str, caller: bytes) -> KnownHits | None:
        """What is known of the hits without another request; None where an ids-only window is of no use.

        Args:
            likely: the language of the window's query.
            caller: `caller_key` of the request.
        """
        ours = list(filter(self._is_ours, window.index_names))
        are_ours, is_of_one = len(ours) == len(window.index_names), is_of_one_shard(window.answer.raw.parsed)
        # Where nothing is guessed all languages have the same bags.
        is_guessed = not are_ours and self._language(window.search) is None
        reading = caller, likely if is_guessed else ""
        keys = document_keys(window.search, window.hits, *reading) if is_of_one else [None] * len(window.hits)
        if window.kind == STORED_BAGS:
            stored = self._in_doc_values(window) if are_ours else None
            return None if stored is None else KnownHits(window, likely, keys, ours, self._cache(keys, stored))
        cached = self._cached.get(keys)
        n_cached = len(cached) - cached.count(None)
        if window.kind == SEQUENCE_NUMBERS:
            return KnownHits(window, likely, keys, ours, cached, n_cached) if is_of_one else None
        source_filter = window.search.source_filter
        read = self._in_sources(window.search, likely, ours, window.hits, source_filter)
        bags: Sequence[Bag | None] = read if source_filter.is_partial else self._or_empty(read)
        ids = [str(hit.get("_id")) for hit in window.hits]
        own = self._cache(keys, [bag and (bag, doc_id) for bag, doc_id in zip(bags, ids, strict=True)])
        known = [one or before for one, before in zip(own, cached, strict=True)]
        return KnownHits(window, likely, keys, ours, known, n_cached)

    def _with_looked_up(self, hits: KnownHits, answer: EngineAnswer) -> KnownHits | None:
        """The hits with what was looked up; None where a document of an ids-only window is not there any more.

        Raises:
            Fallback: the answer lacks documents, and not since they were deleted after the window was answered.
        """
        window, places = hits.window, hits.lacking
        name_of = identity if window.kind is None else place_of
        by_name = {name_of(document): document for document in answer.found}
        found = [by_name.get(name_of(window.hits[place])) for place in places]
        if None in found:
            if window.kind is not None:
                return None
            if answer.is_partial or answer.total != len(answer.found):
                raise Fallback("look_up_failed", "the engine did not find the texts of all hits")
        # A hit whose text was looked up and is not there has none: its index keeps no `_source`.
        bags = self._or_empty(
            self._in_sources(window.search, hits.likely, hits.ours, [one or {} for one in found], SourceFilter())
        )
        ids = [str((one or window.hits[place]).get("_id")) for one, place in zip(found, places, strict=True)]
        keys = [hits.keys[place] if one else None for one, place in zip(found, places, strict=True)]
        new = self._cache(keys, list(zip(bags, ids, strict=True)))
        by_place = dict(zip(places, new, strict=True))
        return hits._replace(known=[one or by_place[place] for place, one in enumerate(hits.known)])

    def _or_empty(self, bags: Sequence[Bag | None]) -> list[Bag]:
        """With empty ones in place of those that are missing."""
        if all(bags):
            return bags  # type: ignore[return-value]
        (empty,) = self._texts.read([""])
        return [bag or empty for bag in bags]

    def _cache(self, keys: Sequence[DocumentKey | None], found: Sequence[KnownBag | None]) -> Sequence[KnownBag | None]:
        self._cached.put(
            (key, one) for key, one in zip(keys, found, strict=True) if key is not None and one is not None
        )
        return found

    def _in_sources(
        self, search: Search, likely: str, ours: Collection[str], hits: Sequence[Hit], source_filter: SourceFilter
    ) -> list[Bag | None]:
        """The bag that Sinkrank put into its own index, or that of the text in the hit; None where both are missing.

        Args:
            source_filter: that the hits came by.
        """
        key_names, reads_all = _key_names(search.read_fields), not search.text_fields
        is_partial, has_text = source_filter.is_partial, source_filter.brings(search.read_fields)
        # A document of ours without its bag does not count: the whole one is looked up.
        lacks_bag = not source_filter.brings(RANKING_FIELDS)
        sources = [None if lacks_bag and str(hit.get("_index")) in ours else hit.get("_source") for hit in hits]
        found: list[Bag | None] = [None] * len(sources)
        for place, (hit, source) in enumerate(zip(hits, sources, strict=True)) if ours else ():
            if isinstance(source, dict) and str(hit.get("_index")) in ours:
                found[place] = self._packed_bag(source, key_names)
        to_read = {
            place: source
            for place, (source, bag) in enumerate(zip(sources, found, strict=True))
            if bag is None and has_text and isinstance(source, dict)
        }
        language, or_all = self._language(search), reads_all and not is_partial
        bags = self._source_bags(list(to_read.values()), language, likely, search.weighted_fields, or_all)
        is_lacking = reads_all and is_partial and bool(search.weighted_fields)
        for place, bag in zip(to_read, bags, strict=True):
            # Without a known word the other strings have to be looked up.
            found[place] = None if is_lacking and not len(bag[0].term_ids) else bag
        return found

    def _in_doc_values(self, window: Window) -> list[KnownBag | None] | None:
        """The bags and ids that the hits have as doc values; None where one is missing."""
        key_names = _key_names(window.search.read_fields)
        found: list[KnownBag | None] = []
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
            found.append((bag, str(doc_id)))
        return found

    def _packed_bag(self, source: Mapping[str, Any], key_names: Sequence[str]) -> Bag | None:
        """The bag in a `_source` of an index of ours; None where there is none.

        Args:
            key_names: the fields with the keys of its title and text, as far as these count.
        """
        packed, language = source.get(BAG_FIELD), source.get(LANGUAGE_FIELD)
        if not isinstance(packed, str) or not isinstance(language, str):
            return None
        keys = [key for name in key_names if isinstance(key := source.get(name), int)]
        return self._unpacked(packed, language, *keys)

    def _unpack(self, packed: str, language: str, *keys: int) -> Bag | None:
        bag = checked_bag(packed, self._embeddings, frozenset(keys))
        return None if bag is None else (bag, language)

    def _language(self, search: Search) -> str | None:
        """The language of all texts of hits, that of the embeddings' documents; None where there are several, or where
        the caller names another one."""
        language = self._embeddings.document_language
        return language if all(one == language for one in search.languages) else None

    def _source_bags(
        self, sources: Sequence[Any], language: str | None, likely: str, fields: Sequence[str], or_all: bool
    ) -> list[Bag]:
        """The bag of each `_source`'s text and its language; an empty one where there is no known word.

        Args:
            language: guessed where it is None, and then `likely` as `TextBags.read` takes it.
            fields: that hold the text (dots for nested ones, `*` for any part); every string where there are none.
            or_all: whether every string is read where these fields hold no known word.
        """
        languages = [language] * len(sources)
        if not fields:
            return self._texts.read([source_text(source, ()) for source in sources], languages, likely=likely)
        lines, keys = texts_and_keys(sources, fields)
        bags = self._texts.read(lines, languages, keys, likely)
        if or_all:
            empty = [place for place, (bag, _) in enumerate(bags) if not len(bag.term_ids)]
            others = [source_text(sources[place], ()) for place in empty]
            read = self._texts.read(others, languages[: len(others)], [keys[place] for place in empty], likely)
            for place, bag in zip(empty, read, strict=True):
                bags[place] = bag
        return bags


def look_ups(hits: Iterable[KnownHits | None]) -> list[tuple[Search, bytes]]:
    """What is to be asked for the documents that are not at hand: a body for each window that lacks some."""
    return [(one.window.search, one.look_up_body()) for one in hits if one is not None and None in one.known]


def _window_bags(hits: KnownHits) -> WindowBags:
    known = [one for one in hits.known if one is not None]  # all of them
    return WindowBags([bag for bag, _ in known], [doc_id for _, doc_id in known], hits.are_ours, hits.n_cached)


def _words(bag: BagOfWords) -> tuple[bytes, ...]:
    """What is the same in whatever order an engine returns the members of `_source`; nothing of a text that was cut."""
    if int(bag.counts.sum()) + bag.n_unknown >= MAX_TOKENS:
        return ()
    return bag.term_ids.tobytes(), bag.counts.tobytes(), bag.unknown_hashes.tobytes()


def identity(hit: Hit) -> tuple[Any, ...]:
    """What a hit is known by in an answer that was asked for by ids."""
    return tuple(hit.get(name) for name in ("_index", "_id", "_routing"))


def look_up_body(search: Search, hits: Sequence[Hit], source: Any) -> bytes:
    """Asks for the `_source` of hits by their ids, or a part of it. Documents of other indices, or with another
    routing, may have the same ids: where that can be they are not asked for, as they would take the places."""
    ids: dict[Any, set[str]] = {}
    for hit in hits:
        ids.setdefault(hit.get("_index"), set()).add(str(hit.get("_id")))
    query = {"bool": {"should": [_named(search, index, sorted(own)) for index, own in ids.items()]}}
    if len(ids) == 1:
        (query,) = query["bool"]["should"]
    routings = {hit.get("_routing") for hit in hits}
    if None not in routings:
        query = {"bool": {"filter": [query, {"terms": {"_routing": sorted(routings)}}]}}
    body = {
        "query": query,
        "size": min(_MAX_LOOKED_UP, sum(map(len, ids.values())) * len(routings)),
        "_source": source,
    }
    if "pit" in search.body.raw.parsed:  # which names the indices
        body["pit"] = search.body.raw.parsed["pit"]
    return json.dumps(body).encode()


def _named(search: Search, index: str | None, ids: Sequence[str]) -> dict[str, Any]:
    """The query for documents of an index; of any that the search names where it is None."""
    named = {"ids": {"values": ids}}
    if index is None or search.indices == (index,):
        return named
    return {"bool": {"filter": [{"term": {"_index": index}}, named]}}


def _key_names(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the keys of the title and text, as far as these fields are read."""
    return tuple(key for name, key in KEY_FIELDS.items() if any(is_match(one.split(".")[0], name) for one in fields))
