"""Which words of a text are marked for a query; cosines of the tiny vocabulary: cat-chat 0.96, cat-dog 0.8,
cat-chien 0.6, dog-chat 0.936."""

import pytest

from reranker import Reranker
from reranker.ranking.matches import find_matches
from tests.support.tiny import tiny_embeddings


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    return tiny_embeddings(tmp_path_factory.mktemp("matches") / "embeddings")


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
