"""Makes, fills, replaces and deletes our indices in OpenSearch or Elasticsearch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any

from opensearchpy import exceptions

from mappings import index_definition
from reranker.base.errors import BadInput, NotFound
from reranker.stores.base.checks import check_dim
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.names import IndexVersion, check_index_name, version_name, writing_alias
from reranker.stores.base.notes import Change, Kind, NotesWriter
from reranker.stores.base.writing import NewVector, PreparedDocument, Preparer, StoredBag, WriteResult
from reranker.stores.engine.actions import delete_action, preparer, vector_action
from reranker.stores.engine.client import engine_errors
from reranker.stores.engine.notes import NOTES_INDEX, change_note, forget_notes
from reranker.stores.engine.scan import PointInTime, read_bags
from reranker.stores.engine.store import EngineStore
from reranker.stores.engine.versions import check_name_is_free, forget_run, move_alias, versions_of
from reranker.stores.engine.writer import BulkWriter

# Making or dropping an index waits for the whole cluster.
_LEAST_ADMIN_TIMEOUT_S = 60.0


class WritableEngineStore(NotesWriter, EngineStore):
    """A `WritableStore` in an engine; see `reranker.stores.base.protocol.WritableStore`."""

    @property
    def _admin_timeout_s(self) -> float:
        return max(_LEAST_ADMIN_TIMEOUT_S, self._timeout_s)

    def stage(self, index: str, description: IndexDescription, run: str | None = None) -> str:
        check_dim(description.dim)
        if index == NOTES_INDEX:
            raise BadInput(f"{NOTES_INDEX!r} is where Sinkrank keeps its idf tables; take another name")
        with suppress(NotFound):
            self.open(index)  # raises if another program made it, and if no index can have the name
        with engine_errors(self._address, index):
            check_name_is_free(self._client, index)
            version = version_name(index, (version.name for version in versions_of(self._client, index)))
            definition = self._definition(description, index, run)
            try:
                self._client.indices.create(index=version, body=definition, request_timeout=self._admin_timeout_s)
            except exceptions.RequestError as error:
                if error.error in ("resource_already_exists_exception", "invalid_index_name_exception"):
                    raise BadInput(
                        f"{self._address} has {version!r} already, or does not allow the name; take another, or "
                        f"rebuild the index with --rebuild"
                    ) from error
                raise
            forget_notes(self._client, version)  # of an index with this name that another program deleted
        return version

    def complete(self, version: str) -> None:
        found = self.open(version)
        with engine_errors(self._address, version):
            forget_run(self._client, found.name, self._admin_timeout_s)

    def promote(self, index: str, version: str) -> None:
        with engine_errors(self._address, index):
            move_alias(self._client, index, version, self._admin_timeout_s)

    def versions(self, index: str) -> list[IndexVersion]:
        check_index_name(index)
        with engine_errors(self._address, index):
            return versions_of(self._client, index)

    def drop(self, index: str) -> None:
        found = self.open(index)
        with engine_errors(self._address, index):
            names = [version.name for version in versions_of(self._client, index)] or [found.name]
            self._client.indices.delete(index=",".join(names), request_timeout=self._admin_timeout_s)
            for name in names:
                forget_notes(self._client, name)

    def preparer(self, index: str) -> Preparer:
        self.open(index)
        with engine_errors(self._address, index):
            return preparer(self._distribution())

    def write_prepared(self, index: str, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        return self._write(self._ready_to_write(index), documents)

    def delete(self, index: str, doc_ids: Iterable[str]) -> Iterator[WriteResult]:
        return self._write(self._ready_to_write(index), map(delete_action, doc_ids))

    def replace_vectors(self, index: str, vectors: Iterable[NewVector]) -> Iterator[WriteResult]:
        return self._write(self._ready_to_write(index), map(vector_action, vectors))

    def bags(self, index: str, stale: Mapping[str, str] | None = None) -> Iterator[StoredBag]:
        return self._bags(self.open(index).name, stale)

    def refresh(self, index: str) -> None:
        found = self.open(index)
        with engine_errors(self._address, index):
            self._client.indices.refresh(index=found.name, request_timeout=self._admin_timeout_s)

    def own_name(self, index: str) -> str:
        return self.open(index).name

    def change_note(self, name: str, kind: Kind, change: Change) -> None:
        with engine_errors(self._address, name):
            change_note(self._client, name, kind, change)

    def _definition(
        self, description: IndexDescription, version_of: str | None = None, run: str | None = None
    ) -> dict[str, Any]:
        return index_definition(self._distribution(), description.dim, description.as_meta(version_of, run))

    def _ready_to_write(self, index: str) -> str:
        """Returns the index's own name, after giving it the alias for writing. Writing to an alias does not create an
        index that was deleted meanwhile."""
        name = self.open(index).name
        with engine_errors(self._address, index):
            alias, body = writing_alias(name), {"is_hidden": True}
            self._client.indices.put_alias(index=name, name=alias, body=body, request_timeout=self._admin_timeout_s)
        return name

    def _write(self, name: str, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        with engine_errors(self._address, name):
            yield from BulkWriter(self._client, name, self._timeout_s).write(documents)

    def _bags(self, name: str, stale: Mapping[str, str] | None) -> Iterator[StoredBag]:
        with (
            engine_errors(self._address, name),
            closing(PointInTime(self._client, self._distribution(), name)) as moment,
        ):
            yield from read_bags(moment, self._admin_timeout_s, stale)
