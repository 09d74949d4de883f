"""The hubness sample of an index is that of its documents, however they came."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ingest.sampling import draw_sample
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.protocol import WritableStore
from reranker.text.bags import unpack
from reranker.text.documents import Document, id_hash
from tests.ingest.runs import Pages, Runs, Stopping
from tests.support.commands import write_rows
from tests.support.tiny import POSITIONS

pytestmark = pytest.mark.any_engine


def queries(pages: Pages, language: str) -> dict[int, dict[str, int]]:
    """The words of each query of the index's sample, counted, by hash."""
    found = {}
    for hashed, packed in pages.sample().languages.get(language, {}).items():
        bag = unpack(packed)
        terms = [pages.embeddings.term(int(term_id))[1] for term_id in bag.term_ids]
        found[hashed] = dict(zip(terms, bag.counts.tolist(), strict=True))
    return found


def test_an_ingest_draws_the_first_eight_words_of_its_documents(pages: Pages) -> None:
    pages.add({"a": "chat le chat zzz eau pain pain pain pain voiture", "b": "zzz yyy"})
    sample = pages.sample()
    assert sample.embeddings_version == pages.embeddings.version
    # Of the first eight tokens (le is a stop word) zzz has no embedding; voiture is the ninth.
    assert queries(pages, "fr") == {id_hash("a"): {"chat": 2, "eau": 1, "pain": 4}}
    pages.refresh()
    assert pages.sample() == sample


def test_later_ingests_add_to_the_sample_and_a_refresh_draws_the_same(pages: Pages) -> None:
    pages.add({"a": "chat", "b": "eau"})
    pages.add({"c": "pain", "b": "voiture"})
    pages.add({"d": "cat dog"}, "en")
    sample = pages.sample()
    assert queries(pages, "fr") == {
        id_hash("a"): {"chat": 1},
        id_hash("b"): {"voiture": 1},
        id_hash("c"): {"pain": 1},
    }
    assert queries(pages, "en") == {id_hash("d"): {"cat": 1, "dog": 1}}
    pages.refresh()
    assert pages.sample() == sample


def test_of_many_documents_those_of_the_smallest_hashes_are_drawn_in_one_run_or_two_or_by_a_refresh(
    pages: Pages,
) -> None:
    words = list(POSITIONS["fr"])
    texts = {f"d{number}": words[number % 5] for number in range(900)}
    pages.add(dict(list(texts.items())[:450]))
    pages.add(dict(list(texts.items())[450:]))
    wanted = {id_hash(doc_id): {texts[doc_id]: 1} for doc_id in sorted(texts, key=id_hash)[:400]}
    assert queries(pages, "fr") == wanted
    pages.store.save_hubness_sample(pages.name, HubnessSample())
    pages.refresh()
    assert queries(pages, "fr") == wanted


def test_an_index_that_was_made_without_a_sample_gets_one_by_a_refresh_alone(pages: Pages) -> None:
    """A sample of the documents that came later would not be one of the index."""
    pages.add({"a": "chat"})
    pages.store.save_hubness_sample(pages.name, HubnessSample())
    pages.add({"b": "eau", "c": "zzz " * 8 + "chat"})
    assert pages.sample() == HubnessSample()
    pages.refresh()
    assert set(queries(pages, "fr")) == {id_hash("a"), id_hash("b")}


def test_long_documents_are_read_a_few_at_a_time(embeddings: Embeddings) -> None:
    lengths = []

    class LongDocuments:
        def documents(self, doc_ids: Sequence[str], *, is_strict: bool) -> dict[str, Document]:
            lengths.append(len(doc_ids))
            return {doc_id: Document(doc_id, "chat " * 400_000, "fr") for doc_id in doc_ids}

    ids = [str(number) for number in range(20)]
    sample = draw_sample(LongDocuments(), {"fr": [(-id_hash(one), one) for one in ids]}, embeddings)  # type: ignore[arg-type]
    assert set(sample.languages["fr"]) == set(map(id_hash, ids))
    assert max(lengths) == 3  # of 2 MB


def test_a_run_that_was_stopped_and_goes_on_draws_of_all_its_documents(embedded: WritableStore, runs: Runs) -> None:
    rows = [{"id": str(number), "lang": "fr", "text": "chat eau"} for number in range(120)]
    documents = write_rows(runs.folder / "in.jsonl", rows)
    with pytest.raises(KeyboardInterrupt):
        runs(Stopping(embedded, after=50), documents=documents)
    assert runs(embedded, documents=documents).already_there > 0
    drawn = embedded.open("pages").hubness_sample().languages["fr"]
    assert set(drawn) == {id_hash(str(number)) for number in range(120)}
