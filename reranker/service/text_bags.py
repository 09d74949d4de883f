"""Reads texts into bags of words, each once as long as the cache knows it, and packed bags that were stored.

A page of hits is looked at, and re-ranked, many times. A text in hand is known by its hash, so that what is found is
never out of date. The proxy has keys of its own for documents whose text is not in hand (`proxy/hit_texts.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
# 28 KB each at most (of 2,000 words): 280 MB in each process.
_MAX_BAGS = 10_000
# A language code in lower case; base64 of a packed bag, whose first byte is its format, begins with A.
_STORED = regex.compile(r"([a-z]{2,3})(A[A-Za-z0-9+/]+={0,2})")


# Of a text: its hash, its length, its language, the one that it is likely to be in, and the keys of its bag. Python's
# hash has 64 bits and a key of the process's own, so that no text can be made to be taken for another.
_Key = tuple[int, int, str | None, str | None, frozenset[int]]
_NO_KEYS: frozenset[int] = frozenset()


class TextBags:
    """Safe to share between threads.

    Args:
        count: takes the hits and misses of each look-up; a text that comes again is a hit.
    """

    def __init__(
        self, embeddings: Embeddings, count: Callable[[int, int], None] = lambda n_hits, n_misses: None
    ) -> None:
        self.embeddings = embeddings
        self._count = count
        self._cached: AgedCache[_Key, Bag] = AgedCache(_MAX_BAGS, MAX_AGE_S)

    def read(
        self,
        texts: Sequence[str],
        languages: Sequence[str | None] | None = None,
        exact_keys: Sequence[frozenset[int]] | None = None,
        likely: str | None = None,
    ) -> list[Bag]:
        """The bag of each text, an empty one where there is no known word, and its language.

        Args:
            languages: a checked code for each; guessed where it is None, or where there are none.
            exact_keys: of each bag; none by default.
            likely: the language of the query: of texts that fit several languages as well (`guess_language`).
        """
        given = languages or [None] * len(texts)
        likely = likely if len(self.embeddings.languages) > 1 else None
        keys = [
            (hash(text), len(text), language, likely if language is None else None, own)
            for text, language, own in zip(texts, given, exact_keys or [_NO_KEYS] * len(texts), strict=True)
        ]
        found = self._cached.get(keys)
        places = {key: place for place, (key, bag) in enumerate(zip(keys, found, strict=True)) if bag is None}
        self._count(len(texts) - len(places), len(places))
        if not places:
            return found  # type: ignore[return-value]
        new = [texts[place] for place in places.values()]
        unnamed = [text for text, (_, _, language, _, _) in zip(new, places, strict=True) if language is None]
        guessed = iter(guess_languages(unnamed, self.embeddings, () if likely is None else (likely,)))
        codes = [language or next(guessed) for _, _, language, _, _ in places]
        bags = self.embeddings.bags(new, codes)
        for bag, key in zip(bags, places, strict=True):
            bag.exact_keys = key[4]
        read = dict(zip(places, zip(bags, codes, strict=True), strict=True))
        self._cached.put(read.items())
        return [read[key] if bag is None else bag for key, bag in zip(keys, found, strict=True)]


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
