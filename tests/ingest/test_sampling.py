"""The hubness sample of an index is that of its documents, however they came."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest import writing
from ingest.checkpoint import Checkpoint
from ingest.refresh import refresh
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.protocol import Store
from reranker.stores.embedded.store import EmbeddedStore
from reranker.text.bags import unpack
from reranker.text.documents import id_hash
from tests.ingest.conftest import add
from tests.ingest.runs import run, write_rows
from tests.tiny import POSITIONS

pytestmark = pytest.mark.any_engine


def queries(sample: HubnessSample, language: str, embeddings: Embeddings) -> dict[int, dict[str, int]]:
    """The words of each query, counted, by hash."""
    found = {}
    for hashed, packed in sample.languages.get(language, {}).items():
        bag = unpack(packed)
        terms = [embeddings.term(int(term_id))[1] for term_id in bag.term_ids]
        found[hashed] = dict(zip(terms, bag.counts.tolist(), strict=True))
    return found


def test_an_ingest_draws_the_first_eight_words_of_its_documents(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    add(store, index, embeddings, tmp_path, {"a": "chat le chat zzz eau pain pain pain pain voiture", "b": "zzz yyy"})
    sample = store.hubness_sample(index)
    assert sample.embeddings_version == embeddings.version
    # Of the first eight tokens (le is a stop word) zzz has no embedding; voiture is the ninth.
    assert queries(sample, "fr", embeddings) == {id_hash("a"): {"chat": 2, "eau": 1, "pain": 4}}
    refresh(store, index, embeddings)
    assert store.hubness_sample(index) == sample


def test_later_ingests_add_to_the_sample_and_a_refresh_draws_the_same(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    add(store, index, embeddings, tmp_path, {"a": "chat", "b": "eau"})
    add(store, index, embeddings, tmp_path, {"c": "pain", "b": "voiture"})
    add(store, index, embeddings, tmp_path, {"d": "cat dog"}, "en")
    sample = store.hubness_sample(index)
    assert queries(sample, "fr", embeddings) == {
        id_hash("a"): {"chat": 1},
        id_hash("b"): {"voiture": 1},
        id_hash("c"): {"pain": 1},
    }
    assert queries(sample, "en", embeddings) == {id_hash("d"): {"cat": 1, "dog": 1}}
    refresh(store, index, embeddings)
    assert store.hubness_sample(index) == sample


def test_of_many_documents_those_of_the_smallest_hashes_are_drawn_in_one_run_or_two_or_by_a_refresh(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    words = list(POSITIONS["fr"])
    texts = {f"d{number}": words[number % 5] for number in range(900)}
    first = dict(list(texts.items())[:450])
    add(store, index, embeddings, tmp_path, first)
    add(store, index, embeddings, tmp_path, {doc_id: text for doc_id, text in texts.items() if doc_id not in first})
    wanted = {id_hash(doc_id): {texts[doc_id]: 1} for doc_id in sorted(texts, key=id_hash)[:400]}
    assert queries(store.hubness_sample(index), "fr", embeddings) == wanted
    store.save_hubness_sample(index, HubnessSample())
    refresh(store, index, embeddings)
    assert queries(store.hubness_sample(index), "fr", embeddings) == wanted


def test_an_index_that_was_made_without_a_sample_gets_one_by_a_refresh_alone(
    store: Store, index: str, embeddings: Embeddings, tmp_path: Path
) -> None:
    """A sample of the documents that came later would not be one of the index."""
    add(store, index, embeddings, tmp_path, {"a": "chat"})
    store.save_hubness_sample(index, HubnessSample())
    add(store, index, embeddings, tmp_path, {"b": "eau"})
    assert store.hubness_sample(index) == HubnessSample()
    refresh(store, index, embeddings)
    assert set(queries(store.hubness_sample(index), "fr", embeddings)) == {id_hash("a"), id_hash("b")}


def test_a_run_that_was_stopped_and_goes_on_draws_of_all_its_documents(
    embedded: EmbeddedStore, embeddings: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    saved = []

    def stop_after_the_third(checkpoint: Checkpoint, settled: object) -> None:
        save(checkpoint, settled)
        saved.append(settled)
        if len(saved) == 3:
            raise Stopped

    save = Checkpoint.save
    rows = [{"id": str(number), "lang": "fr", "text": "chat eau"} for number in range(120)]
    documents = write_rows(tmp_path / "in.jsonl", rows)
    monkeypatch.setattr(writing, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(Checkpoint, "save", stop_after_the_third)
    with pytest.raises(Stopped):
        run(documents, embedded, "pets", embeddings, tmp_path)
    monkeypatch.setattr(Checkpoint, "save", save)
    assert run(documents, embedded, "pets", embeddings, tmp_path).resumed_at > 0
    assert set(embedded.hubness_sample("pets").languages["fr"]) == {id_hash(str(number)) for number in range(120)}
