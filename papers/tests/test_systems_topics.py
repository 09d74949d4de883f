"""Topic models: the sampler beside a slow one that follows the formula, its expectations on paper, and its systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from papers.corpora.tasks import Direction
from papers.systems.topic_sampling import Priors, Schedule, TokenStream, infer, train
from papers.systems.topics import (
    MLTM,
    TopicModel,
    TopicSystem,
    aligned_documents,
    jensen_shannon,
    relative_entropy,
    topic_euclidean,
)
from papers.tests.small_tasks import EN_EN, FR_EN, small_task
from reranker.base.errors import BadInput
from tests.demo.small_pages import page

SMALL = replace(
    MLTM, priors=Priors(2, 0.1, 0.1), training=Schedule(100, 200), inference=Schedule(25, 200), largest_vocabulary=None
)
TOPICS = {
    "fr": ("chat chien lait", "vis clou bois"),
    "en": ("cat dog milk", "screw nail wood"),
    "fi": ("kissa", "ruuvi"),
}


def two_topics(*languages: str) -> list[page]:  # type: ignore[valid-type]
    """Forty pages, each of one topic, in these languages."""
    draw = np.random.default_rng(3)
    return [
        page(str(n), language, " ".join(draw.choice(TOPICS[language][n % 2].split(), 12)))
        for n in range(40)
        for language in languages
    ]


def stream(*documents: list[int]) -> TokenStream:
    places = [place for place, words in enumerate(documents) for _ in words]
    words = [word for words in documents for word in words]
    return TokenStream(np.array(words, np.int32), np.array(places, np.int32), len(documents))


# The sampler


def test_with_one_topic_a_word_is_as_probable_as_its_smoothed_share_of_its_language() -> None:
    # Words 0 and 1 are of one language, 2 of another.
    found = train(stream([0, 0, 1, 2]), np.array([2, 1]), Priors(1, 1.0, 0.5), Schedule(3, 3), 1, lambda _: None)

    assert found[:, 0] == pytest.approx([2.5 / 4, 1.5 / 4, 1.0])


def slow_train(
    documents: list[list[int]], languages: list[int], priors: Priors, n_sweeps: int, seed: int
) -> np.ndarray:
    """As `train`, by the formula of its module, one number at a time."""
    topics = np.random.default_rng(seed).integers(priors.n_topics, size=sum(map(len, documents)), dtype=np.int32)
    tokens = [(place, word) for place, words in enumerate(documents) for word in words]
    draw = np.random.RandomState(seed + 1)

    def count(k: int, apart: int, of: str, what: int) -> int:
        key = {"document": lambda d, w: d, "word": lambda d, w: w, "language": lambda d, w: languages[w]}[of]
        return sum(topics[i] == k and i != apart and key(*tokens[i]) == what for i in range(len(tokens)))

    for _ in range(n_sweeps):
        for i, (document, word) in enumerate(tokens):
            language = languages[word]
            size = languages.count(language)
            weights = [
                (count(k, i, "document", document) + priors.alpha)
                * (count(k, i, "word", word) + priors.beta)
                / (count(k, i, "language", language) + priors.beta * size)
                for k in range(priors.n_topics)
            ]
            topics[i] = np.searchsorted(np.cumsum(weights), draw.random_sample() * sum(weights), side="right")
    return np.array(
        [
            [
                (count(k, -1, "word", word) + priors.beta)
                / (count(k, -1, "language", language) + priors.beta * languages.count(language))
                for k in range(priors.n_topics)
            ]
            for word, language in enumerate(languages)
        ]
    )


@pytest.mark.parametrize("n_topics", [2, 3, 20, 33])
def test_the_compiled_sampler_draws_what_the_formula_says(n_topics: int) -> None:
    documents = [[0, 1, 4, 4], [2, 3, 3, 5], [0, 0, 5, 1, 6]]
    priors = Priors(n_topics, 0.3, 0.2)

    found = train(stream(*documents), np.array([4, 3]), priors, Schedule(6, 6), 9, lambda _: None)

    assert found == pytest.approx(slow_train(documents, [0, 0, 0, 0, 1, 1, 1], priors, 6, 9), abs=1e-5)


def test_the_mixture_of_one_token_is_what_paper_says() -> None:
    # The token has topic 0 with probability 0.9 · (0 + alpha) / (0.9 + 0.1) / alpha; then n_0 = 1, else 0.
    alpha = 0.5
    probabilities = np.array([[0.9, 0.1]], np.float32)
    found = infer(stream([0], []), probabilities, alpha, Schedule(1, 20_000, 1), seed=4)

    assert found[0] == pytest.approx([(0.9 + alpha) / (1 + 2 * alpha), (0.1 + alpha) / (1 + 2 * alpha)], abs=0.01)
    assert np.isnan(found[1]).all()


def test_the_mixture_of_two_tokens_is_what_paper_says() -> None:
    # p(z1, z2) ∝ φ_z1 φ_z2 · alpha (1 + alpha) if z1 = z2, · alpha² if not, with alpha 1 and φ = 0.8, 0.2.
    both, one, other = 0.64 * 2, 2 * 0.16 * 1, 0.04 * 2
    expected_count = (2 * both + one) / (both + one + other)
    probabilities = np.array([[0.8, 0.2]], np.float32)
    found = infer(stream([0, 0]), probabilities, 1.0, Schedule(1, 20_000, 1), seed=4)

    assert found[0, 0] == pytest.approx((expected_count + 1) / 4, abs=0.01)


def test_the_mixture_of_a_text_does_not_depend_on_the_words_of_others() -> None:
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8]], np.float32)
    alone, beside = (
        infer(stream([0, 1, 1], other), probabilities, 0.1, Schedule(10, 20, 1), seed=1) for other in ([0], [1, 1, 0])
    )
    assert alone[0].tolist() == beside[0].tolist()


def test_progress_counts_the_sweeps() -> None:
    done: list[int] = []
    train(stream([0, 1]), np.array([2]), Priors(2, 1.0, 1.0), Schedule(30, 80, 25), 1, done.append)
    assert done == [25, 30, 55, 80]


# Divergences


@pytest.fixture(scope="module")
def mixtures() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(2)
    return draw.dirichlet(np.ones(5), 3), draw.dirichlet(np.ones(5), 4)


def test_divergences_are_those_of_scipy(mixtures: tuple[np.ndarray, np.ndarray]) -> None:
    queries, documents = mixtures
    for row, query in enumerate(queries):
        for column, document in enumerate(documents):
            assert relative_entropy(queries, documents)[row, column] == pytest.approx(entropy(query, document))
            js = jensenshannon(query, document) ** 2
            assert jensen_shannon(queries, documents)[row, column] == pytest.approx(js)
            assert topic_euclidean(queries, documents)[row, column] == pytest.approx(np.linalg.norm(query - document))


def test_mixtures_without_a_common_topic_are_log_2_apart() -> None:
    assert jensen_shannon(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])) == pytest.approx(np.log(2))


# Systems


def test_a_query_finds_the_texts_of_its_topic_in_the_other_language() -> None:
    system = TopicSystem("mltm", SMALL)
    system.fit(two_topics("fr", "en", "fi"))
    given = small_task(["lait chat", "bois vis", "zut"], ["dog milk dog", "nail wood"], ["", ""])
    found = system.distances(given).values

    assert found[0, 0] < 0.1 < 0.4 < found[0, 1]
    assert found[1, 1] < 0.1 < 0.4 < found[1, 0]
    assert np.isinf(found[2]).all()
    from_finnish = small_task(["kissa kissa"], ["dog milk dog", "nail wood"], [""], Direction("fi", "en"))
    assert np.diff(system.distances(from_finnish).values[0])[0] > 0.3


def test_bilda_has_a_model_for_each_pair_and_none_for_others() -> None:
    recipe = replace(SMALL, is_pairwise=True)
    system = TopicSystem("bilda", recipe, [FR_EN, Direction("en", "fr")])
    with pytest.raises(RuntimeError, match="call fit first"):
        system.distances(small_task(["chat"], ["cat"], [""]))
    system.fit(two_topics("fr", "en", "fi"))

    assert system.distances(small_task(["chat"], ["cat"], [""])).values.shape == (1, 1)
    with pytest.raises(BadInput, match="no model for fi-en"):
        system.distances(small_task(["kissa"], ["cat"], [""], Direction("fi", "en")))
    with pytest.raises(BadInput, match="no training page in de and en"):
        TopicSystem("bilda", recipe, [Direction("de", "en")]).fit(two_topics("fr", "en"))


def test_a_page_in_one_language_teaches_a_model_of_two_nothing() -> None:
    pages = [page("1", "fr", "chat"), page("1", "en", "cat"), page("2", "en", "dog")]

    assert aligned_documents(pages, ("en", "fr")) == [{"fr": ["chat"], "en": ["cat"]}]
    assert aligned_documents(pages, ("en",)) == [{"en": ["cat"]}, {"en": ["dog"]}]


def test_the_vocabulary_is_cut_at_the_most_frequent_words() -> None:
    recipe = replace(SMALL, largest_vocabulary=2)
    model = TopicModel.train(
        [{"en": ["cat", "dog", "cat"]}, {"en": ["ant", "dog"]}, {"fr": ["eau"]}], ["en", "fr"], recipe
    )

    assert model.word_ids == {"en": {"cat": 0, "dog": 1}, "fr": {"eau": 2}}


def test_in_one_language_it_finds_the_topics_that_scikit_learn_finds() -> None:
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    pages = two_topics("en")
    system = TopicSystem("lda", replace(SMALL, is_pairwise=True, divergence=topic_euclidean), [EN_EN])
    system.fit(pages)
    texts = [each.text for each in pages]
    counter = CountVectorizer()
    other = LatentDirichletAllocation(2, random_state=1).fit(counter.fit_transform(texts))
    theirs = other.transform(counter.transform(texts)).argmax(axis=1)

    found = system.distances(small_task(texts, texts, texts, EN_EN)).values
    same = theirs[:, None] == theirs[None, :]
    assert found[same].max() < 0.3 < 1.0 < found[~same].min()
