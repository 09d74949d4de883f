"""Numbers for the stems of a store's terms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, JoinedBags
from tests.support.tiny import write_words

ENGLISH = ["runs", "cat", "running", "cats", "run", "catalogue"]
FRENCH = ["chats", "chat", "runs"]


@pytest.fixture
def embeddings(tmp_path: Path) -> Embeddings:
    return write_words(tmp_path / "embeddings", {"en": ENGLISH, "fr": FRENCH})


def test_terms_have_one_key_if_they_have_one_stem(embeddings: Embeddings) -> None:
    keys = embeddings.stem_keys.of_terms(np.arange(6, dtype=np.int32))
    # run: 0, 2, 4; cat: 1, 3; catalogu: 5
    assert [[i for i, key in enumerate(keys) if key == each] for each in dict.fromkeys(keys)] == [
        [0, 2, 4],
        [1, 3],
        [5],
    ]


def test_a_term_is_stemmed_in_its_own_language(embeddings: Embeddings) -> None:
    keys = embeddings.stem_keys.of_terms(np.array([6, 7, 8], dtype=np.int32)).tolist()
    assert keys[0] == keys[1] == embeddings.stem_keys.of_word("chat", "sw")  # Swahili has no stemmer
    # Snowball's French leaves `run` of `runs`, which is the English stem too.
    assert keys[2] == embeddings.stem_keys.of_word("running", "en")


def test_many_stems_are_counted_as_their_definition_says(tmp_path: Path) -> None:
    words = [f"{a}{b}{end}" for a in "bdfgklmn" for b in "aeiou" for end in ("t", "ts", "ting", "r", "x")]
    keys = write_words(tmp_path / "many", {"en": words}).stem_keys
    chance = np.random.default_rng(3)
    drawn = [np.flatnonzero(chance.random(len(words)) < share).astype(np.int32) for share in (0.0, 0.2, 0.9, 0.5)]
    bags = [BagOfWords(each, chance.integers(1, 9, len(each)).astype(np.int32)) for each in drawn]
    asked = np.unique([keys.of_word(word, "en") for word in words[::3]]).astype(np.uint64)
    counts, held = keys.counts_in(JoinedBags.of(bags), asked)
    of_terms = [keys.of_terms(bag.term_ids)[:, np.newaxis] == asked for bag in bags]
    expected = [bag.counts @ is_of for bag, is_of in zip(bags, of_terms, strict=True)]
    assert counts.tolist() == np.array(expected).tolist()
    of_any = [bag.term_ids[is_of.any(axis=1)] for bag, is_of in zip(bags, of_terms, strict=True)]
    assert held.tolist() == np.concatenate(of_any).tolist()
