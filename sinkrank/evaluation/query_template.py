"""Reads the body of a search with the placeholder `{{text}}`, and fills queries in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reranker.base.errors import BadInput

PLACEHOLDER = "{{text}}"
_EXAMPLE = '{"query": {"multi_match": {"query": "{{text}}", "fields": ["title^5", "text"]}}}'


@dataclass(frozen=True)
class QueryTemplate:
    """The body of a search for an engine.

    Attributes:
        body: the caller's query. `from`, `size` and `ext.rerank` do not change which hits are found.
    """

    body: Mapping[str, Any]

    @classmethod
    def over(cls, fields: Sequence[str]) -> QueryTemplate:
        """The template of a `multi_match` query over these fields."""
        return cls({"query": {"multi_match": {"query": PLACEHOLDER, "fields": list(fields)}}})

    @classmethod
    def read(cls, path: Path) -> QueryTemplate:
        """Reads a template from a file.

        Raises:
            OSError: the file cannot be read.
            BadInput: it is not a JSON object, or has no `{{text}}`.
        """
        try:
            body = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise BadInput(
                f"{path} is not JSON ({error}); write {PLACEHOLDER} within quotes, as in {_EXAMPLE}"
            ) from error
        if not isinstance(body, dict):
            raise BadInput(f"{path} does not hold a JSON object; write the body of a search, as {_EXAMPLE}")
        template = cls(body)
        if template.filled("a") == template.filled("b"):
            raise BadInput(f"{path} has no {PLACEHOLDER}, where the query goes; write it as in {_EXAMPLE}")
        return template

    def filled(self, text: str) -> dict[str, Any]:
        """The body for a query."""
        return {name: _filled(value, text) for name, value in self.body.items()}

    def search(self, text: str, rerank: Mapping[str, Any]) -> dict[str, Any]:
        """The same with these keys in its `ext.rerank`, beside its own."""
        body = self.filled(text)
        ext = body.get("ext") or {}
        return {**body, "ext": {**ext, "rerank": {**(ext.get("rerank") or {}), **rerank}}}


def _filled(value: Any, text: str) -> Any:
    """Fills the strings of parsed JSON, so that no query can change its structure."""
    if isinstance(value, str):
        return value.replace(PLACEHOLDER, text)
    if isinstance(value, dict):
        return {name: _filled(one, text) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, text) for one in value]
    return value
