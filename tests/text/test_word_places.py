"""Where the words of an explanation stand in the document's text."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reranker.ranking.explanation import explain
from reranker.text.documents import Document
from reranker.text.token_places import token_places
from reranker.text.tokens import tokenize
from sinkrank import Reranker

WORDS = {
    "tr": ["İSTANBUL", "ISPARTA", "I\u0307zmir"],
    "uk": ["п'ять", "М’ЯТА"],
    "ca": ["COL·LECCIÓ", "cel·la"],
    "ru": ["Ёлка"],
    "de": ["Straße", "STRAẞE"],
    "ar": ["مُحَمَّد", "كـتـاب", "مدينة"],
    "fa": ["كتاب", "خانهٔ"],
    "he": ["שָׁלוֹם", "\ufb2aלום"],
    "hi": ["क्\u200dष", "\u0958लम"],
    "ko": ["한국어", "\u1112\u1161\u11ab"],
    "vi": ["Vie\u0323\u0302t", "tiếng"],
    "el": ["ΛΌΓΟΣ"],
    "ja": ["ﾊﾟｿｺﾝ", "カ\uff9e"],
    "th": ["ภาษา"],
}
LANGUAGES = [*WORDS, "en", "fi", "zh", "km", "und"]
LETTERS = "".join(word for words in WORDS.values() for word in words) + "0٣８. -'·\u200d\u0307\u064eI字"


@pytest.fixture(scope="module")
def reranker(embeddings):
    return Reranker(embeddings)


def explained(reranker, query, document):
    bag = reranker.idf.weigh(reranker.embeddings.bag(document.full_text, document.language), document.language)
    return explain(reranker.query(query, "fr").weighted, bag, reranker.embeddings, document=document)


@example("م\u0650ك\u0654\u17b9", "und")  # a Khmer mark on an Arabic letter
@example("ก\u094dक", "tr")  # clusters of Unicode would take both letters together
@given(st.text() | st.text(st.sampled_from(LETTERS)), st.sampled_from(LANGUAGES))
def test_the_places_are_those_of_the_tokens(text, language):
    places = token_places(text, language)
    assert [token for token, _, _ in places] == tokenize(text, language, None)
    assert all(0 <= start < end <= len(text) for _, start, end in places)
    assert all(end <= start for (_, _, end), (_, start, _) in pairwise(places))


@given(st.lists(st.sampled_from([(language, word) for language, words in WORDS.items() for word in words])))
def test_a_word_of_any_script_stands_in_its_place_as_it_is_written(chosen):
    for language in LANGUAGES:
        words = [word for code, word in chosen if code == language]
        text = " — ".join(["🐈", *words, "字"])
        found = [text[start:end] for _, start, end in token_places(text, language)]
        assert found == [*words, "字"]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("zh", ["学生", "喜欢", "语言"]),
        ("ja", ["ｺﾝﾋﾟｭｰﾀｰ", "を", "使う"]),
        ("ja", ["ＷＯＲＤ", "の", "使い方", "8"]),
        ("th", ["ภาษา", "ไทย", "สวยงาม"]),
        ("zh", ["喜欢", "𠮷", "𠮷"]),
    ],
)
def test_words_without_spaces_between_them_stand_in_places_of_their_own(language, words):
    text = "".join(words)
    kept = [word for word in words if tokenize(word, language)]
    assert [text[start:end] for _, start, end in token_places(text, language)] == kept


@given(st.lists(st.sampled_from(["Ο ΛΌΓΟΣ", "e\u0301te\u0301", "İstanbul", "—", "🐈 cat", "12"])).map(" ".join))
def test_each_place_holds_its_token(text):
    for token, start, end in token_places(text, "en"):
        assert tokenize(text[start:end], "en") == [token]


def test_words_are_found_in_title_and_text_apart(reranker):
    document = Document("d", "A dog; the Cat, the CAT.", "en", title="Cat 🐈")
    words = {word.word: word for word in explained(reranker, "chat", document).document_words}
    assert words["cat"].in_title == [[0, 3]]
    assert [document.text[start:end] for start, end in words["cat"].in_text] == ["Cat", "CAT"]
    assert [document.text[start:end] for start, end in words["dog"].in_text] == ["dog"]


def test_a_document_without_a_title_has_places_in_its_text_alone(reranker):
    word = explained(reranker, "chat", Document("d", "cat", "en")).document_words[0]
    assert (word.in_title, word.in_text) == ([], [[0, 3]])


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto"])
def test_the_parts_of_the_document_words_sum_to_the_distance(reranker, method):
    bag = reranker.idf.weigh(reranker.embeddings.bag("cat dog bread", "en"), "en")
    found = explain(reranker.query("chat pain eau", "fr").weighted, bag, reranker.embeddings, method)
    assert sum(word.distance for word in found.document_words) == pytest.approx(found.distance, abs=1e-9)
    assert sum(word.mass for word in found.document_words) == pytest.approx(1.0)
    masses = [word.mass for word in found.document_words]
    assert masses == sorted(masses, reverse=True)
