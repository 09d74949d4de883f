"""Finds the terms whose embeddings stand for a token without one: one term (Balikas et al. 2018, section 3.3, the `+`
systems), or those of its parts.

The result depends only on the store and the rule, so all processes find the same terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from reranker.base.errors import WrongParameter
from reranker.embeddings.compounds import COMPOUNDING, Compounds
from reranker.embeddings.spelling import Spellings
from reranker.embeddings.stem_keys import StemKeys
from reranker.embeddings.vocabulary import Vocabulary

UnknownWordsRule = Literal["skip", "parts", "paper"]
"""Which embeddings a token without one gets:

    skip      none; the token is left out
    parts     that of the term with the same spelling in another language, the larger dictionary first; or else that of
              the most frequent term of its language at Levenshtein distance 1. In six languages
              (`reranker.embeddings.compounds`) before these that of the same word with `ä` for `ae` and so on, and
              after them those of the words that it consists of, or of which it is a form
    paper     the same spelling or the nearest alone; and a term of several languages always gets the embedding of the
              largest dictionary
"""

UNKNOWN_WORDS_RULES: tuple[UnknownWordsRule, ...] = get_args(UnknownWordsRule)

# The best of the rules that were tried (papers/results/embeddings.md).
DEFAULT_RULE: UnknownWordsRule = "parts"


def check_rule(name: str) -> UnknownWordsRule:
    """Returns the name if it is a rule.

    Raises:
        WrongParameter: it is not.
    """
    if name not in UNKNOWN_WORDS_RULES:
        raise WrongParameter(f"{name!r} is not a rule for unknown words; give one of {', '.join(UNKNOWN_WORDS_RULES)}")
    return name


class StandIns:
    """Finds terms for unknown tokens by one rule. Threads may share it.

    Args:
        stem_keys: of the vocabulary.
        mapped: languages whose terms stand only for tokens of these languages.

    Attributes:
        replaces_known: whether a token with an embedding may get another one too.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        stem_keys: StemKeys,
        folder: Path,
        rule: UnknownWordsRule,
        mapped: Sequence[str] = (),
    ) -> None:
        self._vocabulary = vocabulary
        self._stem_keys = stem_keys
        self._folder = folder
        self.rule = rule
        self.replaces_known = rule == "paper"
        n_terms = np.bincount(vocabulary.places, minlength=len(vocabulary.languages))
        # Equally large dictionaries keep the order of the store.
        self._largest_first = [vocabulary.languages[place] for place in np.argsort(-n_terms, kind="stable")]
        self._mapped = frozenset(mapped)

    def compounds_of(self, language: str) -> Compounds | None:
        """Whose other spelling of a token of a language stands for it first, and the token's parts last."""
        return self._compounds.get(language) if self.rule == "parts" else None

    @property
    def takes_nearest(self) -> bool:
        """Whether the nearest spelling may stand for a token."""
        return self.rule != "skip"

    def find(self, language: str, tokens: Sequence[str]) -> list[tuple[int, ...]]:
        """The ids of the terms that stand for each normalised token of a language of the store; none if nothing does.
        Unless `replaces_known`, the caller has looked for the tokens' own embeddings before."""
        whole = [self._find_whole(language, token) for token in tokens]
        left = [token for token, one in zip(tokens, whole, strict=True) if one is None]
        parts = iter(self._find_parts(language, left))
        return [next(parts) if one is None else (one,) for one in whole]

    def find_asked(self, language: str, tokens: Sequence[str]) -> list[tuple[int, ...]]:
        """As `find`, for tokens for which `TextReader` asks: unless `replaces_known`, C has looked for a term that
        stands for all of each."""
        return self.find(language, tokens) if self.replaces_known else self._find_parts(language, tokens)

    def _find_whole(self, language: str, token: str) -> int | None:
        """The id of a term that stands for all of a token."""
        if self.rule == "skip":
            return None
        compounds = self.compounds_of(language)
        found = None if compounds is None else compounds.respelled(token)
        if found is None:
            found = self._spelled_the_same(language, token)
        if found is None:
            found = self.spellings.nearest(language, token)
            if found is not None and self.rule == "paper":
                found = self._spelled_the_same(language, self._vocabulary.term(found)[1])
        return found

    def _find_parts(self, language: str, tokens: Sequence[str]) -> list[tuple[int, ...]]:
        compounds = self.compounds_of(language)
        return [()] * len(tokens) if compounds is None else compounds.parts(tokens)

    def _spelled_the_same(self, language: str, token: str) -> int | None:
        for other in self.same_spelling(language):
            found = self._vocabulary.find(other, token)
            if found >= 0:
                return found
        return None

    def same_spelling(self, language: str) -> list[str]:
        """The languages whose terms may stand for a token of a language that is spelled the same, in this order."""
        if self.rule == "skip":
            return []
        is_mapped = language in self._mapped
        return [other for other in self._largest_first if is_mapped or other not in self._mapped]

    @cached_property
    def spellings(self) -> Spellings:
        return Spellings.open(self._folder, self._vocabulary)

    @cached_property
    def _compounds(self) -> dict[str, Compounds]:
        languages = COMPOUNDING.keys() & set(self._vocabulary.languages)
        return {
            language: Compounds(self._vocabulary, self.spellings, self._stem_keys, language) for language in languages
        }
