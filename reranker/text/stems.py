"""Stems words with Snowball's stemmer of their language."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from Stemmer import Stemmer

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
    """The stem of a normalised word, or the word itself if the language has no stemmer.

    >>> stem("running", "en")
    'run'
    """
    return stem_all([word], language)[0]


def stem_all(words: Sequence[str], language: str) -> Sequence[str]:
    """The stem of each word (`stem`)."""
    name = STEMMERS.get(language)
    if name is None:
        return words
    stemmer = getattr(_stemmers, name, None)
    if stemmer is None:  # a stemmer is not safe to share between threads
        stemmer = Stemmer(name, 0)  # without a cache, which costs more than stemming
        setattr(_stemmers, name, stemmer)
    stems: list[str] = stemmer.stemWords(words)
    return stems
