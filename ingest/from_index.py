"""Copies the documents of an engine's index, at a point in time, into a temporary file, so that ingest can read them
twice."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import opensearchpy

from ingest.documents import Layout
from ingest.files import Source
from ingest.index_rows import row_reader
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput, StoreUnavailable, WrongParameter
from reranker.base.raw_json import write_value
from reranker.base.temporary import temporary_folder
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
        limit: number of documents to read; None reads all.
    """

    address: EngineAddress
    index: str
    layout: Layout
    query: Mapping[str, Any] | None = None
    limit: int | None = None

    @property
    def name(self) -> str:
        return f"{self.address.redacted}/{self.index}"


def read_index_source(url: str, layout: Layout, query: str | None = None, limit: int | None = None) -> IndexSource:
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
    return IndexSource(where, check_index_name(index), layout, found, limit)


@contextmanager
def opened_index(
    source: IndexSource,
    folder: Path,
    *,
    access: EngineAccess = EngineAccess(),
    timeout_s: float = 30.0,
    progress: Progress = no_progress,
) -> Iterator[Source]:
    """A file with the index's documents as JSONL rows with our own field names.

    Args:
        folder: folder of the temporary folder of the file.
        access: access to the engine of the index.

    Raises:
        NotFound: there is no such index.
        StoreUnavailable: the engine cannot be read.
        BadInput: the index has none of the text fields.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with temporary_folder("index-", folder) as temporary:
        path = temporary / "documents.gz"
        client = connect(Upstream(source.address, access, timeout_s))
        try:
            with engine_errors(source.address.redacted, source.index):
                digest = _copy(path, source, client, timeout_s, progress)
        finally:
            client.close()
        yield Source(path, source.name, "jsonl", digest=digest)


def _copy(
    path: Path, source: IndexSource, client: opensearchpy.OpenSearch, timeout_s: float, progress: Progress
) -> str:
    """Writes the rows, and returns a hash of them."""
    query = source.query or {"match_all": {}}
    distribution = with_retries(partial(detect_distribution, client))
    n_rows = 0
    digest = blake2b(digest_size=16)
    with closing(PointInTime(client, distribution, source.index)) as moment:
        mappings = with_retries(partial(client.indices.get_mapping, index=source.index))
        readers = {
            name: row_reader(mapping["mappings"], source.layout, source.name) for name, mapping in mappings.items()
        }
        fields = sorted({field for reader in readers.values() for field in reader.fields})
        mapped = sorted({field for reader in readers.values() for field in reader.mapped})
        timeout_s = max(60.0, timeout_s)
        n_matching = moment.count(query, timeout_s)
        total = min(n_matching, source.limit or n_matching)
        # The fastest level, so that the engine need not wait.
        with gzip.open(path, "wb", compresslevel=1) as file:
            for page in moment.pages(query, fields, timeout_s, mapped):
                hits = page if source.limit is None else page[: source.limit - n_rows]
                if any(hit["_index"] not in readers for hit in hits):
                    raise StoreUnavailable(f"{source.name} is another index now; run the same command again")
                lines = [write_value(readers[hit["_index"]].row(hit)) + "\n" for hit in hits]
                rows = "".join(lines).encode("utf-8", "backslashreplace")  # half a surrogate pair as its escape
                file.write(rows)
                digest.update(rows)
                n_rows += len(hits)
                progress(n_rows, total, f"reading {source.index}")
                if n_rows == source.limit:
                    break
    return digest.hexdigest()
