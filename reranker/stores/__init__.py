"""Where encoded documents are kept and found: `open_store` opens a folder or an engine behind one protocol."""

from __future__ import annotations

from pathlib import Path

from reranker.stores.addresses import EngineAddress, read_address
from reranker.stores.embedded import EmbeddedStore
from reranker.stores.protocol import Store

__all__ = ["open_store"]


def open_store(
    address: str,
    *,
    username: str | None = None,
    password: str | None = None,
    ca_certs: str | Path | None = None,
    timeout_s: float = 30.0,
    verify_certs: bool = True,
) -> Store:
    """The store at an address; nothing is connected or made before it is used.

    Args:
        address: `opensearch://HOST:PORT`, `elasticsearch://HOST:PORT` (plain HTTP; `opensearch+https://…` for TLS),
            `http://…` or `https://…` of either engine, or else a folder. An engine's may hold `USER:PASSWORD@`.
        username: of the engine; goes before one in the address.
        ca_certs: PEM file of the authorities to trust; the usual ones where it is None.
        timeout_s: how long an answer, or a lock, is waited for.
        verify_certs: False trusts any certificate.

    Raises:
        BadInput: the address has none of these forms.
    """
    where = read_address(address)
    if not isinstance(where, EngineAddress):
        return EmbeddedStore(where, timeout_s)
    # opensearch-py takes a while to import, and a folder needs none of it.
    from reranker.stores.engine import EngineStore

    return EngineStore(
        where.with_credentials(username, password),
        ca_certs=None if ca_certs is None else Path(ca_certs),
        timeout_s=timeout_s,
        verify_certs=verify_certs,
    )
