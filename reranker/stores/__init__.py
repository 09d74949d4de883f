"""Where encoded documents are kept and found: `open_store` opens a folder or an engine behind one protocol."""

from __future__ import annotations

from reranker.base.errors import WrongParameter
from reranker.stores.base.addresses import EngineAddress, read_address
from reranker.stores.base.protocol import Store
from reranker.stores.embedded.store import EmbeddedStore
from reranker.stores.engine.access import EngineAccess

__all__ = ["EngineAccess", "open_store"]


def open_store(
    address: str,
    *,
    username: str | None = None,
    password: str | None = None,
    access: EngineAccess = EngineAccess(),
    timeout_s: float = 30.0,
    pipeline: str | None = None,
) -> Store:
    """The store at an address; nothing is connected or made before it is used.

    Args:
        address: `opensearch://HOST:PORT`, `elasticsearch://HOST:PORT` (plain HTTP; `opensearch+https://…` for TLS),
            `http://…` or `https://…` of either engine, or else a folder. An engine's may hold `USER:PASSWORD@`, and
            name several nodes of one cluster: `opensearch://A:9200,B:9200`.
        username: of the engine; goes before one in the address.
        access: certificates and other credentials of an engine.
        timeout_s: how long an answer, or a lock, is waited for.
        pipeline: the engine's ingest pipeline that documents go through; the index's default one where it is None.

    Raises:
        BadInput: the address has none of these forms, or what is given of the access cannot be.
    """
    where = read_address(address)
    if not isinstance(where, EngineAddress):
        if pipeline is not None:
            raise WrongParameter(f"{address} is a folder, which has no ingest pipelines; leave out --pipeline")
        return EmbeddedStore(where, timeout_s)
    # opensearch-py takes a while to import, and a folder needs none of it.
    from reranker.stores.engine.store import EngineStore

    return EngineStore(where.with_credentials(username, password), access, timeout_s=timeout_s, pipeline=pipeline)
