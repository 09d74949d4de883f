"""Numbers for the stems of a store's terms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from reranker.embeddings import Embeddings
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


def test_keys_are_the_same_in_any_order_and_from_any_thread(embeddings: Embeddings, tmp_path: Path) -> None:
    again = Embeddings.open(tmp_path / "embeddings").stem_keys
    wanted = np.arange(9, dtype=np.int32)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: again.of_terms(wanted[::-1])[::-1].tolist(), range(8)))
    assert found == [embeddings.stem_keys.of_terms(wanted).tolist()] * 8


def test_no_terms_have_no_keys(embeddings: Embeddings) -> None:
    assert embeddings.stem_keys.of_terms(np.array([], dtype=np.int32)).tolist() == []
