"""Makes words, embeddings and documents from a seed, so that no trial needs other data."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from reranker.embeddings import Embeddings, EmbeddingsWriter

LANGUAGES = ("en", "fr")
N_WORDS = 600
DIM = 16
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@cache
def vocabulary(language: str, n_words: int = N_WORDS) -> list[str]:
    """Makes words of six letters, different ones for each language."""
    syllables = [consonant + vowel for consonant, vowel in itertools.product(_CONSONANTS, _VOWELS)]
    random = Random(language)
    found: dict[str, None] = {}
    while len(found) < n_words:
        found["".join(random.choices(syllables, k=3))] = None
    return list(found)


def write_embeddings(path: Path, n_words: int = N_WORDS, dim: int = DIM) -> Embeddings:
    """Makes an embedding store in which word n of one language is near word n of the other."""
    generator = np.random.default_rng(1)
    base = generator.standard_normal((n_words, dim))
    with EmbeddingsWriter(path, dim=dim, source="campaign") as writer:
        for language in LANGUAGES:
            near = base + 0.2 * generator.standard_normal(base.shape)
            near /= np.linalg.norm(near, axis=1, keepdims=True)
            writer.append(language, vocabulary(language, n_words), near.astype(np.float32))
        writer.commit()
    return Embeddings.open(path)


def documents(n: int, random: Random, prefix: str = "d") -> list[dict[str, Any]]:
    """Makes rows of JSONL: id, lang, title, a unique text and a number."""
    words = {language: vocabulary(language) for language in LANGUAGES}
    return [_document(f"{prefix}{number}", number, words, random) for number in range(n)]


def _document(doc_id: str, number: int, words: Mapping[str, list[str]], random: Random) -> dict[str, Any]:
    language = random.choice(LANGUAGES)
    text = " ".join(random.choices(words[language], k=random.randint(3, 40)))
    title = " ".join(random.choices(words[language], k=3))
    return {"id": doc_id, "lang": language, "title": title, "text": f"{text} {doc_id}", "year": 1900 + number % 120}


def query(random: Random, language: str = "en") -> str:
    """Some words."""
    return " ".join(random.choices(vocabulary(language), k=random.randint(1, 6)))


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
