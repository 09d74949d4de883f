"""A refresh makes of an index that has grown what it would be if all its documents had come at once."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest

from ingest.refresh import Refreshed
from reranker.base.errors import VersionMismatch
from tests.ingest.runs import Pages, Wrapped
from tests.support.tiny import POSITIONS, write_words

pytestmark = pytest.mark.any_engine


def add(pages: Pages, *texts: str, language: str = "fr") -> None:
    """Each text under its language and itself."""
    pages.add({f"{language}/{text}": text for text in texts}, language)


def test_documents_are_weighed_with_the_figures_of_all(pages: Pages) -> None:
    add(pages, "chat eau")
    add(pages, "chat", "chat pain", "chat voiture")

    assert pages.refresh() == Refreshed(pages.name, 4, {"fr": 4}, ("fr",), 4)
    # chat stands in all 4 documents: log(5/5) = 0; eau in one: log(5/2). So the vector is that of eau alone.
    assert pages.cosine("fr/chat eau", POSITIONS["fr"]["eau"]) == pytest.approx(1, abs=1e-5)
    assert pages.figures().n_documents == 4
    assert pages.figures().idf(np.array([5, 7], np.int32)).tolist() == pytest.approx([0, log(5 / 2)])


def test_a_language_of_one_growth_leaves_the_others_as_they_were(pages: Pages) -> None:
    add(pages, "cat dog", "dog", language="en")
    add(pages, "chat chien")
    add(pages, "chien")
    done = pages.refresh()
    assert (done.changed_languages, done.reweighed) == (("fr",), 2)
    # chat: log(3/2), chien: log(3/3) = 0
    assert pages.cosine("fr/chat chien", POSITIONS["fr"]["chat"]) == pytest.approx(1, abs=1e-5)


def test_a_second_refresh_finds_nothing_to_do(pages: Pages) -> None:
    add(pages, "chat eau")
    add(pages, "chat")
    assert pages.refresh().reweighed == 2
    again = pages.refresh()
    assert (again.changed_languages, again.reweighed) == ((), 0)


def test_a_refresh_that_was_stopped_goes_on_with_the_documents_that_are_left(pages: Pages) -> None:
    add(pages, *(f"chat {number}" for number in range(40)))
    add(pages, "eau", "pain")

    class Stopping(Wrapped):
        def replace_vectors(self, index: str, vectors: Any) -> Any:
            first = [next(vectors) for _ in range(10)]
            yield from self._store.replace_vectors(index, first)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace(pages, store=Stopping(pages.store)).refresh()
    pages.store.refresh(pages.name)
    assert pages.refresh().reweighed == 32


def test_a_document_that_is_replaced_during_a_refresh_keeps_the_vector_of_its_new_text(pages: Pages) -> None:
    add(pages, "chat eau", "chat", "pain")
    # So that a refresh has something to do for each.
    add(pages, "voiture")

    class Replacing(Wrapped):
        def replace_vectors(self, index: str, vectors: Any) -> Any:
            made = list(vectors)
            pages.add({"fr/pain": "eau"})
            list(pages.store.delete(index, ["fr/chat"]))
            yield from self._store.replace_vectors(index, made)

    done = replace(pages, store=Replacing(pages.store)).refresh()
    assert (done.documents, done.reweighed) == (4, 2)
    pages.store.refresh(pages.name)
    assert pages.cosine("fr/pain", POSITIONS["fr"]["eau"]) == pytest.approx(1, abs=1e-5)
    assert pages.cosine("fr/chat", POSITIONS["fr"]["chat"]) is None


def test_after_a_deletion_the_figures_are_those_of_the_documents_that_are_left(pages: Pages) -> None:
    add(pages, "chat", "chien", "chat chien")
    list(pages.store.delete(pages.name, ["fr/chat"]))
    pages.refresh()
    assert (pages.figures().n_documents, pages.figures().counts.tolist()) == (2, [1, 2])
    # chat: log(3/2); chien: log(3/3) = 0
    assert pages.cosine("fr/chat chien", POSITIONS["fr"]["chat"]) == pytest.approx(1, abs=1e-5)


def test_an_index_of_other_embeddings_is_not_refreshed(pages: Pages) -> None:
    add(pages, "chat")
    other = write_words(pages.folder / "other", {"fr": ["chat"]})
    with pytest.raises(VersionMismatch):
        replace(pages, embeddings=other).refresh()
