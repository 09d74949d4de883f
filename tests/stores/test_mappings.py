"""The index definitions that are sent to the engines."""

from __future__ import annotations

import hashlib
import json

from mappings import DISTRIBUTIONS, index_definition
from reranker.stores.base.description import MAPPING_VERSION


def test_definitions_are_those_of_the_mapping_version() -> None:
    """If older indices can no longer be read, raise MAPPING_VERSION. Then put the new hash here."""
    definitions = [index_definition(distribution, 7, {}) for distribution in DISTRIBUTIONS]
    found = hashlib.blake2b(json.dumps(definitions, sort_keys=True).encode(), digest_size=8).hexdigest()
    assert (MAPPING_VERSION, found) == (3, "db9b29d030a88829")
