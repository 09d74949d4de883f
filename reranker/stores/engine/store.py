"""Opens the indices of OpenSearch or Elasticsearch, ours for searches, and reads samples of any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reranker.base.errors import NotOurIndex
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.names import check_any_index_name, check_index_name
from reranker.stores.engine.client import connect, detect_distribution, engine_errors
from reranker.stores.engine.index import EngineIndex
from reranker.stores.engine.probes import node_problems
from reranker.stores.engine.sample import sample_documents
from reranker.stores.engine.ubi_events import read_clicks
from reranker.stores.engine.versions import index_names
from reranker.upstream.access import EngineAccess
from reranker.upstream.addresses import Distribution, EngineAddress
from reranker.upstream.nodes import Upstream


class EngineStore:
    """A `Store` in an engine; see `reranker.stores.base.protocol.Store`."""

    def __init__(
        self, address: EngineAddress, access: EngineAccess = EngineAccess(), *, timeout_s: float = 30.0
    ) -> None:
        self._address = address.redacted
        self._timeout_s = timeout_s
        self._upstream = Upstream(address, access, timeout_s)
        self._client = connect(self._upstream)
        # People write `opensearch://` for either engine, so only the other scheme decides.
        self._distribution_found: Distribution | None = (
            "elasticsearch" if address.distribution == "elasticsearch" else None
        )

    @property
    def address(self) -> str:
        return self._address

    def problems(self) -> list[str]:
        return node_problems(self._upstream)

    def indices(self) -> list[str]:
        with engine_errors(self._address):
            return index_names(self._client)

    def open(self, index: str) -> EngineIndex:
        check_index_name(index)
        with engine_errors(self._address, index):
            answer = self._client.indices.get_mapping(index=index, params={"filter_path": "*.mappings._meta"})
            if len(answer) > 1:
                raise NotOurIndex(
                    f"{index!r} stands for {len(answer)} indices ({', '.join(sorted(answer))}); name one of them"
                )
            # For an index of another program the filter may leave nothing.
            name = next(iter(answer), index)
            meta = answer[name]["mappings"]["_meta"] if answer else None
            description = IndexDescription.from_meta(meta, index)
            return EngineIndex(self._client, self._address, self._distribution, index, name, description)

    def sample(self, index: str, fields: Sequence[str], n_documents: int) -> Iterator[Mapping[str, Any]]:
        """Yields a random sample of the documents of any index, ours or not, as hits (`sample_documents`)."""
        with engine_errors(self._address, index):
            yield from sample_documents(self._client, index, fields, n_documents)

    def ubi_clicks(self, query_ids: Sequence[str]) -> list[tuple[str, str]]:
        """The clicks that OpenSearch's User Behavior Insights recorded for some queries (`read_clicks`)."""
        with engine_errors(self._address):
            return list(read_clicks(self._client, query_ids))

    def mappings(self, index: str) -> list[Mapping[str, Any]]:
        """Returns the mapping of any index, ours or not; several if the name is an alias of several."""
        with engine_errors(self._address, index):
            answer = self._client.indices.get_mapping(index=check_any_index_name(index))
        return [found["mappings"] for found in answer.values()]

    def close(self) -> None:
        self._client.close()

    def _distribution(self) -> Distribution:
        if self._distribution_found is None:
            with engine_errors(self._address):
                self._distribution_found = detect_distribution(self._client)
        return self._distribution_found
