"""Which words of a text are marked for a query; cosines of the tiny vocabulary: cat-chat 0.96, cat-dog 0.8,
cat-chien 0.6, dog-chat 0.936."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.ranking.matches import find_marks, find_matches
from sinkrank import Reranker


@pytest.fixture
def matches(embeddings):
    reranker = Reranker(embeddings)

    def found(query, language, text, text_language):
        read = reranker.query_with_unknown_words(query, language)
        return [
            (text[each.start : each.end], each.query_word, each.likeness)
            for each in find_matches(read, text, text_language, embeddings)
        ]

    return found


def test_a_translation_is_marked_where_it_stands_each_time(matches):
    assert matches("cat", "en", "Un chat, un Chat.", "fr") == [("chat", "cat", 0.96), ("Chat", "cat", 0.96)]


def test_a_word_far_behind_the_nearest_is_left_out(matches):
    """chien is at 0.6, less than 0.85 of 0.96; alone it is the nearest."""
    assert matches("cat", "en", "chat chien", "fr") == [("chat", "cat", 0.96)]
    assert matches("cat", "en", "chien pain", "fr") == [("chien", "cat", 0.6)]


def test_a_word_without_relation_is_not_marked_though_it_is_the_nearest(matches):
    assert matches("cat", "en", "water bread", "en") == []


def test_the_word_itself_counts_1_and_takes_the_mark_of_the_query_word_nearest_to_it(matches):
    assert matches("cat dog", "en", "a dog", "en") == [("dog", "dog", 1.0)]


def test_an_inflected_form_is_the_same_word_within_a_language(matches):
    assert matches("printing", "en", "printed it", "en") == [("printed", "printing", 1.0)]
    assert matches("printing", "en", "printed", "fr") == []


def test_a_word_without_an_embedding_is_found_by_its_letters_in_any_language(matches):
    assert matches("qqq7", "en", "le QQQ7 rouge", "fr") == [("QQQ7", "qqq7", 1.0)]


def test_places_count_characters_of_the_text_as_given(matches):
    assert matches("cat", "en", "🐈‍⬛ 😀 cat", "en") == [("cat", "cat", 1.0)]


# Without a stemmer, so that words are alike only if they are spelled alike.
WORDS = [f"{a}{b}" for a in "bdkm" for b in ("abu", "eko", "ulo")]


@pytest.fixture(scope="module")
def random_words(tmp_path_factory):
    """Twelve words in two languages with random embeddings; those of the last four are those of the first four."""
    path = tmp_path_factory.mktemp("random") / "embeddings"
    vectors = np.random.default_rng(7).normal(size=(len(WORDS), 3)).astype(np.float32)
    vectors[-4:] = vectors[:4]
    with EmbeddingsWriter(path, dim=3, source="test") as writer:
        for language in ("eo", "la"):
            writer.append(language, WORDS, vectors)
        writer.commit()
    reranker = Reranker(Embeddings.open(path))
    return reranker, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(
    query=st.lists(st.sampled_from([*WORDS, "qqq"]), min_size=1, max_size=4, unique=True),
    is_read_in_python=st.booleans(),
    texts=st.lists(st.lists(st.sampled_from([*WORDS, "qqq", "xxx"]), max_size=12), min_size=1, max_size=3),
)
def test_marks_are_those_of_the_definition(random_words, query, is_read_in_python, texts):
    """The same words, and for each query word the three nearest of the whole document, counted in plain Python."""
    reranker, rows = random_words

    def cosine(word, other):
        known = word in WORDS and other in WORDS
        return min(1.0, float(rows[WORDS.index(word)] @ rows[WORDS.index(other)])) if known else 0.0

    document = list(dict.fromkeys(word for text in texts for word in text))
    likenesses = {word: {word: 1.0} if word in query else {} for word in document}
    for asked in query:
        bound = max(0.45, 0.85 * max((cosine(word, asked) for word in document), default=0.0))
        near = [word for word in document if cosine(word, asked) >= bound - 1e-6]
        for word in sorted(near, key=lambda word: -round(cosine(word, asked), 5))[:3]:
            likenesses[word][asked] = max(cosine(word, asked), likenesses[word].get(asked, 0.0))
    expected = [[(word, max(likenesses[word].values())) for word in text if likenesses[word]] for text in texts]
    given_texts = [" ".join([*text, "字"] if is_read_in_python else text) for text in texts]
    read = reranker.query_with_unknown_words(" ".join(query), "eo")
    other, found = find_marks(read, reranker.embeddings, [["kulo"], given_texts], ["la", "la"])
    assert len(other) == 1
    marked = [
        [(text[one.start : one.end], one.likeness) for one in marks]
        for text, marks in zip(given_texts, found, strict=True)
    ]
    assert [[word for word, _ in text] for text in marked] == [[word for word, _ in text] for text in expected]
    assert [one for text in marked for _, one in text] == pytest.approx(
        [one for text in expected for _, one in text], abs=1e-5
    )
