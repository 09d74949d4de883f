"""What evaluation measures of `auto` is what a search orders by."""

import numpy as np
import pytest

from papers.corpora.tasks import Direction, Task, make_task
from papers.systems.corrected import sample_of
from papers.systems.runs import encode, method_distances
from papers.tests.test_tasks_runs import TEXTS, translated
from reranker.text.bags import unpack
from reranker.text.idf import DocumentFrequencies, IdfTable
from sinkrank import Reranker
from sinkrank.demo.pages import Corpus
from tests.demo.small_pages import page

FR_EN = Direction("fr", "en")


@pytest.fixture
def corpus():
    """Five pages to ask and search, two of which name xyzzy; sixty to draw the sample from."""
    asked = [
        page(page_id, language, text + (" xyzzy plugh" if page_id in ("pets", "road") and language == "en" else ""))
        for page_id, english in TEXTS.items()
        for language, text in (("en", english), ("fr", translated(english) + " xyzzy" * (page_id == "pets")))
    ]
    trained = [page(f"t{number}", "fr", "chat eau" if number % 2 else "pain") for number in range(60)]
    return Corpus("tiny", ("en", "fr"), tuple(trained), tuple(asked))


def test_auto_is_measured_with_the_order_distances_of_a_search(corpus, embeddings):
    task = make_task(corpus, FR_EN, "pages")
    sample = sample_of(corpus.train_pages, {"fr"}, embeddings)
    encoded = encode(task, embeddings, sample)
    measured = method_distances(encoded, "auto")

    idf = IdfTable(
        {
            "fr": DocumentFrequencies.count([embeddings.bag_of_tokens(t, "fr") for t in task.query_side.values()]),
            "en": DocumentFrequencies.count([embeddings.bag_of_tokens(t, "en") for t in task.documents.values()]),
        }
    )
    searching = Reranker(embeddings, idf, hubness=sample)
    texts = [task.written[doc_id] for doc_id in task.documents]
    for row, query_id in enumerate(task.queries):
        ranked = searching.rerank(task.written[query_id], texts, language="fr", document_languages="en").documents
        found = {one.index: one.order_distance for one in ranked}
        assert [found[column] for column in range(5)] == pytest.approx(measured[row].tolist(), abs=1e-6)


def test_only_auto_is_corrected_and_candidates_as_all(corpus, embeddings):
    task = make_task(corpus, FR_EN, "pages")
    plain = encode(task, embeddings)
    with_sample = encode(task, embeddings, sample_of(corpus.train_pages, {"fr"}, embeddings))
    assert plain.hubness is None
    for method in ("nbow", "relaxed", "sinkhorn"):
        np.testing.assert_array_equal(method_distances(plain, method), method_distances(with_sample, method))
    everything = method_distances(with_sample, "auto")
    assert not np.allclose(everything, method_distances(plain, "auto"))
    candidates = method_distances(with_sample, "auto", depth=2)
    asked_for = ~np.isnan(candidates)
    assert asked_for.sum(axis=1).tolist() == [2] * 5
    np.testing.assert_allclose(candidates[asked_for], everything[asked_for], atol=1e-6)


def test_the_sample_is_of_the_first_eight_words_of_the_pages_in_the_languages_asked_for(embeddings):
    pages = [page("p", "fr", "chat eau pain chat eau pain chat eau voiture"), page("q", "en", "cat")]
    sample = sample_of(pages, {"fr"}, embeddings)
    assert list(sample.languages) == ["fr"]
    (packed,) = sample.languages["fr"].values()
    bag = unpack(packed)
    assert dict(zip(bag.term_ids.tolist(), bag.counts.tolist(), strict=True)) == {5: 3, 7: 3, 8: 2}


def test_a_query_without_a_known_word_stays_at_infinity(embeddings):
    query, document = {"q": ("zzz",)}, {"d": ("cat",)}
    task = Task(FR_EN, "pages", query, document, {"d": ("chat",)}, ())
    assert np.isinf(method_distances(encode(task, embeddings), "auto")).all()
