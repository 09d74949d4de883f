"""Opens embeddings by another rule for words without an embedding (Balikas et al. 2018, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from reranker.embeddings import Embeddings
from reranker.text.tokens import has_digit


class WithoutStandIns(Embeddings):
    """By the rule `skip`."""

    def stand_ins(self, language: str, token: str) -> tuple[int, ...]:
        found = self.term_id(language, token)
        return () if found is None else (found,)


class OfLargestDictionary(Embeddings):
    """By the rule `paper`."""

    def stand_ins(self, language: str, token: str) -> tuple[int, ...]:
        if language not in self.languages or has_digit(token):
            return ()
        found = self._spelled_the_same(language, token)
        if found is None:
            nearest = self.unknown.spellings.nearest(language, token)
            found = None if nearest is None else self._spelled_the_same(language, self.term(nearest)[1])
        return () if found is None else (found,)

    def _spelled_the_same(self, language: str, token: str) -> int | None:
        found = (self.term_id(other, token) for other in self.unknown.same_spelling(language))
        return next((term_id for term_id in found if term_id is not None), None)


RULES: Mapping[str, type[Embeddings]] = MappingProxyType(
    {"skip": WithoutStandIns, "parts": Embeddings, "paper": OfLargestDictionary}
)
"""Which embedding a word without one gets:

    skip      none; the word is left out
    parts     that of another word, or those of its parts (`reranker.embeddings.unknown`): the rule of the product
    paper     that of the same spelling in another language, or of the nearest spelling in its own (the `+` systems);
              and a word of several languages always gets the embedding of the largest dictionary
"""


def by_rule(embeddings: Embeddings, rule: str) -> Embeddings:
    """The same store, whose `stand_ins` and `bag_of_tokens` go by a rule."""
    return RULES[rule].open(embeddings.path)
