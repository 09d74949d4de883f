"""Decides with whose rights a request of our own routes reads the engine: the caller's, or the service's own.

A caller's `Authorization` goes to the engine in place of the service's credentials, so that the engine shows him what
it would show him anyway. The setting `callers_without_credentials` says what happens to callers who send none.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from flask import Flask, g, request

from reranker.api.allowed_hosts import is_local
from reranker.base.errors import BadInput
from reranker.base.request_context import (
    Caller,
    caller_credentials,
    current_request,
    service_rights,
    set_current_request,
)
from reranker.service.rights import has_credentials, refuses_strangers
from reranker.service.service import Service
from reranker.service.settings import Settings
from reranker.stores.base.addresses import is_engine
from reranker.stores.base.names import index_of_version
from reranker.stores.base.protocol import Store

_SCHEMES = frozenset(["basic", "bearer", "apikey"])
# With them a caller takes the rights of another user; left out, he would read with his own.
_IMPERSONATION = ("opendistro_security_impersonate_as", "es-security-runas-user")
# What they show is no document's text, and is the same for every caller: health, numbers, names of indices.
_WITH_SERVICE_RIGHTS = frozenset(["operations", "page"])

_NO_CREDENTIALS = (
    "the engine is read with your own rights, and no credentials came; send its user and password, API key or token as "
    "Authorization (the service's own rights are lent where the setting callers_without_credentials is "
    "'service_rights')"
)
_log = logging.getLogger(__name__)


def register(app: Flask, settings: Settings) -> None:
    """Sets the rights of each request, before its route runs."""
    if not is_engine(settings.store_address):
        return
    refuses = refuses_strangers(settings)
    if has_credentials(settings) and not refuses:
        _say_who_is_let_in(settings)

    def set_rights() -> None:
        context = current_request()
        if context is not None and request.blueprint is not None and request.blueprint not in _WITH_SERVICE_RIGHTS:
            set_current_request(replace(context, caller=_caller(refuses)))

    app.before_request(set_rights)


def check_may_read(service: Service, index: str) -> None:
    """Refuses a caller who may not read an index at all, before anything is read of it.

    Raises:
        Unauthenticated: there are no credentials.
        BadInput: the name is that of a version.
    """
    caller_credentials()
    if service.store is not None:
        _check_is_no_version(service.store, index)


def check_may_use_figures(service: Service, index: str) -> None:
    """Refuses a caller who may not read an index whose numbers of documents and words are to weigh his texts. A key of
    the service is enough.

    Raises:
        Unauthenticated, NotAllowed: by the engine or by us.
        BadInput, NotFound, NotOurIndex: there is no such index to search.
    """
    if service.store is None:
        return
    if g.get("api_key") and "Authorization" not in request.headers:
        _check_is_no_version(service.store, index)
        return
    check_may_read(service, index)
    if caller_credentials():
        service.store.count(index)


def _caller(refuses: bool) -> Caller:
    given = request.headers.get("Authorization", "").strip()
    if not given:
        return Caller(refusal=_NO_CREDENTIALS if refuses else "")
    scheme = given.split(None, 1)[0].lower()
    if scheme not in _SCHEMES:
        return Caller(refusal="Authorization is of a scheme that is not passed on; send Basic, Bearer or ApiKey")
    others = {name: request.headers[name] for name in _IMPERSONATION if name in request.headers}
    return Caller({"authorization": given, **others})


def _check_is_no_version(store: Store, name: str) -> None:
    index = index_of_version(name)
    if index is None:
        return
    with service_rights():
        is_version = name in (version.name for version in store.versions(index))
    if is_version:
        raise BadInput(f"{name!r} is a version of the index {index!r}, which may be out of date; name {index!r}")


def _say_who_is_let_in(settings: Settings) -> None:
    """Loudly where strangers may come."""
    is_open = not (is_local(settings.host) or settings.api_keys)
    _log.log(
        logging.WARNING if is_open else logging.INFO,
        "callers without credentials read the engine with the service's own rights (callers_without_credentials = "
        "'service_rights')%s",
        f", and the service listens at {settings.host}; set api_keys, or put a gateway before it" if is_open else "",
    )
