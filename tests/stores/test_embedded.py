"""What only the embedded store can meet: a folder that is not there, a damaged file, a killed writer, a fork."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import weakref
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from reranker.base.errors import BadInput, NotFound, StoreUnavailable, VersionMismatch
from reranker.embeddings.hubness import HubnessSample
from reranker.stores import open_store
from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import Store
from reranker.stores.base.writing import WriteResult
from reranker.stores.embedded.file import FILE_NAME
from reranker.stores.embedded.layout import has_tables, make_tables
from reranker.stores.embedded.row_sums import row_sum, set_index_sum
from reranker.stores.embedded.vectors import VectorBlock
from reranker.stores.embedded.writable import WritableEmbeddedStore
from reranker.text.idf import IdfTable
from reranker.translation import Translation, WordGroup
from tests.stores.samples import ALL, DESCRIPTION, fill, ids, make_document, make_index, query, write_documents


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a folder ü" / "store"


def test_a_folder_that_is_not_there_is_not_found_and_not_made(folder: Path) -> None:
    store = open_store(str(folder))
    calls = (
        store.indices,
        lambda: store.open("docs").description,
        lambda: store.open("docs").count(),
        lambda: store.drop("docs"),
    )
    for call in calls:
        with pytest.raises(NotFound, match="sinkrank ingest"):
            call()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "language"), [("رقم ١٢٣٤", "ar"), ("番号１２３４", "ja"), ("๑๒๓๔", "th"), ("no. 1234", "en")]
)
def test_a_number_is_found_in_whatever_script_its_digits_are(folder: Path, text: str, language: str) -> None:
    with closing(open_store(str(folder))) as store:
        fill(store, "docs", make_document("1", text, language))
        for wanted in ("1234", "١٢٣٤", "１２３４", "๑๒๓๔"):
            assert ids(store.open("docs").bm25(wanted, 10, Filters.parse([language]))) == ["1"], wanted


@pytest.mark.parametrize("n_bytes_kept", [None, 0, 4096])
def test_a_folder_without_a_store_or_with_one_whose_making_was_broken_off_gets_one_with_its_first_index(
    folder: Path, n_bytes_kept: int | None
) -> None:
    folder.mkdir(parents=True)
    if n_bytes_kept is not None:
        with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
            if n_bytes_kept:
                connection.execute("PRAGMA journal_mode = WAL")
    store = open_store(str(folder))
    with pytest.raises(NotFound):
        store.indices()
    make_index(store, "docs", DESCRIPTION)
    assert store.indices() == ["docs"]


def test_a_file_of_another_program_is_refused_and_left_as_it_is(folder: Path) -> None:
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = (folder / FILE_NAME).read_bytes()
    store = open_store(str(folder))
    with pytest.raises(StoreUnavailable, match="not a store of Sinkrank"):
        store.indices()
    with pytest.raises(StoreUnavailable, match="not a store of Sinkrank"):
        make_index(store, "docs", DESCRIPTION)
    assert (folder / FILE_NAME).read_bytes() == before


def test_a_store_of_another_layout_is_a_version_mismatch(folder: Path) -> None:
    store = open_store(str(folder))
    make_index(store, "docs", DESCRIPTION)
    store.close()
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(VersionMismatch, match="99"):
        open_store(str(folder)).indices()


def test_a_path_that_is_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    store = open_store(str(tmp_path / "file"))
    with pytest.raises(NotFound):
        store.indices()
    with pytest.raises(StoreUnavailable, match="another folder"):
        make_index(store, "docs", DESCRIPTION)


@pytest.mark.parametrize("damage", ["overwritten", "cut", "page"])
def test_a_damaged_file_is_unavailable_with_the_cure(folder: Path, damage: str) -> None:
    store = open_store(str(folder))
    fill(store, "docs", *(make_document(str(number), f"walrus {number}") for number in range(2000)))
    store.close()
    path = folder / FILE_NAME
    content = bytearray(path.read_bytes())
    if damage == "overwritten":
        content[:] = b"x" * len(content)
    elif damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    damaged = open_store(str(folder))
    with pytest.raises(StoreUnavailable, match="sinkrank ingest"):
        _read_everything(damaged)


def _read_everything(store: Store) -> None:
    store.open("docs").knn(query(1, 0, 0, 0), 10, ALL)
    found = store.open("docs").bm25("walrus", 5000, ALL)
    store.open("docs").documents([candidate.doc_id for candidate in found])


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_store_that_an_earlier_copy_replaced_is_searched_as_the_copy_is(folder: Path, is_moved: bool) -> None:
    store = open_store(str(folder))
    fill(store, "docs", make_document("1", "walrus"))
    store.close()
    copy = shutil.copytree(folder, folder.with_name("copy"))
    fill(store, "docs", make_document("1", "seal", vector=(0, 1, 0, 0)), make_document("2", "walrus"))
    docs = store.open("docs")
    assert ids(docs.bm25("walrus", 10, ALL)) == ids(docs.knn(query(1, 0, 0, 0), 1, ALL)) == ["2"]
    if is_moved:
        folder.rename(folder.with_name("replaced"))
        copy.rename(folder)
    else:
        store.close()
        shutil.copytree(copy, folder, dirs_exist_ok=True)
    assert ids(docs.bm25("walrus", 10, ALL)) == ["1"]
    assert [(one.doc_id, one.first_stage_score) for one in docs.knn(query(1, 0, 0, 0), 10, ALL)] == [("1", 1.0)]
    # As many changes as in the file before.
    fill(store, "docs", make_document("3", "seal", vector=(0, 0, 1, 0)))
    assert ids(docs.bm25("seal", 10, ALL)) == ids(docs.knn(query(0, 0, 1, 0), 1, ALL)) == ["3"]


def test_a_writer_killed_in_a_batch_leaves_whole_batches(folder: Path) -> None:
    program = textwrap.dedent(
        f"""
        import sys
        from reranker.stores import open_store
        from tests.stores.samples import DESCRIPTION, make_document, make_index, write_documents
        store = open_store({str(folder)!r})
        make_index(store, "docs", DESCRIPTION)
        def documents():
            for number in range(10**9):
                yield make_document(str(number), "a walrus " * 50, vector=(1, number, 0, 0), metadata={{"n": number}})
        for n_written, result in enumerate(write_documents(store, "docs", documents()), start=1):
            if n_written % 500 == 0:
                print(n_written, flush=True)
        """
    )
    writer = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    for _ in range(3):
        n_confirmed = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    store = open_store(str(folder))
    n_documents = store.open("docs").count()
    assert n_documents >= n_confirmed
    assert n_documents % 500 == 0
    assert len(store.open("docs").knn(query(1, 0, 0, 0), 10**6, ALL)) == n_documents
    assert len(store.open("docs").bm25("walrus", 10**6, ALL)) == n_documents
    fill(store, "docs", make_document("new"))
    assert store.open("docs").count() == n_documents + 1


def test_a_store_is_made_once_another_process_that_writes_the_empty_file_has_ended(folder: Path) -> None:
    folder.mkdir(parents=True)
    with (
        closing(open_store(str(folder))) as store,
        closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("BEGIN IMMEDIATE")
        made = pool.submit(make_index, store, "docs", DESCRIPTION)
        assert not wait([made], 0.2).done
        other.execute("ROLLBACK")
        made.result()
        assert store.indices() == ["docs"]


@pytest.mark.parametrize("makes_first", [True, False])
def test_a_store_that_another_process_makes_while_it_is_opened_is_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, makes_first: bool
) -> None:
    def asked_meanwhile(connection: sqlite3.Connection) -> bool:
        before = has_tables(connection)
        with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
            make_tables(other, 1.0)
        return has_tables(connection) if makes_first else before

    folder.mkdir(parents=True)
    (folder / FILE_NAME).touch()
    with closing(open_store(str(folder))) as store:
        monkeypatch.setattr("reranker.stores.embedded.file.has_tables", asked_meanwhile)
        assert store.indices() == []


def test_a_locked_store_is_unavailable_after_the_time_out(folder: Path) -> None:
    store = open_store(str(folder), timeout_s=0.1)
    make_index(store, "docs", DESCRIPTION)
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match=r"locked .* 0.1 s"):
            list(write_documents(store, "docs", [make_document("1")]))
        assert store.open("docs").count() == 0  # reading goes on
    assert list(write_documents(store, "docs", [make_document("1")])) == [WriteResult("1")]


def test_a_folder_made_anew_under_an_open_store_is_read_anew(folder: Path) -> None:
    store = open_store(str(folder))
    fill(store, "docs", make_document("old"))
    assert ids(store.open("docs").knn(query(1, 0, 0, 0), 10, ALL)) == ["old"]
    shutil.rmtree(folder)
    with pytest.raises(NotFound):
        store.open("docs").count()
    fill(open_store(str(folder)), "docs", make_document("new"))
    assert ids(store.open("docs").knn(query(1, 0, 0, 0), 10, ALL)) == ["new"]


def test_words_are_not_looked_for_in_a_folder_of_the_same_name_that_was_deleted(folder: Path) -> None:
    store = open_store(str(folder))
    groups = {"en": [WordGroup("chat", 1, (Translation("cat", 1.0),))]}
    fill(store, "docs", make_document("old", "a cat"))
    assert ids(store.open("docs").translated(groups, 10, ALL)) == ["old"]
    shutil.rmtree(folder)
    fill(open_store(str(folder)), "docs", make_document("new", "a dog"))
    assert store.open("docs").translated(groups, 10, ALL) == store.open("docs").bm25("cat", 10, ALL) == []


def test_a_connection_in_use_while_the_folder_is_replaced_is_not_used_again(folder: Path) -> None:
    store = WritableEmbeddedStore(folder)
    fill(store, "docs", make_document("old"))
    with store._file.reading():
        shutil.rmtree(folder)
        fill(open_store(str(folder)), "docs", make_document("new"), make_document("newer"))
        assert store.open("docs").count() == 2
    assert store.open("docs").count() == 2
    store.close()


def test_equal_scores_come_in_the_order_in_which_documents_came(folder: Path) -> None:
    store = open_store(str(folder))
    vectors = np.random.default_rng(3).standard_normal((5, 4))
    documents = [
        make_document(f"{row}-{copy}", "walrus", vector=vectors[row]) for copy in range(20) for row in range(5)
    ]
    fill(store, "docs", *documents)
    assert len(store.open("docs").knn(query(*vectors[2]), 100, ALL)) == 100  # the vectors are in memory from here on
    fill(store, "docs", documents[2])  # replaced, it keeps its place
    found = ids(store.open("docs").knn(query(*vectors[2]), 7, ALL))
    assert found == [f"2-{copy}" for copy in range(7)]
    assert ids(store.open("docs").bm25("walrus", 7, ALL)) == [one.document.doc_id for one in documents[:7]]


def test_a_term_in_most_documents_still_finds_them(folder: Path) -> None:
    store = open_store(str(folder))
    fill(store, "docs", *(make_document(str(number), "walrus") for number in range(5)))
    found = store.open("docs").bm25("walrus", 10, ALL)
    assert len(found) == 5
    assert all(one.first_stage_score > 0 for one in found)


def test_a_page_as_query_goes_by_its_rarest_words(folder: Path) -> None:
    store = open_store(str(folder))
    common = [f"common{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(100)]
    fill(
        store,
        "docs",
        make_document("rare", "walrus"),
        *(make_document(str(number), " ".join(common), "en") for number in range(3)),
    )
    assert ids(store.open("docs").bm25(" ".join([*common, "walrus"]), 10, ALL))[0] == "rare"


def test_a_word_of_more_than_64_letters_is_found_and_not_kept_in_memory(folder: Path) -> None:
    store = WritableEmbeddedStore(folder)
    long = f"{'x' * 60}running"
    fill(store, "docs", make_document("long", long, "en"), make_document("short", "walrus", "en"))
    docs = store.open("docs")
    assert ids(docs.bm25(long, 10, ALL)) == ["long"]
    assert docs.bm25(" ".join(f"{chr(97 + n)}{'x' * 100_000}" for n in range(26)), 10, ALL) == []
    assert ids(docs.bm25("walrus", 10, ALL)) == ["short"]
    with store._file.reading() as connection:
        terms = [key[-1] for key in connection.cached.postings if isinstance(key[-1], str)]
    assert terms == ["walrus"]


def test_a_number_asked_for_finds_text_of_the_same_digits(folder: Path) -> None:
    store = open_store(str(folder))
    fill(store, "docs", make_document("1", metadata={"year": "2019"}), make_document("2", metadata={"huge": 10**400}))
    assert ids(store.open("docs").bm25("cat", 10, Filters.parse(None, {"year": 2019}))) == ["1"]
    assert store.open("docs").bm25("cat", 10, Filters.parse(None, {"huge": {"gt": 0}})) == []
    assert store.open("docs").fetch("2").document.metadata == {"huge": 10**400}


def test_what_sqlite_cannot_hold_is_bad_input(folder: Path) -> None:
    store = open_store(str(folder))
    fill(store, "docs", make_document("1"))
    with pytest.raises(BadInput):
        store.open("docs").fetch("\ud800")
    with pytest.raises(BadInput):
        store.open("docs").bm25("cat", 10, Filters.parse(None, {"a": "\ud800"}))
    with pytest.raises(BadInput):
        store.open("docs").bm25("cat", 10, Filters.parse(None, {"a": {"gt": 10**400}}))
    assert store.open("docs").count() == 1


@pytest.mark.parametrize("is_promoted", [True, False])
def test_rebuilding_an_index_leaves_one_whose_name_looks_like_its_version_alone(
    folder: Path, is_promoted: bool
) -> None:
    store = open_store(str(folder))
    theirs = store.stage("pages-000001", DESCRIPTION)
    if is_promoted:
        store.promote("pages-000001", theirs)
    list(write_documents(store, theirs, [make_document("theirs")]))
    for doc_id in ("mine1", "mine2", "mine3"):
        version = store.stage("pages", DESCRIPTION)
        list(write_documents(store, version, [make_document(doc_id)]))
        store.promote("pages", version)
        for one in store.versions("pages"):
            if not one.is_serving:
                store.drop(one.name)
    store.promote("pages-000001", theirs)
    assert ids(store.open("pages-000001").bm25("cat", 10, ALL)) == ["theirs"]
    assert ids(store.open("pages").bm25("cat", 10, ALL)) == ["mine3"]
    store.drop("pages")
    assert store.indices() == ["pages-000001"]


def test_dropping_a_version_of_an_old_store_leaves_an_index_with_the_same_name_alone(folder: Path) -> None:
    store = open_store(str(folder))
    theirs = make_index(store, "theirs", DESCRIPTION)
    version = make_index(store, "pages", DESCRIPTION)
    store.close()
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.create_function("checked", 2, lambda index_id, name: row_sum((index_id,), name))
        connection.execute("UPDATE aliases SET name = ? WHERE name = 'theirs'", (version,))
        connection.execute("UPDATE aliases SET row_sum = checked(index_id, name)")
        connection.execute("UPDATE indices SET meta = replace(meta, '\"theirs\"', ?)", (f'"{version}"',))
        for (index_id,) in connection.execute("SELECT index_id FROM indices").fetchall():
            set_index_sum(connection, index_id)
    store.drop(version)
    assert store.versions("pages") == []
    assert store.indices() == [version]
    assert [one.name for one in store.versions(version)] == [theirs]


def test_a_dropped_index_leaves_nothing_in_any_table(folder: Path) -> None:
    store = open_store(str(folder))
    make_index(store, "empty", DESCRIPTION)
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        before = connection.execute("SELECT name FROM sqlite_schema ORDER BY name").fetchall()
    fill(store, "docs", make_document("1", metadata={"a": 1}), make_document("2", "el texto", "es"))
    store.save_hubness_sample("docs", HubnessSample("e"))
    store.save_idf("docs", IdfTable())
    store.drop("docs")
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema ORDER BY name").fetchall() == before
        for table in ("documents", "vectors", "facets", "partitions", "notes"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_the_vectors_of_deleted_indices_do_not_stay_in_memory(folder: Path) -> None:
    store = open_store(str(folder))
    vectors = []
    for name in ("one", "two", "three"):
        fill(store, name, make_document("1"))
        with store._file.reading() as connection:
            _, block = connection.cached.vectors.current(connection, name, store.open(name)._index)
            vectors.append(weakref.ref(block.vectors))
        if name == "two":
            store.drop(name)
    del block
    gc.collect()
    assert [kept() is not None for kept in vectors] == [True, False, True]


def test_equal_vectors_tie_wherever_they_stand() -> None:
    vector = np.random.default_rng(5).standard_normal(301).astype(np.float32)
    vector /= np.linalg.norm(vector)
    block = VectorBlock("g", 0, np.arange(1003), np.tile(vector, (1003, 1)))
    row_ids, _ = block.nearest(vector, 1003)
    assert row_ids.tolist() == list(range(1003))
