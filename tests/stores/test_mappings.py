"""The index definitions that are sent to the engines."""

from __future__ import annotations

from typing import Any

import pytest

from mappings import DISTRIBUTIONS, index_definition, mapping_differences
from reranker.stores.base.description import IndexDescription

DESCRIPTION = IndexDescription(embeddings_version="five-words", dim=7)


def defined(distribution: str) -> dict[str, Any]:
    """The mapping of a new index."""
    mapping: dict[str, Any] = index_definition(distribution, DESCRIPTION.dim, DESCRIPTION.as_meta())["mappings"]
    return mapping


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_fields_that_are_missing_or_others_are_differences(distribution: str) -> None:
    new, old = defined(distribution), defined(distribution)
    old["properties"]["bag"] = {"type": "binary"}
    del old["properties"]["doc_id"]
    assert mapping_differences(new, new) == []
    assert mapping_differences(old, new) == ["no field doc_id", "field bag has doc_values None instead of True"]
