"""BM25 of bags of words: expected values from bm25s, which knows nothing of our code, and by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import bm25s
import numpy as np
import pytest

from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.ranking.lexical import lexical_scores
from reranker.text.bags import BagOfWords
from reranker.text.idf import DocumentFrequencies
from reranker.text.tokens import tokenize
from tests.support.queries import query_of

# Frequent terms first, as stores have them. The stems are: cat, run, hous, walk, chat.
ENGLISH = ["cat", "running", "house", "walks", "runs", "walked", "cats", "houses"]
STEMS = dict(zip(ENGLISH, ["cat", "run", "hous", "walk", "run", "walk", "cat", "hous"], strict=True))
# No text holds two words of one stem: their document frequencies then sum to that of the stem.
TEXTS = [
    "cat cat running house",
    "cats runs runs runs walks walks",
    "house house xyzzy",
    "walked cat 8601 8601 8601",
    "houses plugh plugh",
    "running",
    "xyzzy frotz 8601",
    "",
]


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    path = tmp_path_factory.mktemp("lexical") / "embeddings"
    generator = np.random.default_rng(5)
    with EmbeddingsWriter(path, dim=4, source="tests.test_lexical") as writer:
        writer.append("en", ENGLISH, generator.normal(size=(len(ENGLISH), 4)))
        writer.append("fr", ["chat", "maison"], generator.normal(size=(2, 4)))
        writer.commit()
    return Embeddings.open(path)


def bags_of(embeddings: Embeddings, texts: Sequence[str], language: str = "en") -> list[tuple[BagOfWords, str]]:
    return [(embeddings.bag(text, language), language) for text in texts]


def counted(bags: Sequence[tuple[BagOfWords, str]]) -> DocumentFrequencies:
    return DocumentFrequencies.count(bag for bag, _ in bags)


def stems_of(text: str) -> list[str]:
    """What is counted of a text; a word without an embedding counts once in a document."""
    tokens = tokenize(text, "en")
    return [STEMS[token] for token in tokens if token in STEMS] + sorted({each for each in tokens if each not in STEMS})


@pytest.mark.parametrize(
    "query",
    ["cat", "run house", "walking cats cats", "xyzzy", "xyzzy houses 8601", "running walrus", "8601 8601 plugh"],
)
def test_scores_are_those_of_bm25s(embeddings: Embeddings, query: str) -> None:
    bags = bags_of(embeddings, TEXTS)
    found = lexical_scores(query_of(tokenize(query, "en"), "en", embeddings), bags, counted(bags))
    independent = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    # Padded to the real length with a word that no query holds: repetitions of an unknown word count for the length.
    padded = [[*stems_of(text), *["padding"] * (len(tokenize(text, "en")) - len(stems_of(text)))] for text in TEXTS]
    independent.index(padded, show_progress=False)
    stems = {"run": "run", "walking": "walk"} | STEMS
    wanted = [stems.get(token, token) for token in tokenize(query, "en")]
    expected = sum(independent.get_scores([stem]) for stem in wanted if stem in independent.vocab_dict)
    assert found == pytest.approx(expected, rel=1e-5)


def test_no_word_is_rarer_than_in_the_candidates_at_hand(embeddings: Embeddings) -> None:
    """The table counted other texts: it has no cat, and four candidates of five have one."""
    bags = bags_of(embeddings, ["cat", "cat", "cats", "cat", "house"])
    frequencies = DocumentFrequencies(100, np.array([2], np.int32), np.array([4], np.int32))
    found = lexical_scores(query_of(["cat", "house"], "en", embeddings), bags, frequencies)
    assert found is not None
    assert found[0] == pytest.approx(found[4])  # both df 4


def test_candidates_in_other_languages_have_no_score(embeddings: Embeddings) -> None:
    bags = [*bags_of(embeddings, ["cat house", "walks"]), *bags_of(embeddings, ["chat maison cat"], "fr")]
    found = lexical_scores(query_of(["cat"], "en", embeddings), bags, counted(bags[:2]))
    assert found is not None
    assert np.isnan(found).tolist() == [False, False, True]
    alone = lexical_scores(query_of(["cat"], "en", embeddings), bags[:2], counted(bags[:2]))
    assert found[:2] == pytest.approx(alone)  # nor do they change the mean length


def test_there_are_no_scores_where_none_tells_candidates_apart(embeddings: Embeddings) -> None:
    english = bags_of(embeddings, ["cat", "house"])
    assert lexical_scores(query_of(["cat"], "en", embeddings), [], counted(english)) is None
    assert lexical_scores(query_of([], "en", embeddings), english, counted(english)) is None
    assert lexical_scores(query_of(["walks"], "en", embeddings), english, counted(english)) is None
    assert lexical_scores(query_of(["chat"], "fr", embeddings), english, None) is None


def test_without_document_frequencies_rarer_words_of_the_vocabulary_count_more(tmp_path: Path) -> None:
    """Rank r of the vocabulary stands in 10 / r of all texts: all of them up to the tenth, a fifth at the fiftieth."""
    terms = ["".join(chr(ord("b") + int(digit)) for digit in f"{place:03}") for place in range(1, 101)]
    with EmbeddingsWriter(tmp_path / "embeddings", dim=4, source="tests.test_lexical") as writer:
        writer.append("sw", terms, np.random.default_rng(6).normal(size=(100, 4)))  # a language without a stemmer
        writer.commit()
    embeddings = Embeddings.open(tmp_path / "embeddings")
    of_rank = [terms[rank - 1] for rank in (9, 20, 50)]
    bags = bags_of(embeddings, [*of_rank, "xyzzy"], "sw")
    found = lexical_scores(query_of([*of_rank, "xyzzy"], "sw", embeddings), bags, None)
    # A word without an embedding is rarer than the last of the 100.
    idf = np.array([0.0, math.log(2), math.log(5), math.log(10.1)])
    assert found == pytest.approx(idf / (1 + 1.2))


def test_overlong_words_are_not_stemmed(embeddings: Embeddings) -> None:
    long = "running" * 20_000
    bags = bags_of(embeddings, [long, "cat"])
    found = lexical_scores(query_of([long], "en", embeddings), bags, counted(bags))
    assert found is not None
    assert found[0] > found[1] == 0
