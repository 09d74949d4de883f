"""Decides with whose rights a request of our own routes reads the engine: the caller's, or the service's own.

A caller's `Authorization` goes to the engine in place of the service's credentials, so that the engine shows him what
it would show him anyway. The setting `callers_without_credentials` says what happens to callers who send none.
"""

from __future__ import annotations

import logging

from flask import g, request

from reranker.api.allowed_hosts import is_local
from reranker.base.errors import BadInput, Unauthenticated
from reranker.service.rights import has_credentials, refuses_strangers
from reranker.service.service import Service
from reranker.service.settings import Settings
from reranker.stores.base.names import index_of_version
from reranker.stores.base.protocol import Store
from reranker.upstream.addresses import is_engine
from reranker.upstream.incoming import IMPERSONATION, read_headers
from reranker.upstream.rights import SERVICE, Rights

_SCHEMES = frozenset(["basic", "bearer", "apikey"])
_NO_CREDENTIALS = (
    "no credentials came, and the engine is read with the caller's rights; send a user and password, API key or token "
    "as Authorization, or set callers_without_credentials to 'service_rights' to read with the service's own rights"
)
_log = logging.getLogger(__name__)


def say_who_is_let_in(settings: Settings) -> None:
    """Says in the log if callers without credentials are let in, loudly where strangers may come."""
    if refuses_strangers(settings) or not has_credentials(settings):
        return
    is_open = not (is_local(settings.host) or settings.api_keys)
    _log.log(
        logging.WARNING if is_open else logging.INFO,
        "callers without credentials read the engine with the service's own rights (callers_without_credentials = "
        "'service_rights')%s",
        f", and the service listens at {settings.host}; set api_keys, or put a gateway before it" if is_open else "",
    )


def caller_rights(service: Service) -> Rights:
    """With whose rights the current request reads documents. Ask first, so that strangers learn nothing.

    Raises:
        Unauthenticated: there are no credentials, and the service lends none; or they are of an unknown kind.
    """
    if not is_engine(service.settings.store_address):
        return SERVICE
    given = request.headers.get("Authorization", "").strip()
    if not given:
        if refuses_strangers(service.settings):
            raise Unauthenticated(_NO_CREDENTIALS)
        return SERVICE
    if given.split(None, 1)[0].lower() not in _SCHEMES:
        raise Unauthenticated("Authorization is of a scheme that is not passed on; send Basic, Bearer or ApiKey")
    others = {name.lower(): value for name, value in read_headers(request.environ)}
    return Rights({"authorization": given, **{name: others[name] for name in IMPERSONATION if name in others}})


def check_may_use_statistics(service: Service, index: str) -> None:
    """Refuses a caller who may not read an index whose numbers of documents and words are to weigh his texts. A key of
    the service is enough.

    Raises:
        Unauthenticated, NotAllowed: by the engine or by us.
        BadInput, NotFound, NotOurIndex: there is no such index to search.
    """
    if service.store is None:
        return
    has_key = g.get("api_key") and "Authorization" not in request.headers
    rights = SERVICE if has_key else caller_rights(service)
    check_is_no_version(service.store, index)
    if rights.headers:
        service.searcher.open(index).reader.count(rights=rights)


def check_is_no_version(store: Store, name: str) -> None:
    """
    Raises:
        BadInput: the name is that of a version.
    """
    index = index_of_version(name)
    if index is not None and index in (names := store.indices()) and name not in names:
        raise BadInput(f"{name!r} is a version of the index {index!r}, which may be out of date; name {index!r}")
