"""Reads and changes the two settings of an OpenSearch cluster that decide which addresses ml-commons may call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import opensearchpy

TRUSTED_ENDPOINTS = "plugins.ml_commons.trusted_connector_endpoints_regex"
PRIVATE_ADDRESSES = "plugins.ml_commons.connector.private_ip_enabled"

_Scope = Literal["transient", "persistent"]


class ClusterSettings:
    """Changes a setting in the scope where it is already set: a transient value hides a persistent one."""

    def __init__(self, client: opensearchpy.OpenSearch) -> None:
        self._client = client

    def trust(self, pattern: str) -> list[str]:
        """Adds a pattern to the trusted endpoints and returns all of them."""
        values, scope = self._read(TRUSTED_ENDPOINTS)
        patterns = [*_as_list(values), pattern]
        self._write(scope, TRUSTED_ENDPOINTS, patterns)
        return patterns

    def distrust(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Removes patterns from the trusted endpoints and returns those that it removed."""
        values, scope = self._read(TRUSTED_ENDPOINTS)
        trusted = _as_list(values)
        removed = tuple(pattern for pattern in patterns if pattern in trusted)
        if removed:
            self._write(scope, TRUSTED_ENDPOINTS, [one for one in trusted if one not in removed])
        return removed

    def allow_private_addresses(self) -> None:
        _, scope = self._read(PRIVATE_ADDRESSES)
        self._write(scope, PRIVATE_ADDRESSES, True)

    def allows_private_addresses(self) -> bool:
        value, _ = self._read(PRIVATE_ADDRESSES)
        return str(value).lower() == "true"

    def _read(self, name: str) -> tuple[Any, _Scope]:
        """Returns the current value, and the scope in which to change it."""
        params = {"include_defaults": "true", "flat_settings": "true"}
        answer = self._client.cluster.get_settings(params=params)
        scopes: tuple[_Scope, ...] = ("transient", "persistent")
        for scope in scopes:
            if name in answer[scope]:
                return answer[scope][name], scope
        return answer["defaults"].get(name), "persistent"

    def _write(self, scope: _Scope, name: str, value: Any) -> None:
        self._client.cluster.put_settings(body={scope: {name: value}})


def _as_list(value: Any) -> list[str]:
    """Reads a list setting, which the engine returns as a list or, if it has one value, as a string."""
    if not value:
        return []
    return [value] if isinstance(value, str) else [str(one) for one in value]
