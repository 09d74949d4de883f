"""Creates the tables of the store's file."""

from __future__ import annotations

import sqlite3
import time

# "Snkr"; distinguishes our files from other SQLite files.
APPLICATION_ID = 0x536E6B72

# Raise it when the tables below change, or the terms in them (`terms.py`).
LAYOUT_VERSION = 9

_PAUSE_S = 0.01

# Row ids are unique among all indices and never reused, so they are in order of insertion. Each language of an index is
# a partition with its own full-text table (`words_ID`), so that BM25's statistics are those of one language, like those
# of an engine's field per language. Vectors have their own table, so that one scan reads all of them. `row_sum` is a
# row's checksum (`row_sums.py`). For a document it does not cover the text, which a search does not read, and precedes
# it, so that SQLite reads it without the text. `text_sum` covers the text.
_TABLES = """
CREATE TABLE indices (
    index_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, generation TEXT NOT NULL,
    meta TEXT NOT NULL, changes INTEGER NOT NULL DEFAULT 0, row_sum INTEGER NOT NULL DEFAULT 0);
CREATE TABLE aliases (
    name TEXT PRIMARY KEY, index_id INTEGER NOT NULL, row_sum INTEGER NOT NULL DEFAULT 0);
CREATE TABLE partitions (
    partition_id INTEGER PRIMARY KEY AUTOINCREMENT, index_id INTEGER NOT NULL, language TEXT NOT NULL,
    row_sum INTEGER NOT NULL DEFAULT 0, UNIQUE (index_id, language));
CREATE TABLE documents (
    row_id INTEGER PRIMARY KEY AUTOINCREMENT, index_id INTEGER NOT NULL, partition_id INTEGER NOT NULL,
    doc_id TEXT NOT NULL, row_sum INTEGER NOT NULL DEFAULT 0, text_sum INTEGER NOT NULL DEFAULT 0, bag TEXT NOT NULL,
    title TEXT NOT NULL, url TEXT NOT NULL, metadata TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (index_id, doc_id));
CREATE INDEX documents_by_partition ON documents (partition_id);
CREATE TABLE vectors (
    row_id INTEGER PRIMARY KEY, index_id INTEGER NOT NULL, change INTEGER NOT NULL, nbow BLOB,
    weights TEXT NOT NULL DEFAULT '', row_sum INTEGER NOT NULL DEFAULT 0);
CREATE INDEX vectors_by_change ON vectors (index_id, change);
CREATE TABLE facets (
    index_id INTEGER NOT NULL, row_id INTEGER NOT NULL, field TEXT NOT NULL, text TEXT, number REAL);
CREATE INDEX facets_by_row ON facets (row_id);
CREATE INDEX facets_by_text ON facets (index_id, field, text, row_id);
CREATE INDEX facets_by_number ON facets (index_id, field, number, row_id);
CREATE TABLE notes (
    name TEXT NOT NULL, kind TEXT NOT NULL, content BLOB NOT NULL, row_sum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, kind));
"""


def make_tables(connection: sqlite3.Connection, timeout_s: float) -> None:
    """Creates the tables of an empty file, unless another process has created them meanwhile, for which it waits."""
    _use_wal(connection, time.monotonic() + timeout_s)
    connection.execute("BEGIN IMMEDIATE")
    if not has_tables(connection):
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {LAYOUT_VERSION}")
    connection.execute("COMMIT")


def _use_wal(connection: sqlite3.Connection, until_s: float) -> None:
    """SQLite itself does not wait here for others that do the same."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= until_s:
                raise
            time.sleep(_PAUSE_S)


def has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None


def layout_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
