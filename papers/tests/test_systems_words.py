"""Surface forms, word embeddings, prefetch and prune, on a handful of words worked out on paper and beside POT."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import ot
import pytest

from papers.systems import embedded
from papers.systems.corrected import order_distances, sample_of
from papers.systems.embedded import EmbeddedWords, centroids, euclidean
from papers.systems.prefetch import PrefetchAndPrune, prefetch_and_prune
from papers.systems.runs import encode
from papers.systems.surface_forms import SurfaceForms
from papers.systems.transport import Transport
from papers.tests.small_tasks import EN_EN, small_task
from reranker.base.errors import WrongParameter
from reranker.embeddings import Embeddings
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import Distances, Parameters, distances
from tests.demo.small_pages import page
from tests.support.tiny import POSITIONS, TRANSLATION_COST

WORDS = list(POSITIONS["en"])


# Surface forms


def test_tf_is_the_distance_of_counts_at_unit_length() -> None:
    found = SurfaceForms("tf").distances(small_task(["paris menu"], ["paris paris menu", "dog"], ["paris menu"]))

    cosine = (2 + 1) / sqrt(5) / sqrt(2)
    assert found.values[0, 0] == pytest.approx(sqrt(2 - 2 * cosine))
    assert np.isinf(found.values[0, 1])


def test_idf_weighs_each_side_in_its_language() -> None:
    given = small_task(["menu paris"], ["menu cat", "paris dog", "cat bread"], ["menu chat", "menu paris", "pain"])

    # menu stands in two of three French texts, paris in one; each in one English text, dog too.
    query = np.array([log(4 / 3), log(4 / 2)])
    cosine = query[1] / np.linalg.norm(query) / sqrt(2)
    assert SurfaceForms("idf").distances(given).values[0, 1] == pytest.approx(sqrt(2 - 2 * cosine))


def test_bow_has_no_unit_length_and_a_distance_to_every_text() -> None:
    found = SurfaceForms("bow").distances(small_task(["cat cat dog"], ["cat", "bread bread bread"], [""], EN_EN))

    # (2, 1, 0) against (1, 0, 0) and (0, 0, 3).
    assert found.values[0] == pytest.approx([sqrt(1 + 1), sqrt(4 + 1 + 9)])


def test_bow_df_divides_each_count_by_the_texts_that_have_the_word() -> None:
    documents = ["cat dog", "cat"]
    found = SurfaceForms("bow-df").distances(small_task(["cat cat"], documents, documents, EN_EN))

    # cat stands in both texts: (2 / 2, 0) against (1 / 2, 1) and (1 / 2, 0).
    assert found.values[0] == pytest.approx([sqrt(0.25 + 1), 0.5])


# Word embeddings


def test_nbow_tf_and_wcd_are_the_distance_of_the_means(embeddings: Embeddings) -> None:
    given = small_task(["chat eau"], ["cat water", "zebra"], ["", ""])

    # (0.96 - 0.8, 0.28 + 0.6) / 2 = (0.08, 0.44) against (1 - 0.6, 0 + 0.8) / 2 = (0.2, 0.4).
    for name in ("nbow-tf", "wcd"):
        values = EmbeddedWords(name, embeddings).distances(given).values
        assert values[0, 0] == pytest.approx(sqrt(0.12**2 + 0.04**2), abs=1e-6)
        assert np.isinf(values[0, 1])


def test_transport_moves_each_word_to_its_translation(embeddings: Embeddings) -> None:
    given = small_task(["chat eau"], ["cat water"], [""])

    for name in ("wass-tf", "wmd", "rwmd-tf"):
        values = EmbeddedWords(name, embeddings).distances(given).values
        assert values == pytest.approx(np.array([[TRANSLATION_COST]]), abs=1e-6)


def test_idf_takes_the_weight_off_a_word_that_all_texts_have(embeddings: Embeddings) -> None:
    given = small_task(["chat eau"], ["cat cat water", "cat dog"], ["chat eau", "chat chien"])

    # cat and chat stand in both texts of their language and weigh log(3 / 3) = 0: eau alone goes to water or dog.
    for name in ("wass-idf", "nbow-idf", "entro-wass-idf"):
        values = EmbeddedWords(name, embeddings).distances(given).values
        assert values[0] == pytest.approx([TRANSLATION_COST, 1.6], abs=1e-5)


def test_a_word_without_an_embedding_takes_another_in_the_forms_with_a_plus_alone(embeddings: Embeddings) -> None:
    given = small_task(["chats"], ["cat"], [""])

    for name in ("nbow-tf", "wass-tf", "entro-wass-tf"):
        assert np.isinf(EmbeddedWords(name, embeddings).distances(given).values[0, 0])
        plus = EmbeddedWords(f"{name}+", embeddings).distances(given).values
        assert plus[0, 0] == pytest.approx(TRANSLATION_COST, abs=1e-5)


@pytest.mark.parametrize(("name", "solve"), [("wass-tf", ot.emd), ("entro-wass-tf", None)])
def test_transport_agrees_with_pot(name: str, solve: object, embeddings: Embeddings) -> None:
    query, document = {"chat": 1, "eau": 1}, {"cat": 1, "dog": 2, "water": 2}
    text = [" ".join(word for word, n in bag.items() for _ in range(n)) for bag in (query, document)]
    found = EmbeddedWords(name, embeddings).distances(small_task([text[0]], [text[1]], [""])).values[0, 0]

    a, b = (np.array(list(bag.values())) / sum(bag.values()) for bag in (query, document))
    cost = np.array(
        [[np.linalg.norm(np.subtract(POSITIONS["fr"][x], POSITIONS["en"][y])) for y in document] for x in query]
    )
    plan = ot.emd(a, b, cost) if solve else ot.sinkhorn(a, b, cost, 0.1, numItermax=100_000)
    assert plan.sum() == pytest.approx(1)
    # Fifty iterations of the entropic plan are not quite all.
    assert found == pytest.approx((plan * cost).sum(), abs=1e-5 if solve else 2e-3)


def test_transport_takes_plain_iterations_however_long_the_query(
    embeddings: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Parameters] = []

    def remembering(query: WeightedBag, candidates: WeightedBags, table: np.ndarray, *rest: Any) -> Distances:
        asked.append(rest[1])
        return distances(query, candidates, table, *rest)

    monkeypatch.setattr(embedded, "distances", remembering)
    EmbeddedWords("entro-wass-tf", embeddings).distances(small_task(["chat eau"], ["cat water"], [""]))

    assert asked == [asked[0].for_query(1000)]
    assert not asked[0].over_relaxed


# Prefetch and prune


def bag(*words: str) -> WeightedBag:
    return WeightedBag(np.array([WORDS.index(word) for word in words], np.int32), np.full(len(words), 1 / len(words)))


def test_a_document_whose_bound_is_above_the_nearest_is_not_solved(embeddings: Embeddings) -> None:
    documents = [bag("bread"), bag("cat"), bag("dog")]
    found = prefetch_and_prune(bag("cat"), documents, np.array([2.0, 0.0, sqrt(0.4)]), embeddings, k=1, m=3)

    assert (found.n_solved, found.n_prefetched) == (1, 3)
    assert found.values == pytest.approx([np.nan, 0.0, np.nan], nan_ok=True)


def test_the_nearest_are_those_of_all_exact_distances_and_fewer_are_solved(embeddings: Embeddings) -> None:
    draw = np.random.default_rng(5)
    texts = [" ".join(draw.choice(WORDS, 3)) for _ in range(60)]
    given = small_task(texts[:8], texts[8:], texts[8:], EN_EN)
    pruned = PrefetchAndPrune(embeddings, k=4, m=60)
    values = pruned.distances(given).values
    exact = EmbeddedWords("wmd", embeddings).distances(given).values

    assert np.sort(values, axis=1)[:, :4] == pytest.approx(np.sort(exact, axis=1)[:, :4])
    solved = np.isfinite(values)
    assert values[solved] == pytest.approx(exact[solved])
    assert 4 / 52 <= pruned.share_solved == solved.mean() < 1


def test_a_small_m_leaves_out_what_lies_far_by_its_centroid_alone(embeddings: Embeddings) -> None:
    # The mean of cat and bread is 0: (-0.3, -0.1), of water and car, lies nearer than cat at 1. By transport cat is at
    # (0 + 2) / 2 = 1, the others at (‖cat - car‖ + ‖bread - water‖) / 2 = (sqrt(2) + sqrt(0.8)) / 2 = 1.154.
    query, documents = bag("cat", "bread"), [bag("cat"), bag("water", "car")]
    far = euclidean(centroids([query], embeddings), centroids(documents, embeddings))[0]
    few, all_ = (prefetch_and_prune(query, documents, far, embeddings, 1, m) for m in (1, 2))

    assert far == pytest.approx([1.0, sqrt(0.1)])
    assert few.values == pytest.approx([np.nan, (sqrt(2) + sqrt(0.8)) / 2], nan_ok=True)
    assert all_.values == pytest.approx([1.0, (sqrt(2) + sqrt(0.8)) / 2])


def test_a_cut_off_below_k_is_refused(embeddings: Embeddings) -> None:
    with pytest.raises(WrongParameter, match="k is 5 and m is 4"):
        PrefetchAndPrune(embeddings, 5, 4)


# Ours


def test_hubness_is_taken_off_by_the_sample_of_the_training_pages(embeddings: Embeddings) -> None:
    pages = [page(str(n), "fr", ["chat", "chien", "eau"][n % 3]) for n in range(60)]
    given = small_task(["chat"], ["cat", "car", "dog"], ["chat", "voiture", "chien"])
    plain, corrected = (Transport("relaxed", embeddings, with_hubness=with_) for with_ in (False, True))
    for each in (plain, corrected):
        each.fit(pages)

    before, after = plain.distances(given).values, corrected.distances(given).values
    encoded = encode(given, embeddings, sample_of(pages, ("fr",), embeddings))
    assert encoded.hubness is not None
    # 0.2 · the mean cosine to the nearest ten of the sample: car is near to none of it.
    assert after - before == pytest.approx(0.2 * encoded.hubness[None, :], abs=1e-6)
    assert (after - before)[0] == pytest.approx([0.2 * 0.96, 0.0, 0.2 * 0.96], abs=1e-6)
    assert after == pytest.approx(order_distances(given, embeddings, encoded.hubness, before))
