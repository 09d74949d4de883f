"""Creates, finds and deletes the rows of the embedded store's indices, and switches between their versions."""

# ruff: noqa: S608 - the SQL is built of names of our own tables and columns

from __future__ import annotations

import json
import secrets
import sqlite3
from dataclasses import dataclass
from typing import Any

from reranker.base.errors import BadInput, NotFound
from reranker.stores.base.cures import no_such_index
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.names import RUN, VERSION_OF, IndexVersion, check_index_name, version_name
from reranker.stores.embedded.notes import forget_notes
from reranker.stores.embedded.row_sums import check_row, row_sum, set_index_sum, wrong_row
from reranker.stores.embedded.rows import vocabulary_table, words_table

_TABLES_OF_AN_INDEX = ("facets", "vectors", "documents", "partitions", "aliases", "indices")

# The index of which a row of `indices` is a version.
_VERSION_OF = f"json_extract(meta, '$.sinkrank.{VERSION_OF}')"
_RUN = f"$.sinkrank.{RUN}"


def index_names(connection: sqlite3.Connection) -> list[str]:
    """Returns the sorted names by which searches find our indices."""
    rows = connection.execute("SELECT name, index_id, row_sum FROM aliases ORDER BY name").fetchall()
    for name, index_id, found in rows:
        check_row(found, "aliases", name, (index_id,), name)
    return [name for name, _, _ in rows]


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """A row of `indices`, read in the transaction that uses it.

    Attributes:
        name: its own; not the alias by which it was found.
    """

    index_id: int
    name: str
    generation: str
    changes: int
    description: IndexDescription


def existing_index(connection: sqlite3.Connection, name: str, address: str) -> StoredIndex:
    """Returns the index with this name or alias.

    Args:
        address: of the store, for the error.

    Raises:
        NoSuchIndex: there is none.
        NotOurIndex: Sinkrank did not make it.
        StoreDamaged: its row, or that of the alias, is damaged.
    """
    check_index_name(name)
    select = "SELECT index_id, generation, changes, meta, name, row_sum FROM indices"
    found = connection.execute(f"{select} WHERE name = ?", (name,)).fetchone()
    if found is None:
        alias = connection.execute("SELECT index_id, row_sum FROM aliases WHERE name = ?", (name,)).fetchone()
        if alias is None:
            raise no_such_index(address, name)
        check_row(alias[1], "aliases", name, (alias[0],), name)
        found = connection.execute(f"{select} WHERE index_id = ?", (alias[0],)).fetchone()
        if found is None:
            raise wrong_row("indices", alias[0])
    index_id, generation, changes, meta, own_name, found_sum = found
    check_row(found_sum, "indices", index_id, (index_id, changes), own_name, generation, meta)
    return StoredIndex(index_id, own_name, generation, changes, IndexDescription.from_meta(json.loads(meta), name))


def free_version_name(connection: sqlite3.Connection, index: str) -> str:
    """Returns the name of an index's next version. No other version or index has it, so that a name never stands for
    two things.

    Raises:
        BadInput: a version of another index has the index's name.
        WrongParameter: the name is too long.
    """
    parents = dict(connection.execute(f"SELECT name, {_VERSION_OF} FROM indices"))
    if index in parents:
        raise BadInput(f"{index!r} is a version of the index {parents[index]!r}; use --index {parents[index]}")
    return version_name(index, {*parents, *parents.values()})


def insert_index(connection: sqlite3.Connection, name: str, meta: dict[str, Any]) -> None:
    """Adds an index without documents."""
    forget_notes(connection, name)  # of an index with this name that was deleted while they were written
    made = connection.execute(
        "INSERT INTO indices (name, generation, meta) VALUES (?, ?, ?)", (name, secrets.token_hex(8), json.dumps(meta))
    )
    set_index_sum(connection, made.lastrowid or 0)


def delete_index(connection: sqlite3.Connection, index_id: int) -> None:
    """Deletes an index with its documents, its idf and its hubness sample."""
    partitions = connection.execute("SELECT partition_id FROM partitions WHERE index_id = ?", (index_id,))
    for (partition_id,) in partitions.fetchall():
        connection.execute(f"DROP TABLE {vocabulary_table(partition_id)}")
        connection.execute(f"DROP TABLE {words_table(partition_id)}")
    (name,) = connection.execute("SELECT name FROM indices WHERE index_id = ?", (index_id,)).fetchone()
    forget_notes(connection, name)
    for table in _TABLES_OF_AN_INDEX:
        connection.execute(f"DELETE FROM {table} WHERE index_id = ?", (index_id,))


def version_ids(connection: sqlite3.Connection, index: str) -> list[int]:
    """Returns the ids of an index's versions, oldest first."""
    rows = connection.execute(f"SELECT index_id FROM indices WHERE {_VERSION_OF} = ? ORDER BY name", (index,))
    return [index_id for (index_id,) in rows]


def versions_of(connection: sqlite3.Connection, index: str) -> list[tuple[IndexVersion, int]]:
    """Returns the versions of an index with their ids, oldest first."""
    serving = connection.execute("SELECT index_id FROM aliases WHERE name = ?", (index,)).fetchone()
    select = f"SELECT name, json_extract(meta, '{_RUN}') FROM indices WHERE index_id = ?"
    return [
        (IndexVersion(name, serving == (index_id,), run), index_id)
        for index_id in version_ids(connection, index)
        for name, run in connection.execute(select, (index_id,))
    ]


def forget_run(connection: sqlite3.Connection, index_id: int) -> None:
    """Forgets the run that makes a version."""
    connection.execute(f"UPDATE indices SET meta = json_remove(meta, '{_RUN}') WHERE index_id = ?", (index_id,))
    set_index_sum(connection, index_id)


def promote_version(connection: sqlite3.Connection, index: str, version: str) -> None:
    """Makes the index's name an alias of this version.

    Raises:
        NotFound: there is no such version.
    """
    ids = {one.name: index_id for one, index_id in versions_of(connection, index)}
    if version not in ids:
        raise NotFound(f"index {index!r} has no version {version!r}; it has {', '.join(sorted(ids)) or 'none'}")
    connection.execute(
        "INSERT OR REPLACE INTO aliases (name, index_id, row_sum) VALUES (?, ?, ?)",
        (index, ids[version], row_sum((ids[version],), index)),
    )
