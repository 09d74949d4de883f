"""Says which terms may stand for a word without an embedding (Balikas et al. 2018, section 3.3, the `+` systems).

In this order: in six languages (`reranker.embeddings.compounds`) the same word with `ä` for `ae` and so on; the term
with the same spelling in another language, the larger dictionary first; the most frequent term of its language at
Levenshtein distance 1; and in the six languages the terms that the word consists of, or of which it is a form. C looks
for all but the last (`find_own_stand_in` of `read_texts.c`).

The result depends only on the store, so all processes find the same terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from reranker.embeddings.compounds import COMPOUNDING, Compounds
from reranker.embeddings.spelling import Spellings
from reranker.embeddings.stem_keys import StemKeys
from reranker.embeddings.vocabulary import Vocabulary
from reranker.text.tokens import LONGEST_CACHED_TOKEN

# Some 150 bytes an entry, so at most 30 MB a language. Running text has fewer words of parts.
_MAX_CACHED_WORDS = 200_000


class StandIns:
    """The terms of a store, as what may stand for words. Threads may share it.

    Args:
        stem_keys: of the vocabulary.
        mapped: languages whose terms stand only for words of these languages.
    """

    def __init__(
        self, vocabulary: Vocabulary, stem_keys: StemKeys, spellings: Spellings, mapped: Sequence[str] = ()
    ) -> None:
        self._vocabulary = vocabulary
        self._stem_keys = stem_keys
        self.spellings = spellings
        n_terms = np.bincount(vocabulary.places, minlength=len(vocabulary.languages))
        # Equally large dictionaries keep the order of the store.
        self._largest_first = [vocabulary.languages[place] for place in np.argsort(-n_terms, kind="stable")]
        self._mapped = frozenset(mapped)
        self._parts: dict[str, dict[str, tuple[int, ...]]] = {language: {} for language in COMPOUNDING}

    def same_spelling(self, language: str) -> list[str]:
        """The languages whose terms may stand for a word of a language that is spelled the same, in this order."""
        is_mapped = language in self._mapped
        return [other for other in self._largest_first if is_mapped or other not in self._mapped]

    def parts(self, language: str, words: Sequence[str]) -> list[tuple[int, ...]]:
        """The terms that each word of a language of the store consists of, or of which it is a form; none for a
        language that does not write compounds as one word."""
        compounds = self.compounds.get(language)
        if compounds is None:
            return [()] * len(words)
        cached = self._parts[language]
        found = [*map(cached.get, words)]
        missing = [word for word, terms in zip(words, found, strict=True) if terms is None]
        new = dict(zip(missing, compounds.parts(missing), strict=True)) if missing else {}
        for word, terms in new.items():
            if len(word) <= LONGEST_CACHED_TOKEN:
                if len(cached) >= _MAX_CACHED_WORDS:
                    cached.clear()
                cached[word] = terms
        return [new[word] if terms is None else terms for word, terms in zip(words, found, strict=True)]

    @cached_property
    def compounds(self) -> dict[str, Compounds]:
        """By language."""
        languages = COMPOUNDING.keys() & set(self._vocabulary.languages)
        return {
            language: Compounds(self._vocabulary, self.spellings, self._stem_keys, language) for language in languages
        }
