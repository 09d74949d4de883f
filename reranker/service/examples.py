"""Offers example queries for an index: those in a file of the home folder, otherwise titles of its documents, those for
which Sinkrank's first page differs most from the first stage's.

Titles are read with the service's own rights, so they are offered only if callers without credentials may read too.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path

from cachetools import TTLCache

from reranker.answers.page import Example
from reranker.base.errors import SinkrankError
from reranker.base.request_context import current_request, set_current_request
from reranker.stores.base.protocol import Store
from reranker.text.documents import Document
from reranker.text.known_items import known_items

FILE_NAME = "examples.json"
N_EXAMPLES = 5
PAGE_SIZE = 10
_N_READ = 100
# So many titles are searched, and no more after the limit: some 0.3 s for 5,000 documents in a folder.
_N_SEARCHED, _LIMIT_S = 20, 2.0
# What fits on a button.
_MAX_CHARS = 80
_MAX_INDICES, _MAX_AGE_S = 50, 3600.0

_log = logging.getLogger(__name__)


FirstPage = Callable[[Example], Sequence[int]]
"""Searches for an example; returns the first stage's ranks of the first `PAGE_SIZE` hits, in their new order."""


class Examples:
    """Examples by index, cached for an hour, failures not. Thread-safe; one index is searched at a time.

    Args:
        home: folder of the file.
        has_titles: whether titles may be offered.
    """

    def __init__(self, store: Store, home: Path, has_titles: bool = True) -> None:
        self._store = store
        self._has_titles = has_titles
        self._file = home / FILE_NAME
        self._known: TTLCache[str, tuple[Example, ...]] = TTLCache(_MAX_INDICES, _MAX_AGE_S)
        self._finding = threading.Lock()

    def of_index(self, index: str, first_page: FirstPage) -> tuple[Example, ...]:
        """At most five examples; none if there is nothing to offer, the store does not answer, or another request
        searches for longer than the limit.

        Args:
            index: an index that Sinkrank made.
        """
        if not self._finding.acquire(timeout=_LIMIT_S):
            return ()
        try:
            found = self._known.get(index)
            if found is None:
                found = self._known[index] = _without_caller().run(self._find, index, first_page)
            return found
        except SinkrankError as error:
            _log.warning("no queries to offer as examples for index %r: %s", index, error)
            return ()
        finally:
            self._finding.release()

    def _find(self, index: str, first_page: FirstPage) -> tuple[Example, ...]:
        cached = _read_file(self._file).get(index)
        if cached:
            return cached[:N_EXAMPLES]
        if not self._has_titles:
            return ()
        offered = _from_documents(self._store.open(index).random_documents(_N_READ))
        return self._most_different(list(islice(offered, _N_SEARCHED)), first_page)

    def _most_different(self, examples: Sequence[Example], first_page: FirstPage) -> tuple[Example, ...]:
        """Those whose orders differ most, in turn of each language; what the limit leaves no time for comes last."""
        ends_at = time.monotonic() + _LIMIT_S
        differences = [difference(first_page(each)) if time.monotonic() < ends_at else 0.0 for each in examples]
        by_difference = sorted(zip(differences, examples, strict=True), key=lambda pair: -pair[0])
        return tuple(islice(_round_robin(each for _, each in by_difference), N_EXAMPLES))


def _without_caller() -> Context:
    """A context without the caller's rights, in which the log does not take searches for the caller's. A call to an
    engine gives the slot to compute away, as the caller's own does."""
    context, caller = Context(), current_request()
    if caller is not None:
        context.run(set_current_request, replace(caller, headers={}, facts={}))
    return context


def difference(first_stage_ranks: Sequence[int]) -> float:
    """How much a page of hits differs from the first stage's page, 0 to 1.

    It is 1 - the average overlap (Webber, Moffat and Zobel 2010): the mean, over each depth d, of the share that the
    first d hits of both orders have in common.

    Args:
        first_stage_ranks: from 1, of the page's hits in their new order.

    >>> difference([1, 2, 3]), difference([2, 1]), difference([11, 12])
    (0.0, 0.5, 1.0)
    """
    n = len(first_stage_ranks)
    later = [max(ranks) for ranks in enumerate(first_stage_ranks, start=1)]
    overlaps = [sum(rank <= depth for rank in later) / depth for depth in range(1, n + 1)]
    return 1.0 - sum(overlaps) / n if n else 0.0


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
