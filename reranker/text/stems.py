"""Stems words with Snowball's stemmer of their language."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from Stemmer import Stemmer

from reranker.text.tokens import LONGEST_CACHED_TOKEN

# Words of other languages stay as they are.
STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

_stemmers = threading.local()


def stem(word: str, language: str) -> str:
    """The stem of a normalised word, or the word itself if the language has no stemmer or it has more than 64 letters:
    some stemmers take a time that grows with the square of a word's length.

    >>> stem("running", "en")
    'run'
    """
    return stem_all([word], language)[0] if len(word) <= LONGEST_CACHED_TOKEN else word


def stem_all(words: Sequence[str], language: str) -> Sequence[str]:
    """The stem of each word (`stem`), however long."""
    name = STEMMERS.get(language)
    if name is None:
        return words
    stemmer = getattr(_stemmers, name, None)
    if stemmer is None:  # a stemmer is not safe to share between threads
        stemmer = Stemmer(name, 0)  # without a cache, which costs more than stemming
        setattr(_stemmers, name, stemmer)
    stems: list[str] = stemmer.stemWords(words)
    return stems
