"""What every store must do, run on each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from reranker.base.errors import BadInput, NotFound
from reranker.embeddings.hubness import HubnessSample
from reranker.stores import open_store
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import WritableStore
from reranker.stores.base.writing import WriteResult
from reranker.text.bags import BagOfWords, pack
from reranker.text.exact_text import exact_key
from reranker.text.idf import DocumentFrequencies, IdfTable
from tests.stores.conftest import EMBEDDED, ReadOnly
from tests.stores.samples import (
    ALL,
    DESCRIPTION,
    DIM,
    calls,
    cosine,
    fill,
    ids,
    make_document,
    make_index,
    query,
    write_documents,
)


def frequencies(n_documents: int, counts: dict[int, int]) -> DocumentFrequencies:
    return DocumentFrequencies(
        n_documents, np.array(list(counts), dtype=np.int32), np.array(list(counts.values()), dtype=np.int32)
    )


SAMPLE = HubnessSample(
    "e",
    {
        "en": {1: pack(BagOfWords(np.array([0, 7], np.int32), np.array([1, 2], np.int32)))},
        "el": {},
    },
)


# Indices


def test_a_new_index_is_listed_described_and_empty(store: WritableStore, index: str) -> None:
    make_index(store, index, DESCRIPTION)
    assert index in store.indices()
    assert store.open(index).description == DESCRIPTION
    assert store.open(index).count() == 0
    assert store.open(index).knn(query(1, 0, 0, 0), 10, ALL) == []
    assert store.open(index).bm25("cat", 10, ALL) == []
    assert store.open(index).idf().languages == {}


@pytest.mark.parametrize("name", ["", "Upper", "_own", "a/b", "..", "a,b", "*", "x" * 200])
def test_a_name_that_no_index_can_have_is_bad_input_everywhere(read_only: ReadOnly, name: str) -> None:
    store = read_only.store
    read_only.holding(make_document("1"))  # else there is no store
    for call in (lambda: make_index(store, name, DESCRIPTION), *calls(store, name)):
        with pytest.raises(BadInput):
            call()


def test_vectors_wider_than_the_engines_take_are_bad_input(store: WritableStore, index: str) -> None:
    with pytest.raises(BadInput, match="4096"):
        make_index(store, index, IndexDescription(embeddings_version="wide", dim=4097))


def test_whatever_is_asked_of_a_missing_index_is_not_found(read_only: ReadOnly, new_index: Any) -> None:
    store, missing = read_only.store, new_index()
    read_only.holding(make_document("1"))
    for call in calls(store, missing):
        with pytest.raises(NotFound, match=missing):
            call()
    assert missing not in store.indices()


def test_a_dropped_index_is_gone_with_its_documents_and_its_idf(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1"))
    store.save_idf(index, IdfTable({"en": frequencies(1, {7: 1})}))
    store.save_hubness_sample(index, SAMPLE)
    assert store.open(index).count() == 1
    store.drop(index)
    assert index not in store.indices()
    with pytest.raises(NotFound):
        store.open(index).count()
    make_index(store, index, DESCRIPTION)
    store.refresh(index)
    assert store.open(index).count() == 0
    assert store.open(index).idf().languages == {}
    assert store.open(index).hubness_sample() == HubnessSample()
    assert store.open(index).knn(query(1, 0, 0, 0), 10, ALL) == []


def test_two_indices_keep_their_documents_idf_and_hubness_samples_apart(
    store: WritableStore, index: str, new_index: Any
) -> None:
    other = new_index()
    fill(store, index, make_document("1", "apples"))
    fill(store, other, make_document("1", "pears"), make_document("2", "pears"))
    one, two = IdfTable({"en": frequencies(1, {1: 1})}), IdfTable({"en": frequencies(2, {1: 2})})
    store.save_idf(index, one)
    store.save_hubness_sample(index, SAMPLE)
    try:
        assert store.open(other).idf().languages == {}
        assert store.open(other).hubness_sample() == HubnessSample()
        store.save_idf(other, two)
        store.save_hubness_sample(other, HubnessSample("e"))
        assert (store.open(index).idf().version, store.open(index).hubness_sample()) == (one.version, SAMPLE)
        assert store.open(index).fetch("1").document.text == "apples"
        assert ids(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == ["1"]
        assert store.open(index).bm25("pears", 10, ALL) == []
        assert store.open(other).count() == 2
        store.drop(index)
        assert store.open(other).count() == 2
        assert (store.open(other).idf().version, store.open(other).hubness_sample()) == (
            two.version,
            HubnessSample("e"),
        )
        assert set(ids(store.open(other).bm25("pears", 10, ALL))) == {"1", "2"}
    finally:
        store.drop(other)


# Documents


def test_what_was_written_is_what_is_fetched(store: WritableStore, index: str) -> None:
    metadata = {
        "module": "swriter",
        "year": 2019,
        "weight": 0.1,
        "is_new": True,
        "nothing": None,
        "tags": ["a", "b"],
        "source": {"file": "x.xhp", "lines": [1, 2]},
    }
    bag = BagOfWords(np.array([0, 3, 199_999], np.int32), np.array([1, 65_535, 2], np.int32), n_unknown=4)
    written = make_document(
        "1",
        'Text with "quotes",\nlines and Ελληνικά.',
        "el",
        (0.1, -0.2, 0.3, 0.4),
        "Τίτλος",
        "https://a/b?c=d",
        metadata,
        bag,
    )
    fill(store, index, written)
    fetched = store.open(index).fetch("1")
    assert fetched.document == written.document
    assert fetched.bag.term_ids.tolist() == [0, 3, 199_999]
    assert fetched.bag.counts.tolist() == [1, 65_535, 2]
    assert fetched.bag.n_unknown == 4
    assert cosine(store, index, "1", (0.1, -0.2, 0.3, 0.4)) == pytest.approx(1, abs=1e-5)


def test_a_candidate_has_the_language_the_bag_and_the_title_of_its_document(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1", "un chat", "fr", title="Chats"))
    for found in (store.open(index).knn(query(1, 0, 0, 0), 1, ALL), store.open(index).bm25("chat", 1, ALL)):
        (candidate,) = found
        assert candidate.title_key == exact_key("chats")
        assert (candidate.doc_id, candidate.language, candidate.first_stage_rank) == ("1", "fr", 1)
        assert candidate.bag.term_ids.tolist() == [1, 7]
        assert candidate.bag.counts.tolist() == [1, 2]


def test_documents_are_given_by_id_as_they_were_written_without_missing_ones(store: WritableStore, index: str) -> None:
    written = [
        make_document("1", "a cat", title="On cats", url="https://a", metadata={"n": 1, "tags": ["a", "b"]}),
        make_document("ä/ö, *", "ένα κείμενο", "el", vector=None),
        make_document("3"),
    ]
    fill(store, index, *written)
    wanted = ["ä/ö, *", "1"]
    assert store.open(index).documents(wanted) == {
        one.document.doc_id: one.document for one in written if one.document.doc_id in wanted
    }
    assert store.open(index).documents([]) == {}
    assert [result.error for result in store.delete(index, ["1"])] == [None]
    store.refresh(index)
    assert list(store.open(index).documents(["1", "3", "4"])) == ["3"]


def test_which_documents_are_stored_is_known_before_searches_see_them(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1"), make_document("ä/ö, *"))
    assert [result.error for result in write_documents(store, index, [make_document("3")])] == [None]
    assert store.open(index).stored(["1", "2", "ä/ö, *", "3", ".."]) == {"1", "ä/ö, *", "3"}
    assert store.open(index).stored([]) == set()


def test_random_documents_come_from_all_of_the_index_and_are_the_same_again(read_only: ReadOnly) -> None:
    written = [make_document(str(n), f"cat {n}", "en" if n % 2 else "el", title=f"Cat {n}") for n in range(300)]
    store, index = read_only.store, read_only.holding(*written)
    by_id = {one.document.doc_id: one.document for one in written}
    drawn = store.open(index).random_documents(40)
    numbers = sorted(int(document.doc_id) for document in drawn)
    assert len(set(numbers)) == 40
    assert numbers[0] < 150 < numbers[-1]  # of 40 in one half there is one chance in 10^12
    assert drawn == [by_id[document.doc_id] for document in drawn]
    assert {document.doc_id for document in store.open(index).random_documents(40)} == set(map(str, numbers))
    assert len(store.open(index).random_documents(1_000)) == 300


def test_a_document_that_is_not_there_is_not_found(read_only: ReadOnly) -> None:
    store, index = read_only.store, read_only.holding(make_document("1"))
    for doc_id in ("2", "..", "*", "_search", "1/", ""):
        with pytest.raises(NotFound, match="no document"):
            store.open(index).fetch(doc_id)


def test_a_document_of_the_same_id_replaces_the_one_before(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1", "an old cat", "en", (1, 0, 0, 0), metadata={"state": "old"}))
    fill(store, index, make_document("1", "ένα νέο κείμενο", "el", (0, 1, 0, 0), metadata={"state": "new"}))
    assert store.open(index).count() == 1
    assert store.open(index).fetch("1").document.text == "ένα νέο κείμενο"
    assert store.open(index).bm25("cat", 10, ALL) == []
    assert ids(store.open(index).bm25("κείμενο", 10, ALL)) == ["1"]
    for gone in (Filters.parse(["en"]), Filters.parse(None, {"state": "old"})):
        assert store.open(index).knn(query(0, 1, 0, 0), 10, gone) == []
    (found,) = store.open(index).knn(query(0, 1, 0, 0), 10, Filters.parse(["el"], {"state": "new"}))
    assert found.first_stage_score == pytest.approx(1, abs=1e-5)


def test_a_document_that_lost_its_vector_is_no_longer_found_by_it(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1"), make_document("2"))
    assert len(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == 2
    fill(store, index, make_document("1", vector=None))
    assert ids(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == ["2"]


def test_documents_are_read_as_a_stream_and_answered_in_order(store: WritableStore, index: str) -> None:
    make_index(store, index, DESCRIPTION)
    n_read = 0

    def stream() -> Any:
        nonlocal n_read
        for number in range(1201):
            n_read += 1
            yield make_document(str(number), vector=(1, number, 0, 0))

    results = write_documents(store, index, stream())
    assert n_read == 0
    assert next(results) == WriteResult("0")
    assert n_read < 1201
    assert [result.doc_id for result in results] == [str(number) for number in range(1, 1201)]
    store.refresh(index)
    assert store.open(index).count() == 1201


DOC_IDS = ["ä/ö ü", "https://a.b/c?d=e&f#g", "日本", "a,b*", "..", "_id", " ", '"', "x" * 512, "é" * 256]


def test_an_id_may_be_any_text_of_512_bytes(store: WritableStore, index: str) -> None:
    fill(store, index, *(make_document(doc_id, f"a cat {n}") for n, doc_id in enumerate(DOC_IDS)))
    for n, doc_id in enumerate(DOC_IDS):
        found = store.open(index).fetch(doc_id).document
        assert (found.doc_id, found.text) == (doc_id, f"a cat {n}")
    assert set(ids(store.open(index).bm25("cat", 20, ALL))) == set(DOC_IDS)


def test_a_value_that_contradicts_its_fields_type_never_takes_others_with_it(
    store: WritableStore, store_kind: str, index: str
) -> None:
    make_index(store, index, DESCRIPTION)
    results = list(
        write_documents(
            store,
            index,
            [
                make_document("number", metadata={"size": 3}),
                make_document("text", metadata={"size": "large"}),
                make_document("other", metadata={"size": 4}),
            ],
        )
    )
    assert [result.doc_id for result in results] == ["number", "text", "other"]
    store.refresh(index)
    if store_kind == EMBEDDED:  # it has no types
        assert [result.error for result in results] == [None, None, None]
    else:
        assert "size" in (results[1].error or "")
        assert results[0].error is None
        assert results[2].error is None
        assert store.open(index).count() == 2


# Nearest neighbours


def test_nearest_documents_come_in_the_order_of_their_exact_cosines(store: WritableStore, index: str) -> None:
    random = np.random.default_rng(7)
    vectors = random.standard_normal((60, DIM)).astype(np.float32)
    fill(store, index, *(make_document(str(row), vector=vector) for row, vector in enumerate(vectors)))
    wanted = query(0.3, -0.2, 0.9, 0.1)
    cosines = vectors @ wanted / np.linalg.norm(vectors, axis=1)
    expected = np.argsort(-cosines)[:20]
    found = store.open(index).knn(wanted, 20, ALL)
    assert ids(found) == [str(row) for row in expected]
    np.testing.assert_allclose([one.first_stage_score for one in found], cosines[expected], atol=1e-5)
    assert [one.first_stage_rank for one in found] == list(range(1, 21))


def test_the_score_is_the_cosine_also_where_it_is_negative(store: WritableStore, index: str) -> None:
    fill(
        store,
        index,
        make_document("same", vector=(3, 4, 0, 0)),
        make_document("across", vector=(-4, 3, 0, 0)),
        make_document("opposite", vector=(-3, -4, 0, 0)),
    )
    found = store.open(index).knn(query(3, 4, 0, 0), 10, ALL)
    assert ids(found) == ["same", "across", "opposite"]
    assert [one.first_stage_score for one in found] == pytest.approx([1, 0, -1], abs=1e-5)


def test_a_depth_larger_than_the_index_finds_all_of_it(store: WritableStore, index: str) -> None:
    fill(store, index, *(make_document(str(number), "a cat") for number in range(3)))
    assert len(store.open(index).knn(query(1, 0, 0, 0), 1000, ALL)) == 3
    assert len(store.open(index).bm25("cat", 1000, ALL)) == 3
    assert len(store.open(index).knn(query(1, 0, 0, 0), 2, ALL)) == 2
    assert len(store.open(index).bm25("cat", 2, ALL)) == 2


def test_a_document_without_a_known_word_is_found_by_bm25_only(store: WritableStore, index: str) -> None:
    empty = BagOfWords(np.empty(0, np.int32), np.empty(0, np.int32), n_unknown=1)
    fill(store, index, make_document("1", "xyzzy", vector=None, bag=empty), make_document("2", "cat"))
    assert ids(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == ["2"]
    (found,) = store.open(index).bm25("xyzzy", 10, ALL)
    assert found.doc_id == "1"
    assert len(found.bag) == 0


def test_filters_leave_as_many_neighbours_as_there_are(store: WritableStore, index: str) -> None:
    fill(
        store,
        index,
        *(
            make_document(str(number), vector=(1, number, 0, 0), metadata={"kind": "far" if number >= 90 else "near"})
            for number in range(100)
        ),
    )
    found = store.open(index).knn(query(1, 0, 0, 0), 5, Filters.parse(None, {"kind": "far"}))
    assert ids(found) == ["90", "91", "92", "93", "94"]


# BM25


WRITTEN = (
    make_document("red", "a red house", title="Zebra"),
    make_document("green", "a green tree"),
    make_document("404", "error 404 in module"),
    make_document("error", "error in module"),
    make_document("1.2.3", "release 1.2.3 with h264"),
    make_document("1.2.4", "release 1.2.4 with h265"),
    make_document("part", "release of part SKU-00001"),
    # Languages without an analyzer.
    make_document("sw", "habari ya asubuhi", "sw"),
    make_document("zu", "sawubona", "zu"),
    make_document("tea", "我喜欢喝绿茶", "zh"),
    make_document("book", "他在读书", "zh"),
)


@pytest.mark.parametrize(
    ("text", "languages", "expected"),
    [
        ("zebra", None, ["red"]),
        ("green", None, ["green"]),
        ("HOUSE", None, ["red"]),
        ("submarine", None, []),
        ("404", None, ["404"]),
        ("SKU-00001", None, ["part"]),
        ("asubuhi", None, ["sw"]),
        ("sawubona", ["zu"], ["zu"]),
        ("sawubona", ["sw"], []),
        ("绿茶", None, ["tea"]),
    ],
)
def test_bm25_finds_words_numbers_and_parts_of_sentences_in_title_and_text(
    read_only: ReadOnly, text: str, languages: list[str] | None, expected: list[str]
) -> None:
    index = read_only.holding(*WRITTEN)
    assert ids(read_only.store.open(index).bm25(text, 10, Filters.parse(languages))) == expected


@pytest.mark.parametrize(("text", "first"), [("1.2.4", "1.2.4"), ("h264", "1.2.3")])
def test_bm25_finds_versions_and_identifiers_first(read_only: ReadOnly, text: str, first: str) -> None:
    assert ids(read_only.store.open(read_only.holding(*WRITTEN)).bm25(text, 10, ALL))[0] == first


# A text, and another form of its last word.
STEMS = {
    "en": ("the horse runs", "running"),
    "fr": ("les maisons", "maison"),
    "fi": ("talossa", "talo"),
    "de": ("die Häuser", "häusern"),
    "el": ("οι λόγοι", "λόγος"),
}


@pytest.mark.parametrize("language", STEMS)
def test_bm25_finds_by_the_stem_of_each_language(read_only: ReadOnly, language: str) -> None:
    texts = [make_document(code, text, code) for code, (text, _) in STEMS.items()]
    others = [make_document(f"{code}, other", "nothing of it", code) for code in STEMS]
    index, wanted = read_only.holding(*texts, *others), Filters.parse([language])
    text, sought = STEMS[language]
    assert ids(read_only.store.open(index).bm25(sought, 10, wanted)) == [language]
    assert ids(read_only.store.open(index).bm25(text.split()[-1], 10, wanted)) == [language]


def test_the_final_sigma_of_greek_is_a_sigma(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1", "Ο ΛΌΓΟΣ", "el"), make_document("2", "η γάτα", "el"))
    assert ids(store.open(index).bm25("ΛΌΓΟΣ", 10, ALL)) == ["1"]
    assert ids(store.open(index).bm25("λόγος", 10, ALL)) == ["1"]


def test_a_query_is_analysed_in_the_language_of_the_documents(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("en", "runs", "en"), make_document("fr", "nous courons", "fr"))
    assert ids(store.open(index).bm25("courons", 10, ALL)) == ["fr"]
    assert ids(store.open(index).bm25("running", 10, ALL)) == ["en"]
    assert ids(store.open(index).bm25("running", 10, Filters.parse(["fr"]))) == []


def test_more_and_rarer_words_of_the_query_score_higher(store: WritableStore, index: str) -> None:
    fill(
        store,
        index,
        make_document("both", "walrus teapot"),
        make_document("rare", "walrus kettle"),
        *(make_document(f"common-{number}", "teapot kettle") for number in range(4)),
        *(make_document(f"none-{number}", "violin cello") for number in range(8)),
    )
    found = store.open(index).bm25("walrus teapot", 10, ALL)
    assert ids(found)[:2] == ["both", "rare"]
    assert len(found) == 6
    scores = [one.first_stage_score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


@pytest.mark.parametrize(
    "text",
    [
        'walrus "',
        "walrus'",
        "walrus *",
        "walrus AND",
        "NOT walrus",
        "-walrus",
        "title: walrus",
        "walrus NEAR(p q, 2)",
        "(walrus",
        "{walrus}",
        "\\walrus",
        "^walrus",
        "walrus^2",
        "walrus /.*/",
        "walrus OR 1=1; --",
        "% walrus _",
        "walrus\0",
        "walrus \ud800",
    ],
)
def test_nothing_in_a_query_is_syntax(read_only: ReadOnly, text: str) -> None:
    index = read_only.holding(make_document("1", "a walrus"), make_document("2", "a violin"))
    assert ids(read_only.store.open(index).bm25(text, 10, ALL)) == ["1"]


@pytest.mark.parametrize("text", ["", " ", '"', "\0", "*", "...", "🙂", "the"])
def test_a_query_without_a_word_finds_nothing(read_only: ReadOnly, text: str) -> None:
    index = read_only.holding(make_document("1", "a walrus"), make_document("2", "a violin"))
    assert read_only.store.open(index).bm25(text, 10, ALL) == []


def test_a_query_as_long_as_a_book_finds_what_it_begins_with(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1", "a walrus", "en"), make_document("2", "un violon", "fr"))
    book = "walrus " + " ".join(f"word{number}" for number in range(20_000))
    assert ids(store.open(index).bm25(book, 10, ALL)) == ["1"]


# Filters


LIBRARY = (
    make_document("a", "book", metadata={"year": 1999, "tags": ["red", "old"], "file": {"name": "x", "size": 1.5}}),
    make_document("b", "book", metadata={"year": 2005, "tags": ["red"], "file": {"name": "y", "size": 2.5}}),
    make_document("c", "livre", "fr", metadata={"year": 2019, "tags": "blue", "is_new": True, "date": "2019-03-01"}),
    make_document("d", "kirja", "fi", metadata={"is_new": False, "date": "2020-01-15", "parts": [{"n": 1}, {"n": 2}]}),
)


@pytest.mark.parametrize(
    ("languages", "metadata", "expected"),
    [
        (None, None, "abcd"),
        (["en"], None, "ab"),
        (["fr", "fi"], None, "cd"),
        (["sv"], None, ""),
        (None, {"year": 1999}, "a"),
        (None, {"year": [1999, 2019, 1]}, "ac"),
        (None, {"year": 1999.0}, "a"),
        (None, {"year": 1999.5}, ""),
        (None, {"year": ["1999", "2019.0"]}, "ac"),
        (None, {"tags": "red"}, "ab"),
        (None, {"tags": ["old", "blue"]}, "ac"),
        (None, {"tags": "re"}, ""),
        (None, {"is_new": True}, "c"),
        (None, {"is_new": [True, False]}, "cd"),
        (None, {"year": {"gte": 1999, "lt": 2019}}, "ab"),
        (None, {"year": {"gt": 1999}}, "bc"),
        (None, {"year": {"lte": 1998}}, ""),
        (None, {"date": {"gte": "2019-12-31"}}, "d"),
        (None, {"date": {"lt": "2020"}}, "c"),
        (None, {"date": {"gte": 2020}}, "d"),
        (None, {"year": {"gte": "2000", "lt": "2019"}}, "b"),
        (None, {"file.name": "x"}, "a"),
        (None, {"file.size": {"gt": 2}}, "b"),
        (None, {"parts.n": 2}, "d"),
        (None, {"missing": "x"}, ""),
        (None, {"file": "x"}, ""),
        (None, {"missing": {"gte": 0}}, ""),
        (["en"], {"tags": "red", "year": {"gt": 2000}}, "b"),
        (["fi"], {"tags": "red"}, ""),
        (None, {"tags": "' OR 1=1 --"}, ""),
    ],
)
def test_filters_choose_the_same_documents_for_every_search(
    read_only: ReadOnly, languages: list[str] | None, metadata: dict[str, Any] | None, expected: str
) -> None:
    store, index, filters = read_only.store, read_only.holding(*LIBRARY), Filters.parse(languages, metadata)
    assert sorted(ids(store.open(index).knn(query(1, 0, 0, 0), 10, filters))) == list(expected)
    assert sorted(ids(store.open(index).bm25("book livre kirja", 10, filters))) == list(expected)


# idf


def test_an_idf_table_comes_back_as_it_was_saved_and_a_large_one_replaces_it(store: WritableStore, index: str) -> None:
    make_index(store, index, DESCRIPTION)
    table = IdfTable({"en": frequencies(9, {0: 1, 7: 9, 199_999: 3}), "el": frequencies(0, {})})
    store.save_idf(index, table)
    saved = store.open(index).idf()
    assert saved.version == table.version
    assert saved.languages["en"].term_ids.tolist() == [0, 7, 199_999]
    assert saved.languages["en"].counts.tolist() == [1, 9, 3]
    assert saved.languages["el"].n_documents == 0
    term_ids = np.arange(0, 4_000_000, 2, dtype=np.int32)  # as many words as the largest vocabularies have
    large = IdfTable({"en": DocumentFrequencies(10**7, term_ids, term_ids % 1000 + 1)})
    store.save_idf(index, large)
    saved = store.open(index).idf()
    assert list(saved.languages) == ["en"]
    assert saved.version == large.version
    store.save_idf(index, large)
    assert store.open(index).idf().version == large.version


def at_once(*works: Callable[[], object]) -> None:
    """Does all in threads that begin together."""
    together = threading.Barrier(len(works))

    def begin(work: Callable[[], object]) -> None:
        together.wait()
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(begin, works))


def test_languages_that_are_saved_at_once_are_all_kept(store: WritableStore, index: str) -> None:
    make_index(store, index, DESCRIPTION)
    before = store.save_idf(index, IdfTable({"en": frequencies(9, {0: 1}), "fr": frequencies(3, {5: 2})}))
    languages = ["de", "el", "fi", "it"]

    def save(language: str) -> Callable[[], object]:
        table = IdfTable({**before.languages, language: frequencies(len(language), {7: 1})})
        return lambda: store.save_idf(index, table, before)

    at_once(*map(save, languages))
    assert set(store.open(index).idf().languages) == {"en", "fr", *languages}


def test_a_language_that_another_has_saved_stays_and_the_table_that_holds_it_is_returned(
    store: WritableStore, index: str
) -> None:
    make_index(store, index, DESCRIPTION)
    before = IdfTable({"en": frequencies(9, {0: 1}), "fr": frequencies(3, {5: 2}), "it": frequencies(1, {})})
    store.save_idf(index, before)
    # Another has counted French again, and brought Greek.
    store.save_idf(index, IdfTable({**before.languages, "fr": frequencies(4, {5: 3}), "el": frequencies(1, {7: 1})}))
    mine = IdfTable({"en": frequencies(10, {0: 2}), "fr": frequencies(5, {5: 5}), "de": frequencies(2, {8: 1})})
    made = store.save_idf(index, mine, before)
    counted = {language: one.n_documents for language, one in made.languages.items()}
    assert counted == {"en": 10, "fr": 4, "el": 1, "de": 2}
    assert store.open(index).idf().version == made.version


# Hubness sample


def test_samples_that_are_added_at_once_are_all_kept(store: WritableStore, index: str) -> None:
    make_index(store, index, DESCRIPTION)
    store.add_to_hubness_sample(index, SAMPLE)
    assert store.open(index).hubness_sample() == HubnessSample()
    store.save_hubness_sample(index, SAMPLE)
    words = pack(BagOfWords(np.array([3], np.int32), np.array([1], np.int32)))

    def add(hashed: int) -> Callable[[], object]:
        added = HubnessSample(SAMPLE.embeddings_version, {"xx": {hashed: words}})
        return lambda: store.add_to_hubness_sample(index, added)

    at_once(*map(add, range(1, 5)))
    store.add_to_hubness_sample(index, HubnessSample("other", {"xx": {5: words}}))
    expected = HubnessSample(SAMPLE.embeddings_version, {**SAMPLE.languages, "xx": dict.fromkeys(range(1, 5), words)})
    assert store.open(index).hubness_sample() == expected


def test_a_hubness_sample_comes_back_as_it_was_saved_and_replaces_the_one_before(
    store: WritableStore, index: str
) -> None:
    make_index(store, index, DESCRIPTION)
    assert store.open(index).hubness_sample() == HubnessSample()
    store.save_hubness_sample(index, SAMPLE)
    assert store.open(index).hubness_sample() == SAMPLE
    other = HubnessSample("other", {"fr": {2**62: pack(BagOfWords(np.array([3], np.int32), np.array([1], np.int32)))}})
    store.save_hubness_sample(index, other)
    assert store.open(index).hubness_sample() == other
    words = pack(BagOfWords(np.arange(8, dtype=np.int32), np.ones(8, np.int32)))
    large = HubnessSample("e", {f"x{n}": dict.fromkeys(range(400), words) for n in range(40)})
    store.save_hubness_sample(index, large)
    store.save_idf(index, IdfTable({"en": frequencies(1, {1: 1})}))
    assert store.open(index).hubness_sample() == large
    assert list(store.open(index).idf().languages) == ["en"]


# Several at once


def test_two_threads_search_while_one_writes(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("0", "a walrus"))
    done = threading.Event()
    failures: list[BaseException] = []
    n_searches = [0, 0]

    def search(place: int) -> None:
        try:
            while not done.is_set() or not n_searches[place]:
                assert store.open(index).knn(query(1, 0, 0, 0), 50, ALL)
                assert store.open(index).bm25("walrus", 50, ALL)
                n_searches[place] += 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=search, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        for start in range(1, 500, 100):
            fill(store, index, *(make_document(str(number), "a walrus") for number in range(start, start + 100)))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert min(n_searches) >= 1
    assert store.open(index).count() == 501


def test_a_second_store_at_the_same_address_sees_what_the_first_wrote(
    store: WritableStore, store_address: str, index: str
) -> None:
    other = open_store(store_address)
    fill(store, index, make_document("1"))
    assert ids(other.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == ["1"]
    fill(store, index, make_document("2", vector=(1, 1, 0, 0)))
    assert ids(other.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == ["1", "2"]
    other.close()
