"""Words of scripts that put no space between them."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.embeddings.selection import Selection, VectorSource
from reranker.base.errors import BadEmbeddings, BadInput
from reranker.embeddings import Embeddings
from reranker.text import segmentation
from reranker.text.segmentation import can_split, split_words
from reranker.text.tokens import is_word, letter_tokens, tokenize
from tests.support.tiny import tiny_embeddings, write_words

# Words that dictionaries of these languages have, put one after another by hand.
SENTENCES = {
    "zh": ["学生", "喜欢", "自然", "语言"],
    "ja": ["東京", "の", "図書館", "で", "コンピューター", "を", "使う"],
    "th": ["ภาษา", "ไทย", "สวยงาม"],
    "lo": ["ປະເທດ", "ລາວ", "ສວຍງາມ"],
    "km": ["សូម", "ជ្រើស", "ជួរដេក"],
    "my": ["မြန်မာ", "စာ"],
}


@pytest.fixture
def without_icu(monkeypatch):
    monkeypatch.setattr(segmentation, "_word_breaker", lambda: None)


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_without_spaces_is_split_into_words(language):
    words = SENTENCES[language]
    assert split_words(["".join(words)]) == words
    assert tokenize("".join(words), language, with_stop_words=True) == words
    assert letter_tokens(f"({''.join(words)}).", "und") == words


def test_words_of_spaced_scripts_are_left_alone_and_parted_from_the_others():
    assert split_words(["кот", "officeの", "abc", "중국어"]) == ["кот", "office", "の", "abc", "중국어"]


def test_letters_beyond_the_basic_plane_are_counted_as_one():
    assert "".join(split_words(["𠮷野家で𠮷"])) == "𠮷野家で𠮷"
    assert split_words(["𠮷"]) == ["𠮷"]


def test_a_number_beside_a_long_vowel_sign_is_a_number():
    assert tokenize("サーバー8のコピー2", "und") == ["サーバー", "8", "の", "コピー", "2"]


def test_full_width_letters_and_narrow_katakana_are_found_as_others_are():
    assert tokenize("ＷＯＲＤﾊﾟｿｺﾝ", "ja") == ["word", "パソコン"]


@given(st.lists(st.text(st.sampled_from("学生語のカー゙コ𠮷ไทยสูกំរៀမြန်abж한"), min_size=1, max_size=8), max_size=4))
def test_joined_words_are_what_was_split(tokens):
    assert "".join(split_words(tokens)) == "".join(tokens)


def test_threads_find_the_same_words():
    text = ["".join(words) * 50 for words in SENTENCES.values()]
    expected = split_words(text)
    found = []
    threads = [threading.Thread(target=lambda: found.append(split_words(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


@pytest.mark.parametrize(
    ("term", "language", "is_one"),
    [
        ("学生", "zh", True),
        ("学生喜欢", "zh", False),
        ("naïve", "fr", True),
        ("हिन्दी", "hi", True),
        ("col", "ca", True),
        ("h264", "en", False),
        ("two words", "en", False),
    ],
)
def test_a_vocabulary_takes_what_a_text_can_hold_as_one_word(term, language, is_one):
    assert is_word(term, language) == is_one


def test_without_icu_texts_of_these_languages_train_nothing(without_icu):
    with pytest.raises(BadInput, match=r"in Chinese, .* pip install 'sinkrank\[words\]'"):
        letter_tokens("学生喜欢自然语言", "zh")
    assert not can_split("ja")
    assert can_split("fi")


def test_without_icu_embeddings_of_these_languages_are_refused_and_others_open(tmp_path, monkeypatch):
    tiny_embeddings(tmp_path / "tiny")
    assert write_words(tmp_path / "thai", {"th": ["ภาษา"], "en": ["language"]}).languages == ("th", "en")
    monkeypatch.setattr(segmentation, "_word_breaker", lambda: None)
    with pytest.raises(BadInput, match=r"thai hold words in Thai, .* pip install 'sinkrank\[words\]'"):
        Embeddings.open(tmp_path / "thai")
    assert Embeddings.open(tmp_path / "tiny").n_terms == 10


def test_without_icu_an_import_leaves_out_their_words_and_says_what_to_install(without_icu, tmp_path):
    selection = Selection(VectorSource(tmp_path / "wiki.zh.vec", "zh"), None, {})
    assert selection.term("学生".encode(), "line 1") is None
    with pytest.raises(
        BadEmbeddings, match=r"has no usable word \(1 words of languages .* pip install 'sinkrank\[words\]'"
    ):
        selection.check()


def test_without_icu_a_foreign_sentence_in_another_language_is_no_error(without_icu):
    assert tokenize("The word 学生喜欢 means", "en") == ["word", "学生喜欢", "means"]
