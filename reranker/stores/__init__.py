"""Stores of encoded documents, in a folder or an engine. `open_store` opens either; both have the same protocols."""

from __future__ import annotations

from reranker.stores.base.protocol import WritableStore
from reranker.stores.embedded.writable import WritableEmbeddedStore
from reranker.upstream.access import EngineAccess
from reranker.upstream.addresses import EngineAddress, read_address

__all__ = ["EngineAccess", "open_store"]


def open_store(
    address: str,
    *,
    username: str | None = None,
    password: str | None = None,
    access: EngineAccess = EngineAccess(),
    timeout_s: float = 30.0,
) -> WritableStore:
    """Opens the store at an address. Nothing is connected or created before its first use.

    Args:
        address: `opensearch://HOST:PORT`, `elasticsearch://HOST:PORT` (plain HTTP; `opensearch+https://…` for TLS),
            `http://…` or `https://…` of either engine, or a folder. An engine's address may contain `USER:PASSWORD@`
            and several nodes of one cluster: `opensearch://A:9200,B:9200`.
        username: of the engine; replaces one in the address.
        access: certificates and other credentials of an engine.
        timeout_s: how long to wait for an answer or a lock.

    Raises:
        BadInput: the address has none of these forms, or the access is not valid.
    """
    where = read_address(address)
    if not isinstance(where, EngineAddress):
        return WritableEmbeddedStore(where, timeout_s)
    # opensearch-py takes long to import, and a folder does not need it.
    from reranker.stores.engine.writable import WritableEngineStore

    return WritableEngineStore(where.with_credentials(username, password), access, timeout_s=timeout_s)
