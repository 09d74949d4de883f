"""Chooses the text of each hit, and reads it into a bag of words.

Hits of our own index carry their bags, and of other indices mostly their text. Where the caller's `_source` filter
keeps the text back it is looked up by one search for all such hits; where the index keeps no `_source`, the engine's
term vectors say which words a document has. Texts looked up are kept for when the document comes again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.proxy.answer_filters import BAG_FIELD, ID_FIELD, KEY_FIELDS, LANGUAGE_FIELD, is_match
from reranker.proxy.bare_windows import BAGS, MOST_FETCHED, NUMBERS, is_of_one_shard, place_of
from reranker.proxy.known_bags import DocumentKey, KnownBag, KnownBags, Reading
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
# Packed bags that are kept unpacked, 2 KB each for some 100 words.
_MAX_PACKED = 5_000
# In place of the text of a hit whose bag is known.
_KNOWN = "the known bag"
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
        self._checked = lru_cache(_MAX_PACKED)(partial(checked_bag, embeddings=embeddings))
        self._term_vectors = TermVectors(embeddings)

    def collect(self, searches: Sequence[Search], calls: EngineCalls, look_up: LookUp) -> list[list[Bag] | None]:
        """A bag for each hit of each window; an empty one where no text can be had. None for a bare window whose bags
        cannot all be had: the whole one is to be asked for.

        Raises:
            Fallback: the texts cannot be asked for.
        """
        if any(search.was_misread for search in searches):
            self._known.clear()
        is_ours = cache(self._is_ours)  # a window has one index or a few
        hits: list[Sequence[Hit]] = [search.window for search in searches]
        if any(search.bare_kind == NUMBERS for search in searches):
            hits = self._with_fetched(searches, calls.incoming.caller, look_up)
        bags: list[list[Bag | None]] = [
            [self._in_hand(search, hit, is_ours) for hit in found] for search, found in zip(searches, hits, strict=True)
        ]
        missing = [
            _Missing(search, number, place, hit, _document_key(search, hit, calls.incoming.caller))
            for number, search in enumerate(searches)
            for place, (hit, bag) in enumerate(zip(hits[number], bags[number], strict=True))
            if bag is None and search.bare_kind != BAGS and hit
        ]
        if missing:
            self._find(missing, bags, calls, look_up)
        empty = self._texts.read("")
        collected: list[list[Bag] | None] = []
        for search, found, row in zip(searches, hits, bags, strict=True):
            is_lost = search.bare_kind is not None and not all(
                hit if search.bare_kind == NUMBERS else bag for hit, bag in zip(found, row, strict=True)
            )
            collected.append(None if is_lost else [empty if bag is None else bag for bag in row])
            if not is_lost:
                self._note(search, found, collected[-1] or [], calls.incoming.caller, is_ours)
        return collected

    def _with_fetched(self, searches: Sequence[Search], caller: bytes, look_up: LookUp) -> list[Sequence[Hit]]:
        """The hits of each window. Those of a window of sequence numbers come with the bags that are known, the others
        are fetched; an empty hit is one that is not there, or whose window is not worth it."""
        hits: list[Sequence[Hit]] = [search.window for search in searches]
        asked: list[tuple[int, Search, Sequence[Hit]]] = []
        for number, search in enumerate(searches):
            if search.bare_kind != NUMBERS:
                continue
            known = self._known.get(_number_keys(search, search.window, caller))
            unknown = [hit for hit, one in zip(search.window, known, strict=True) if one is None]
            hits[number] = [
                {**hit, "_id": one.doc_id, _KNOWN: one.bag} if one is not None else {}
                for hit, one in zip(search.window, known, strict=True)
            ]
            search.known_share = 1 - len(unknown) / len(known) if known else None
            if unknown and len(unknown) <= len(known) * MOST_FETCHED:
                asked.append((number, search, unknown))
        if asked:
            answers = look_up([(search, _numbers_body(search, unknown)) for _, search, unknown in asked])
            for (number, search, _), answer in zip(asked, answers, strict=True):
                found = {place_of(hit): hit for hit in _hits(answer)}
                hits[number] = [
                    hit or found.get(place_of(bare), {}) for hit, bare in zip(hits[number], search.window, strict=True)
                ]
        for number, search in enumerate(searches):
            if search.bare_kind == NUMBERS:
                search.doc_ids = [str(hit.get("_id")) for hit in hits[number]]
        return hits

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
                found.append((one.key, KnownBag(bag, str(one.hit.get("_id")))))
            self._known.put(found)
            missing = left
            if not missing:
                break

    def _note(
        self, search: Search, hits: Sequence[Hit], bags: Sequence[Bag], caller: bytes, is_ours: Callable[[str], bool]
    ) -> None:
        """Keeps what the next search can be asked by: the bags by their sequence numbers, and how many were known."""
        search.has_stored_bags = all(is_ours(index) for index in {str(hit.get("_index")) for hit in hits})
        if search.has_stored_bags or NUMBERS not in search.bare_plan.kinds or search.answer is None or not hits:
            return
        if not is_of_one_shard(search.answer.raw.parsed):
            return
        keys = _number_keys(search, hits, caller)
        if search.bare_kind is None:
            found = self._known.get(keys)
            search.known_share = sum(one is not None for one in found) / len(found)
        self._known.put(
            (key, KnownBag(bag, str(hit.get("_id"))))
            for key, bag, hit in zip(keys, bags, hits, strict=True)
            if _KNOWN not in hit  # its age counts from when it was read
        )

    def _in_hand(self, search: Search, hit: Hit, is_ours: Callable[[str], bool]) -> Bag | None:
        """The bag that Sinkrank put into its own index, or that of the text in the hit; None where both are missing."""
        known: Bag | None = hit.get(_KNOWN)
        if known is not None:
            return known
        source = hit.get("_source")
        stored: Mapping[str, Any] = source if isinstance(source, dict) else {}
        if search.bare_kind == BAGS:
            stored = _doc_values(hit)
        bag = self.packed_bag(stored) if is_ours(str(hit.get("_index"))) else None
        if bag is not None and ID_FIELD in stored:  # its keys were stored, too
            return with_stored_keys(bag[0], stored, search.read_fields), bag[1]
        if search.bare_kind == BAGS:
            return None
        if not isinstance(source, dict) or not search.source_filter.brings(search.read_fields):
            return bag
        if bag is None:
            return self.source_bag(source, search.weighted_fields, or_all=not search.text_fields)
        return with_exact_keys(bag[0], field_texts(source, search.read_fields)), bag[1]

    def packed_bag(self, source: Any) -> Bag | None:
        """The bag in a `_source` of an index of ours, or in its doc values; None where there is none."""
        if not isinstance(source, Mapping):
            return None
        packed, language = source.get(BAG_FIELD), source.get(LANGUAGE_FIELD)
        if not isinstance(packed, str) or not isinstance(language, str):
            return None
        bag = self._checked(packed)
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
    """By its id: what a text that is not in hand is known by."""
    reading = Reading(caller, (), search.weighted_fields, not search.text_fields)
    return _key(reading, hit, str(hit.get("_id")))


def _number_keys(search: Search, hits: Sequence[Hit], caller: bytes) -> list[DocumentKey | None]:
    """By their sequence numbers, in an index of one shard."""
    is_in_hand = search.source_filter.is_partial and search.source_filter.brings(search.read_fields)
    within = search.source_filter.brought if is_in_hand else ()
    reading = Reading(caller, search.indices, search.weighted_fields, not search.text_fields, within)
    return [_key(reading, hit, None) for hit in hits]


def _key(reading: Reading, hit: Hit, doc_id: str | None) -> DocumentKey | None:
    index, seq_no, primary_term = place_of(hit)
    # An engine gives -2 where it knows none.
    if not isinstance(seq_no, int) or not isinstance(primary_term, int) or seq_no < 0:
        return None
    return DocumentKey(reading, index, doc_id, seq_no, primary_term)


def _numbers_body(search: Search, hits: Sequence[Hit]) -> bytes:
    """Asks for hits by their sequence numbers, with what a whole window has of them."""
    widened = search.source_filter.widened
    body = {
        "query": {"bool": {"filter": [{"terms": {"_seq_no": [hit.get("_seq_no") for hit in hits]}}]}},
        "size": len(hits),
        "seq_no_primary_term": True,
        "track_total_hits": False,
        "_source": search.body.raw.parsed.get("_source", True) if widened is None else widened,
    }
    return json.dumps(body).encode()


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


def _doc_values(hit: Hit) -> dict[str, Any]:
    """What a document of ours has as doc values, by the names in `_source`."""
    fields = hit.get("fields")
    if not isinstance(fields, dict):
        return {}
    return {name: values[0] for name, values in fields.items() if isinstance(values, list) and len(values) == 1}


@lru_cache(maxsize=100)
def _stored_keys(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the keys of the title and text, as far as these fields are read."""
    return tuple(key for name, key in KEY_FIELDS.items() if any(is_match(one.split(".")[0], name) for one in fields))


def with_stored_keys(bag: BagOfWords, stored: Mapping[str, Any], fields: tuple[str, ...]) -> BagOfWords:
    """The bag, knowing the keys that its document has of its title and text, as far as these fields are read."""
    found = [key for name in _stored_keys(fields) if isinstance(key := stored.get(name), int)]
    if not found:
        return bag
    return BagOfWords(bag.term_ids, bag.counts, bag.n_unknown, bag.unknown_hashes, frozenset(found))


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
