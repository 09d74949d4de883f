"""Reads texts into bags of words, each once as long as the cache knows it, and packed bags that were stored.

A page of hits is looked at, and re-ranked, many times. A text in hand is known by its hash, so that what is found is
never out of date. The proxy has keys of its own for documents whose text is not in hand (`proxy/hit_texts.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import regex

from reranker.base.aged_cache import AgedCache
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import guess_languages
from reranker.text.bags import BagOfWords, unpack

Bag = tuple[BagOfWords, str]
"""A bag and its language."""

# An index that was deleted and made anew counts its sequence numbers from 0 again: so long it may be taken for the old.
MAX_AGE_S = 300.0
# 5 KB each at most: 50 MB in each process.
_MAX_BAGS = 10_000
# A language code in lower case; base64 of a packed bag, whose first byte is its format, begins with A.
_STORED = regex.compile(r"([a-z]{2,3})(A[A-Za-z0-9+/]+={0,2})")


class BagCache:
    """At most `n_bags` bags (of 500 words each at most, some 5 KB); safe to share between threads.

    Args:
        count: takes the hits and misses of each look-up.
    """

    def __init__(
        self,
        n_bags: int = _MAX_BAGS,
        clock: Callable[[], float] = time.monotonic,
        count: Callable[[int, int], None] = lambda n_hits, n_misses: None,
    ) -> None:
        self._bags: AgedCache[Hashable, Bag] = AgedCache(n_bags, MAX_AGE_S, clock)
        self._count = count

    def get(self, keys: Sequence[Hashable]) -> list[Bag | None]:
        """The bags; a key that comes again counts as a hit, as its text is read once."""
        bags = self._bags.get(keys)
        n_misses = len({key for key, bag in zip(keys, bags, strict=True) if bag is None})
        self._count(len(bags) - n_misses, n_misses)
        return bags

    def put(self, bags: Iterable[tuple[Hashable, Bag]]) -> None:
        self._bags.put(bags)


def text_key(text: str, language: str | None = None) -> Hashable:
    """The same for the same text read in the same language; None where it is guessed. Python's hash has 64 bits and a
    key of the process's own, so that no text can be made to be taken for another."""
    return hash(text), len(text), language


@dataclass(frozen=True, slots=True)
class TextBags:
    """Safe to share between threads."""

    embeddings: Embeddings
    cache: BagCache

    def read(
        self,
        texts: Sequence[str],
        languages: Sequence[str | None] | None = None,
        exact_keys: Sequence[frozenset[int]] | None = None,
    ) -> list[Bag]:
        """The bag of each text, an empty one where there is no known word, and its language.

        Args:
            languages: a checked code for each; guessed where it is None, or where there are none.
            exact_keys: of each bag; none by default.
        """
        given = languages or [None] * len(texts)
        known_by = exact_keys or [frozenset()] * len(texts)
        parts = zip(texts, given, known_by, strict=True)
        keys = [(text_key(text, language), own) for text, language, own in parts]
        found = dict(zip(keys, self.cache.get(keys), strict=True))
        new = {key: (text, language) for key, text, language in zip(keys, texts, given, strict=True) if not found[key]}
        if new:
            guessed = iter(guess_languages([text for text, own in new.values() if own is None], self.embeddings))
            codes = [next(guessed) if own is None else own for _, own in new.values()]
            bags = self.embeddings.bags([text for text, _ in new.values()], codes)
            for made, (_, own) in zip(bags, new, strict=True):
                made.exact_keys = own
            read = dict(zip(new, zip(bags, codes, strict=True), strict=True))
            self.cache.put(read.items())
            found.update(read)
        return [bag for key in keys if (bag := found[key]) is not None]


def checked_bag(packed: str, embeddings: Embeddings, exact_keys: frozenset[int] = frozenset()) -> BagOfWords | None:
    """A packed bag, with keys (`bags.unpack`); None for any other text, or for one of other embeddings.

    Term ids are checked: whoever may write to the index may have written anything.
    """
    try:
        bag = unpack(packed, exact_keys)
    except BadInput:
        return None
    return bag if bag.is_within(embeddings.n_terms) else None


def read_stored_bag(text: str, embeddings: Embeddings) -> Bag | None:
    """A document that a search pipeline sends of an index of ours, its language and its packed bag end to end; None for
    any other text."""
    match = _STORED.fullmatch(text)
    bag = None if match is None else checked_bag(match[2], embeddings)
    return None if match is None or bag is None else (bag, match[1])
