"""Lets in only callers who hold a key of the service, where the setting `api_keys` names a file of keys.

A key comes as `X-Api-Key: KEY`, as `Authorization: Bearer KEY` (clients of Cohere, Jina and text-embeddings-inference
send this), or as the password of `Authorization: Basic` (browsers ask for it). The header that held it is taken out of
the request: no engine sees a key.
"""

from __future__ import annotations

import base64
import binascii
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask, g, request

from reranker.base.errors import SinkrankError, StoreUnavailable, Unauthenticated
from reranker.base.request_context import note
from reranker.service.key_file import digest, is_key, read_keys
from reranker.service.settings import Settings

# Between two looks at the file.
LOOK_SECONDS = 1.0
# Whether the process lives and works, and what the page is made of: the same for everybody.
_OPEN = frozenset(["operations.live", "operations.ready", "page.static_file"])
_HEADERS = ("HTTP_X_API_KEY", "HTTP_AUTHORIZATION")
_log = logging.getLogger(__name__)


class ApiKeys:
    """The keys of a file, read again every second; safe to share between threads."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Raises:
            NotFound, BadInput: there is no such file, or it holds something else.
        """
        self._path = path
        self._clock = clock
        self._names: dict[str, str] | None = read_keys(path)
        self._next_look = clock() + LOOK_SECONDS
        if not self._names:
            _log.warning("%s holds no key: all callers are refused; add one with `sinkrank keys add NAME`", path)

    def name_of(self, key: str) -> str | None:
        """Whose key it is; None for a key that is not in the file.

        Raises:
            StoreUnavailable: the file was lost or broken while the service runs.
        """
        if self._clock() >= self._next_look:
            self._next_look = self._clock() + LOOK_SECONDS
            self._look()
        names = self._names
        if names is None:
            raise StoreUnavailable(
                "the file of API keys cannot be read; the service's log says why", code="keys_unreadable"
            )
        return names.get(digest(key))

    def _look(self) -> None:
        before = self._names
        try:
            self._names = read_keys(self._path)
        except SinkrankError as error:
            self._names = None
            if before is not None:
                _log.error("all callers are refused: %s", error)
            return
        if self._names != before:
            _log.warning("read the API keys again: %s", ", ".join(self._names.values()) or "none")


def register(app: Flask, settings: Settings) -> ApiKeys | None:
    """Installs the check before every route, where the settings name a file of keys; these, None without one."""
    if settings.api_keys is None:
        return None
    keys = ApiKeys(settings.api_keys)

    def check() -> None:
        if request.endpoint not in _OPEN:
            g.api_key = check_key(keys, request.environ)

    app.before_request(check)
    return keys


class _NoKey(Unauthenticated):
    # Of the schemes, browsers answer only this one; programs read the message.
    challenge = 'Basic realm="Sinkrank: an API key as password", charset="UTF-8"'


def check_key(keys: ApiKeys, environ: dict[str, Any]) -> str:
    """The name of the key that came, which is taken out of the request.

    Raises:
        Unauthenticated: there is none, or it is not known.
    """
    name = take_key(keys, environ)
    if name is None:
        raise _NoKey("this service needs an API key; send it as X-Api-Key, or as Authorization: Bearer KEY")
    note(api_key=name)
    return name


def take_key(keys: ApiKeys, environ: dict[str, Any]) -> str | None:
    """The name of the key that came. No header that holds a key stays in the request, a wrong one neither."""
    name = None
    for header in _HEADERS:
        key = _key_in(environ.get(header, ""))
        if key is not None or header == "HTTP_X_API_KEY":
            environ.pop(header, None)
        if key is not None and name is None:
            name = keys.name_of(key)
    return name


def _key_in(value: str) -> str | None:
    """The key in a header, by itself or as credentials; None where there is none."""
    scheme, _, rest = value.strip().partition(" ")
    found = rest.strip() or scheme
    if scheme.lower() == "basic" and rest:
        try:
            found = base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return None
    return found if is_key(found) else None
