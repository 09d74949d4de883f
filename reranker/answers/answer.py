"""What every answer has in common: it is a frozen dataclass, and a mapping of the keys of its JSON."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Mapping[str, Any]):
    """One JSON object of an answer: `hit.title` and `hit["title"]` are the same.

    Each field is a key of the JSON, in the order of the declaration. A field with a default is left out of the JSON
    while it holds that default. The text below a field is its description in OpenAPI.
    """

    # Read by pydantic, where OpenAPI is made (`reranker.api.openapi`).
    __pydantic_config__: ClassVar[dict[str, bool]] = {"use_attribute_docstrings": True}

    def __getitem__(self, key: str) -> Any:
        default = defaults(type(self))[key]
        value = getattr(self, key)
        if value == default:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._present())

    def __len__(self) -> int:
        return len(self._present())

    def items(self) -> ItemsView[str, Any]:
        return self._present().items()  # several times as fast as a look-up for each key

    def _present(self) -> dict[str, Any]:
        """The keys and values of the JSON."""
        values = ((name, getattr(self, name), default) for name, default in defaults(type(self)).items())
        return {name: value for name, value, default in values if default is MISSING or value != default}


@cache
def defaults(kind: type[Answer]) -> Mapping[str, Any]:
    """The default of each field, in their order; `MISSING` for a field that every answer has."""
    return {each.name: each.default for each in fields(kind)}
