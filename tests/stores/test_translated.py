"""Searches for word groups in every store; the embedded store's scores against the formula by hand and FTS5's own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from math import log
from pathlib import Path

import pytest

from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import WritableStore
from reranker.text.normalization import normalize_term, spellings
from reranker.translation import Translation, WordGroup
from tests.stores.samples import ALL, fill, ids, make_document


def group(*translations: tuple[str, float], times: int = 1) -> WordGroup:
    return WordGroup("word", times, tuple(Translation(term, weight, 1) for term, weight in translations))


def test_a_document_with_any_translation_is_found_the_heaviest_first(store: WritableStore, index: str) -> None:
    texts = {"1": "a teapot on a table", "2": "a kettle on a table", "3": "a carpet on a table"}
    fill(store, index, *[make_document(doc_id, text) for doc_id, text in texts.items()])
    found = store.open(index).translated({"en": [group(("kettle", 0.9), ("teapot", 0.3))]}, 10, ALL)
    assert ids(found) == ["2", "1"]
    assert [each.first_stage_rank for each in found] == [1, 2]
    assert found[0].first_stage_score > found[1].first_stage_score > 0
    assert ids(store.open(index).translated({"en": [group(("kettle", 0.9), ("teapot", 0.3))]}, 1, ALL)) == ["2"]


def test_a_group_whose_translations_are_all_there_counts_once(store: WritableStore, index: str) -> None:
    # Two words of one group do not outweigh one word of each of two groups.
    texts = {"both": "kettle teapot table table", "each": "kettle carpet table table"}
    fill(store, index, *[make_document(doc_id, text) for doc_id, text in texts.items()])
    groups = [group(("kettle", 1.0), ("teapot", 0.5)), group(("carpet", 1.0))]
    assert ids(store.open(index).translated({"en": groups}, 10, ALL)) == ["each", "both"]


def test_translations_are_found_in_title_and_text_by_their_stem(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1", "two kettles"), make_document("2", "nothing", title="Kettles"))
    assert set(ids(store.open(index).translated({"en": [group(("kettles", 0.8))]}, 10, ALL))) == {"1", "2"}
    assert set(ids(store.open(index).translated({"en": [group(("kettle", 0.8))]}, 10, ALL))) == {"1", "2"}


def test_each_languages_groups_search_its_documents_alone(store: WritableStore, index: str) -> None:
    fill(
        store,
        index,
        make_document("en", "a chat about kettles", "en"),
        make_document("fr", "le chat noir", "fr"),
        make_document("sw", "chat asubuhi", "sw"),
        make_document("zu", "chat sawubona", "zu"),
    )
    chat = [group(("chat", 1.0))]
    assert ids(store.open(index).translated({"fr": chat}, 10, ALL)) == ["fr"]
    assert ids(store.open(index).translated({"sw": chat}, 10, ALL)) == ["sw"]
    assert set(ids(store.open(index).translated({"fr": chat, "en": chat, "de": chat}, 10, ALL))) == {"en", "fr"}
    assert ids(store.open(index).translated({"fr": chat, "en": chat}, 10, Filters.parse(["en"]))) == ["en"]


def test_filters_hold(store: WritableStore, index: str) -> None:
    fill(
        store,
        index,
        make_document("1", "a kettle", metadata={"kind": "a"}),
        make_document("2", "a kettle", metadata={"kind": "b"}),
    )
    found = store.open(index).translated({"en": [group(("kettle", 1.0))]}, 10, Filters.parse([], {"kind": "b"}))
    assert ids(found) == ["2"]


def test_no_groups_and_an_empty_index_find_nothing(store: WritableStore, index: str) -> None:
    fill(store, index)
    assert store.open(index).translated({"en": [group(("kettle", 1.0))]}, 10, ALL) == []
    fill(store, index, make_document("1", "a kettle"))
    assert store.open(index).translated({}, 10, ALL) == []
    assert store.open(index).translated({"en": []}, 10, ALL) == []
    assert store.open(index).translated({"en": [group(("teapot", 1.0))]}, 10, ALL) == []


def test_numbers_and_identifiers_are_found_whole(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1", "error 404 by h264"), make_document("2", "error 403 by h265 and h"))
    assert ids(store.open(index).translated({"en": [group(("404", 1.0))]}, 10, ALL)) == ["1"]
    assert ids(store.open(index).translated({"en": [group(("h264", 1.0))]}, 10, ALL)) == ["1"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("col·legi", "ca"),
        ("комп'ютер", "uk"),
        ("комп’ютер", "uk"),
        ("heiß", "de"),
        ("чёрный", "ru"),
        ("الإجابة", "ar"),
        ("εκτυπωτής", "el"),
    ],
)
def test_a_term_is_found_as_texts_spell_it(store: WritableStore, index: str, text: str, language: str) -> None:
    fill(store, index, make_document("1", text, language))
    term = normalize_term(text, language)
    groups = [WordGroup("word", 1, (Translation(term, 1.0, 1, spellings(term, language)),))]
    assert ids(store.open(index).translated({language: groups}, 10, ALL)) == ["1"]


def test_a_query_of_thousands_of_translations_finds_by_its_rarest_groups(store: WritableStore, index: str) -> None:
    common = [f"word{'abcdefghij'[i // 10]}{'abcdefghij'[i % 10]}" for i in range(100)]
    documents = [make_document(str(number), " ".join(common)) for number in range(3)]
    fill(store, index, *documents, make_document("rare", "walrus table"))
    many = [
        WordGroup(word, 1, (Translation(word, 1.0, 3), *(Translation(f"{word}x{'y' * i}", 0.5, 0) for i in range(20))))
        for word in common
    ]
    found = store.open(index).translated({"en": [*many, group(("walrus", 1.0))]}, 10, ALL)
    assert "rare" in ids(found)


@pytest.mark.parametrize("store_kind", ["embedded"], indirect=True)
class TestInTheEmbeddedStore:
    def test_the_score_is_bm25_of_the_weighted_sum_of_occurrences(self, store: WritableStore, index: str) -> None:
        texts = {"1": "kettle teapot teapot table", "2": "table", "3": "carpet chair", "4": "lamp", "5": "teapot"}
        fill(store, index, *[make_document(doc_id, text) for doc_id, text in texts.items()])
        found = store.open(index).translated({"en": [group(("kettle", 0.9), ("teapot", 0.5), times=2)]}, 10, ALL)
        # Documents 1 and 5 of five hold the group; nine words in five documents. Document 1 holds 0.9 + 2 * 0.5 = 1.9.
        idf = log((5 - 2 + 0.5) / (2 + 0.5))
        first = 2 * idf * 1.9 * 2.2 / (1.9 + 1.2 * (0.25 + 0.75 * 4 / (9 / 5)))
        second = 2 * idf * 0.5 * 2.2 / (0.5 + 1.2 * (0.25 + 0.75 * 1 / (9 / 5)))
        expected = {"1": first, "5": second}
        assert {each.doc_id: each.first_stage_score for each in found} == pytest.approx(expected)

    def test_words_and_groups_of_one_word_score_as_fts5_scores_them(self, store: WritableStore, index: str) -> None:
        texts = ["a kettle and a teapot", "teapots", "kettle kettle table " * 60, "lamp", "chair", "carpet"]
        fill(store, index, *[make_document(str(place), text) for place, text in enumerate(texts, start=1)])
        with closing(sqlite3.connect(Path(store.address, "store.sqlite3"))) as connection:
            select = "SELECT rowid, -bm25(words_1) FROM words_1 WHERE words_1 MATCH 'kettl OR teapot OR teapot'"
            expected = {str(row_id): score for row_id, score in connection.execute(select)}
        assert len(expected) == 3
        groups = [group(("kettle", 1.0)), group(("teapot", 1.0), times=2)]
        for found in (
            store.open(index).bm25("teapot kettle teapot", 10, ALL),
            store.open(index).translated({"en": groups}, 10, ALL),
        ):
            assert {each.doc_id: each.first_stage_score for each in found} == pytest.approx(expected)
            assert ids(found) == sorted(expected, key=expected.__getitem__, reverse=True)

    def test_words_of_one_stem_count_once_with_the_largest_weight(self, store: WritableStore, index: str) -> None:
        fill(store, index, *[make_document(str(place), text) for place, text in enumerate(["kettle", "lamp", "chair"])])
        two = store.open(index).translated({"en": [group(("kettles", 0.4), ("kettle", 0.7))]}, 10, ALL)
        one = store.open(index).translated({"en": [group(("kettle", 0.7))]}, 10, ALL)
        assert [each.first_stage_score for each in two] == [each.first_stage_score for each in one]

    def test_a_document_written_since_the_last_search_is_found(self, store: WritableStore, index: str) -> None:
        wanted = {"en": [group(("kettle", 1.0))]}
        fill(store, index, make_document("1", "a kettle"), make_document("2", "a lamp"))
        assert ids(store.open(index).translated(wanted, 10, ALL)) == ["1"]
        fill(store, index, make_document("3", "one more kettle"), make_document("1", "a carpet"))
        assert ids(store.open(index).translated(wanted, 10, ALL)) == ["3"]
        list(store.delete(index, ["3"]))
        assert store.open(index).translated(wanted, 10, ALL) == []
