"""Offers example queries for an index: those in a file of the home folder, otherwise titles of its documents, of which
the page shows those for which Sinkrank's first page differs most from the first stage's.

Titles are read with the service's own rights, so they are offered only if callers without credentials may read too.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path

from reranker.answers.page import Example
from reranker.base.errors import SinkrankError
from reranker.stores.base.protocol import Store
from reranker.text.documents import Document
from reranker.text.known_items import known_items

FILE_NAME = "examples.json"
_N_READ = 100
# The page shows five, and chooses them from more by a search for each.
_N_LISTED, _N_OFFERED = 5, 20
# What fits on a button.
_MAX_CHARS = 80

_log = logging.getLogger(__name__)


def examples_of(store: Store, index: str, home: Path, has_titles: bool) -> list[Example]:
    """Those of an index that Sinkrank made; none if there is nothing to offer, or the store does not answer.

    Args:
        home: folder of the file.
        has_titles: whether titles may be offered.
    """
    found = _read_file(home / FILE_NAME).get(index, ())
    if found or not has_titles:
        return list(found[:_N_LISTED])
    try:
        return list(islice(_from_documents(store.open(index).random_documents(_N_READ)), _N_OFFERED))
    except SinkrankError as error:
        _log.warning("no queries to offer as examples for index %r: %s", index, error)
        return []


def write_examples(home: Path, index: str, examples: Sequence[Example]) -> None:
    """Writes the examples of an index to the home folder's file, and keeps those of other indices."""
    path = home / FILE_NAME
    by_index = {**_read_file(path), index: tuple(examples)}
    rows = {name: [dict(each) for each in found] for name, found in by_index.items()}
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read_file(path: Path) -> Mapping[str, tuple[Example, ...]]:
    """The contents of the file by index; empty for a missing or broken file."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {name: tuple(Example(**row) for row in found) for name, found in rows.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        _log.warning("%s holds no examples (%s); delete it, or run `sinkrank demo` again", path, error)
        return {}


def _from_documents(documents: Iterable[Document]) -> Iterator[Example]:
    """Queries whose document is known, in turn of each language."""
    found = known_items(documents, _N_READ)
    return _round_robin(Example(each.query, each.language) for each in found if len(each.query) <= _MAX_CHARS)


def _round_robin(examples: Iterable[Example]) -> Iterator[Example]:
    """The first of each language, the second of each, and so on."""
    by_language: dict[str, list[Example]] = {}
    for each in examples:
        by_language.setdefault(each.language, []).append(each)
    for one_of_each in zip_longest(*by_language.values()):
        yield from filter(None, one_of_each)
