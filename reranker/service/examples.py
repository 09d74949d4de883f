"""Offers example queries for an index: those in a file of the home folder, otherwise titles of its documents.

Titles are read with the service's own rights, so they are offered only if callers without credentials may read too.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from cachetools import TTLCache

from reranker.base.errors import SinkrankError
from reranker.stores.base.protocol import Store
from reranker.text.documents import Document

FILE_NAME = "examples.json"
N_EXAMPLES = 5
_N_READ = 200
_MAX_FILE_BYTES = 100_000
_MAX_CHARS = 80
# A title of one word is a poor example, and a long one does not fit on a button.
_TITLE_WORDS = range(2, 9)
_MAX_INDICES, _MAX_AGE_S = 50, 300.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Example:
    """A query, its language, and the language of the documents to find; empty for none."""

    query: str
    language: str = ""
    target: str = ""


class Examples:
    """Examples by index, cached for five minutes. Thread-safe.

    Args:
        home: folder of the file.
        has_titles: whether titles may be offered.
    """

    def __init__(self, store: Store, home: Path, has_titles: bool = True) -> None:
        self._store = store
        self._has_titles = has_titles
        self._file = home / FILE_NAME
        self._known: TTLCache[str, tuple[Example, ...]] = TTLCache(_MAX_INDICES, _MAX_AGE_S)
        self._lock = threading.Lock()

    def of_index(self, index: str) -> tuple[Example, ...]:
        """At most five examples; none if there is nothing to offer, or the store does not answer.

        Args:
            index: an index that Sinkrank made.
        """
        with self._lock:
            known = self._known.get(index)
        if known is None:
            known = self._find(index)
            with self._lock:
                self._known[index] = known
        return known

    def _find(self, index: str) -> tuple[Example, ...]:
        kept = _read_file(self._file).get(index)
        if kept:
            return kept[:N_EXAMPLES]
        if not self._has_titles:
            return ()
        try:
            return tuple(islice(_from_titles(_some_documents(self._store, index)), N_EXAMPLES))
        except SinkrankError as error:
            _log.warning("no titles of index %r to offer as examples: %s", index, error)
            return ()


def write_examples(home: Path, index: str, examples: Sequence[Example]) -> None:
    """Writes the examples of an index to the home folder's file, and keeps those of other indices."""
    path = home / FILE_NAME
    by_index = {**_read_file(path), index: tuple(examples)}
    rows = {name: [asdict(each) for each in found] for name, found in by_index.items()}
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read_file(path: Path) -> Mapping[str, tuple[Example, ...]]:
    """The contents of the file by index; empty for a missing or broken file."""
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            return {}
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {name: tuple(Example(**row) for row in found) for name, found in rows.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        _log.warning("%s holds no examples (%s); delete it, or run `sinkrank demo` again", path, error)
        return {}


def _some_documents(store: Store, index: str) -> Iterable[Document]:
    bags = store.bags(index)
    doc_ids = [bag.doc_id for bag in islice(bags, _N_READ)]
    if isinstance(bags, Generator):
        bags.close()  # the engine's scroll with it
    found = store.documents(index, doc_ids)
    return [found[doc_id] for doc_id in doc_ids if doc_id in found]


def _from_titles(documents: Iterable[Document]) -> Iterator[Example]:
    """Titles of two to eight words, from each language in turn."""
    by_language: dict[str, list[str]] = {}
    seen: set[str] = set()
    for document in documents:
        title = " ".join(document.title.split())
        if len(title.split()) in _TITLE_WORDS and len(title) <= _MAX_CHARS and title.casefold() not in seen:
            seen.add(title.casefold())
            by_language.setdefault(document.language, []).append(title)
    for turn in range(max(map(len, by_language.values()), default=0)):
        for language, titles in by_language.items():
            if turn < len(titles):
                yield Example(titles[turn], language)
