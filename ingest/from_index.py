"""Copies the documents of an engine's index into a file, so that ingest can read them twice and continue a stopped run.

The index is read at a point in time, slice after slice, page by page. The copy lies beside the checkpoints. It is
gzipped JSONL with one gzip member for each page. A small file beside it records the last complete page, so that a
stopped copy continues there while the engine keeps the point in time (half an hour).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import opensearchpy
import orjson
from opensearchpy import exceptions

from ingest.documents import Layout
from ingest.files import Source
from ingest.index_rows import row_reader
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput, WrongParameter
from reranker.stores.base.names import check_index_name
from reranker.stores.engine.client import connect, detect_distribution, engine_errors
from reranker.stores.engine.retries import with_retries
from reranker.stores.engine.scan import PointInTime
from reranker.upstream.access import EngineAccess
from reranker.upstream.addresses import EngineAddress, read_address
from reranker.upstream.nodes import Upstream


@dataclass(frozen=True, slots=True)
class IndexSource:
    """An index to read documents from.

    Attributes:
        address: address of the engine.
        layout: the fields of its documents (dots for nested ones). The text may have several, separated by commas,
            which are joined. An index that Sinkrank made needs none.
        query: query in the engine's query DSL for the documents to read; None: all.
    """

    address: EngineAddress
    index: str
    layout: Layout
    query: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return f"{self.address.shown}/{self.index}"

    @property
    def key(self) -> str:
        """A hash of everything that decides the rows."""
        described = json.dumps([self.name, asdict(self.layout), self.query], sort_keys=True, default=str)
        return blake2b(described.encode(), digest_size=8).hexdigest()


def read_index_source(url: str, layout: Layout, query: str | None = None) -> IndexSource:
    """Reads `URL/INDEX`.

    Raises:
        WrongParameter: not the URL of an engine followed by an index.
        BadInput: the query is not a JSON object.
    """
    address, _, index = url.rstrip("/").rpartition("/")
    where = read_address(address) if "://" in address and not address.endswith("/") else None
    if not isinstance(where, EngineAddress):
        # The URL itself is left out: it may hold a password.
        raise WrongParameter("name an index to read by URL/INDEX, such as https://localhost:9200/pages")
    try:
        found = None if query is None else json.loads(query)
    except ValueError as error:
        raise BadInput(f"the query is not JSON ({error}); give one such as '{{\"match_all\": {{}}}}'") from error
    if found is not None and not isinstance(found, dict):
        raise BadInput("the query is not a JSON object; give one such as '{\"match_all\": {}}'")
    return IndexSource(where, check_index_name(index), layout, found)


@contextmanager
def opened_index(
    source: IndexSource,
    folder: Path,
    *,
    access: EngineAccess = EngineAccess(),
    timeout_s: float = 30.0,
    progress: Progress = no_progress,
) -> Iterator[Source]:
    """A file with the index's documents as JSONL rows with our own field names; `forget` deletes it.

    Args:
        folder: folder of the file. A copy that an earlier run made there is used again.
        access: access to the engine of the index.

    Raises:
        NotFound: there is no such index.
        StoreUnavailable: the engine cannot be read.
        BadInput: the index has none of the text fields.
    """
    copy = _Copy(folder / f"{source.key}.gz")
    if not copy.state.get("whole"):
        client = connect(Upstream(source.address, access, timeout_s))
        try:
            with engine_errors(source.address.shown, source.index):
                _fill(copy, source, client, timeout_s, progress)
        finally:
            client.close()
    yield Source(copy.path, source.name, "jsonl", digest=f"{source.key}:{copy.state['n_bytes']}")


def forget(copy: Source) -> None:
    """Deletes a copy after its documents are ingested."""
    for path in (copy.path, copy.path.with_suffix(".json")):
        path.unlink(missing_ok=True)


class _Copy:
    """The file of rows and its state.

    Attributes:
        state: the point in time `pit`; the number of the current `index` and `slice`, and its last sort values
            `after`; `n_rows` and `n_bytes` of complete pages; and `whole`, whether the copy is complete.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state_path = path.with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        self.state: dict[str, Any] = self._read() or {"n_bytes": 0, "n_rows": 0, "whole": False}

    def begin(self) -> None:
        """Cuts off what was written after the last complete page."""
        with self.path.open("ab") as file:
            file.truncate(self.state["n_bytes"])

    def start_over(self) -> None:
        self.state = {"n_bytes": 0, "n_rows": 0, "whole": False}
        self.begin()

    def add(self, rows: Sequence[Mapping[str, Any]], **place: Any) -> None:
        """Writes a page, then the state after it."""
        # The fastest level, so that the engine need not wait.
        frame = gzip.compress(b"".join(orjson.dumps(row) + b"\n" for row in rows), compresslevel=1)
        with self.path.open("ab") as file:
            file.write(frame)
        n_bytes, n_rows = self.state["n_bytes"] + len(frame), self.state["n_rows"] + len(rows)
        self.save(**place, n_bytes=n_bytes, n_rows=n_rows)

    def save(self, **changed: Any) -> None:
        self.state |= changed
        scratch = self._state_path.with_suffix(".tmp")
        scratch.write_text(json.dumps(self.state))
        scratch.replace(self._state_path)

    def _read(self) -> dict[str, Any] | None:
        try:
            state = json.loads(self._state_path.read_text())
            is_there = self.path.stat().st_size >= state["n_bytes"]
        except (OSError, ValueError, KeyError):
            return None
        return state if is_there else None


def _fill(
    copy: _Copy, source: IndexSource, client: opensearchpy.OpenSearch, timeout_s: float, progress: Progress
) -> None:
    try:
        _go_on(copy, source, client, timeout_s, progress)
    except exceptions.NotFoundError:
        if "pit" not in copy.state:
            raise
        # The point in time has expired. Another one has other rows.
        copy.start_over()
        _go_on(copy, source, client, timeout_s, progress)


def _go_on(
    copy: _Copy, source: IndexSource, client: opensearchpy.OpenSearch, timeout_s: float, progress: Progress
) -> None:
    query = source.query or {"match_all": {}}
    mappings = with_retries(partial(client.indices.get_mapping, index=source.index))
    distribution = with_retries(partial(detect_distribution, client))
    total = int(with_retries(partial(client.count, index=source.index, body={"query": query}))["count"])
    copy.begin()
    names = sorted(mappings)
    for place, name in enumerate(names):
        if place < copy.state.get("index", 0):
            continue
        reader = row_reader(mappings[name]["mappings"], source.layout, source.name)
        is_begun = place == copy.state.get("index") and "pit" in copy.state
        moment = PointInTime(client, distribution, name, copy.state["pit"] if is_begun else None)
        if not is_begun:
            copy.save(index=place, slice=0, after=None, pit=moment.id)
        for number, of_slice in enumerate(moment.slices):
            if number < copy.state["slice"]:
                continue
            after = copy.state["after"] if number == copy.state["slice"] else None
            for hits in moment.pages(query, reader.fields, max(60.0, timeout_s), of_slice, after):
                rows = [reader.row(hit) for hit in hits]
                copy.add(rows, slice=number, after=hits[-1]["sort"], pit=moment.id)
                progress(copy.state["n_rows"], total, f"reading {source.index}")
            copy.save(slice=number + 1, after=None)
        moment.close()
        del copy.state["pit"]
        copy.save(index=place + 1)
    copy.save(whole=True)
