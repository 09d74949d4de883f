"""A refresh makes of an index that has grown what it would be if all its documents had come at once."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.refresh import Refreshed, refresh
from reranker.base.errors import VersionMismatch
from reranker.embeddings import Embeddings
from reranker.stores.base.protocol import Store
from tests.ingest.conftest import add
from tests.ingest.runs import Wrapped
from tests.tiny import POSITIONS, write_words

pytestmark = pytest.mark.any_engine


def add_texts(
    store: Store, index: str, embeddings: Embeddings, folder: Path, *texts: str, language: str = "fr"
) -> None:
    """Each text under its language and itself."""
    add(store, index, embeddings, folder, {f"{language}/{text}": text for text in texts}, language)


def test_documents_are_weighed_with_the_figures_of_all(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    add_texts(store, index, embeddings, tmp_path, "chat eau")
    add_texts(store, index, embeddings, tmp_path, "chat", "chat pain", "chat voiture")

    done = refresh(store, index, embeddings)

    assert done == Refreshed(index, 4, {"fr": 4}, ("fr",), 4)
    # chat stands in all 4 documents: log(5/5) = 0; eau in one: log(5/2). So the vector is that of eau alone.
    nbow = store.fetch(index, "fr/chat eau").nbow
    assert nbow is not None
    np.testing.assert_allclose(nbow, POSITIONS["fr"]["eau"], atol=1e-6)
    figures = store.idf(index).languages["fr"]
    assert figures.n_documents == 4
    assert figures.idf(np.array([5, 7], np.int32)).tolist() == pytest.approx([0, log(5 / 2)])


def test_a_language_of_one_growth_leaves_the_others_as_they_were(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    add_texts(store, index, embeddings, tmp_path, "cat dog", "dog", language="en")
    add_texts(store, index, embeddings, tmp_path, "chat chien")
    add_texts(store, index, embeddings, tmp_path, "chien")
    done = refresh(store, index, embeddings)
    assert (done.changed_languages, done.reweighed) == (("fr",), 2)
    # chat: log(3/2), chien: log(3/3) = 0
    nbow = store.fetch(index, "fr/chat chien").nbow
    assert nbow is not None
    np.testing.assert_allclose(nbow, POSITIONS["fr"]["chat"], atol=1e-6)


def test_a_second_refresh_finds_nothing_to_do(store: Store, index: str, embeddings: Embeddings, tmp_path: Path) -> None:
    add_texts(store, index, embeddings, tmp_path, "chat eau")
    add_texts(store, index, embeddings, tmp_path, "chat")
    assert refresh(store, index, embeddings).reweighed == 2
    again = refresh(store, index, embeddings)
    assert (again.changed_languages, again.reweighed) == ((), 0)


def test_a_refresh_that_was_stopped_goes_on_with_the_documents_that_are_left(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    add_texts(store, index, embeddings, tmp_path, *(f"chat {number}" for number in range(40)))
    add_texts(store, index, embeddings, tmp_path, "eau", "pain")

    class Stopping(Wrapped):
        def replace_vectors(self, index: str, vectors: Any) -> Any:
            first = [next(vectors) for _ in range(10)]
            yield from store.replace_vectors(index, first)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refresh(Stopping(store), index, embeddings)  # type: ignore[arg-type]
    store.refresh(index)
    assert refresh(store, index, embeddings).reweighed == 32


def test_after_a_deletion_the_figures_are_those_of_the_documents_that_are_left(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    add_texts(store, index, embeddings, tmp_path, "chat", "chien", "chat chien")
    list(store.delete(index, ["fr/chat"]))
    refresh(store, index, embeddings)
    figures = store.idf(index).languages["fr"]
    assert (figures.n_documents, figures.counts.tolist()) == (2, [1, 2])
    nbow = store.fetch(index, "fr/chat chien").nbow
    assert nbow is not None
    # chat: log(3/2); chien: log(3/3) = 0
    np.testing.assert_allclose(nbow, POSITIONS["fr"]["chat"], atol=1e-6)
    assert float(np.linalg.norm(nbow)) == pytest.approx(sqrt(1), abs=1e-6)


def test_an_index_of_other_embeddings_is_not_refreshed(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    add_texts(store, index, embeddings, tmp_path, "chat")
    other = write_words(tmp_path / "other", {"fr": ["chat"]})
    with pytest.raises(VersionMismatch):
        refresh(store, index, other)
