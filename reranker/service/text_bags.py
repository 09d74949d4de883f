"""Reads texts into bags of words, each once as long as the cache knows it."""

from __future__ import annotations

from dataclasses import dataclass

from reranker.embeddings import Embeddings
from reranker.embeddings.detection import guess_language
from reranker.service.bag_cache import Bag, BagCache, text_key


@dataclass(frozen=True, slots=True)
class TextBags:
    """Safe to share between threads."""

    embeddings: Embeddings
    cache: BagCache

    def read(self, text: str, language: str | None = None) -> Bag:
        """The bag of a text, an empty one where there is no known word, and its language.

        Args:
            language: a checked code; guessed where it is None.
        """
        key = text_key(text, language or "")
        bag = self.cache.get(key)
        if bag is None:
            code = guess_language(text, self.embeddings) if language is None else language
            bag = (self.embeddings.bag(text, code), code)
            self.cache.put(key, bag)
        return bag
