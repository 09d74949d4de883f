"""Compares an index with its input: it must have each document once, with its text, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from reranker.stores import open_store
from reranker.stores.base.protocol import IndexReader, WritableStore

_AT_ONCE = 1000


def differences(
    store: WritableStore, index: str, given: Sequence[Mapping[str, Any]], are_counted: bool = True
) -> list[str]:
    """The differences, in a few words each; empty if the index has exactly these documents.

    Args:
        given: rows with unique `id`, `lang`, `title` and `text`.
        are_counted: whether one ingest wrote all of them, so that the index has their document frequencies.
    """
    store.refresh(index)
    expected = {str(row["id"]): row for row in given}
    stored = Counter(bag.doc_id for bag in store.bags(index))
    found = [
        *_named("missing", expected.keys() - stored.keys()),
        *_named("not of the input", stored.keys() - expected.keys()),
        *_named("stored twice", {doc_id for doc_id, n in stored.items() if n > 1}),
    ]
    reader = store.open(index)
    if (count := reader.count()) != len(expected):
        found.append(f"count {count}, not {len(expected)}")
    found += _wrong_texts(reader, expected)
    if not are_counted:
        return found
    counted = reader.idf().languages
    for language, n in Counter(row["lang"] for row in given).items():
        if language not in counted or counted[language].n_documents != n:
            there = counted[language].n_documents if language in counted else 0
            found.append(f"the idf counts {there} documents in {language}, not {n}")
    return found


def _wrong_texts(reader: IndexReader, expected: Mapping[str, Mapping[str, Any]]) -> list[str]:
    ids = list(expected)
    found = []
    for first in range(0, len(ids), _AT_ONCE):
        part = reader.documents(ids[first : first + _AT_ONCE])
        wrong = {
            doc_id
            for doc_id, one in part.items()
            if (one.text, one.title, one.language) != tuple(expected[doc_id][key] for key in ("text", "title", "lang"))
        }
        found += _named("with another text", wrong)
    return found


def _named(what: str, ids: set[str]) -> list[str]:
    return [f"{len(ids)} documents {what}: {sorted(ids)[:3]}"] if ids else []


def check_contents(address: str, index: str, given: Sequence[Mapping[str, Any]], are_counted: bool = True) -> list[str]:
    """`differences` of an index of the store at this address."""
    with closing(open_store(address)) as store:
        return differences(store, index, given, are_counted)
