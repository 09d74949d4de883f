"""Turns the index definitions beside this file (JSON, an engine's own words) into the body that creates one index.

`text.LANGUAGE` and `title.LANGUAGE` have the engine's analyzer of that language (`other` for languages without one) for
BM25, and below each a sub-field `words` of unstemmed words with term vectors. A document fills those of its language.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reranker.stores.protocol import IndexDescription

DISTRIBUTIONS = ("opensearch", "elasticsearch")

# The fields of a language; of a document, the first is its title and the second its text.
TEXT_FIELDS = ("title", "text")

OTHER_LANGUAGE = "other"

# What each engine calls the length of a vector.
_DIMENSION = {"opensearch": "dimension", "elasticsearch": "dims"}


def index_definition(
    distribution: str, description: IndexDescription, language_analyzers: bool = True
) -> dict[str, Any]:
    """The body that creates an index.

    Args:
        distribution: of `DISTRIBUTIONS`.
        description: gives the dimension, and is kept as `_meta`.
        language_analyzers: False takes `standard` for every language, for a node without the module analysis-common.
    """
    definition = copy.deepcopy(_read(distribution))
    definition["mappings"]["_meta"] = description.as_meta()
    definition["mappings"]["properties"]["nbow"][_DIMENSION[distribution]] = description.dim
    if not language_analyzers:
        for field in TEXT_FIELDS:
            for language in definition["mappings"]["properties"][field]["properties"].values():
                language["analyzer"] = "standard"
    return definition


@cache
def analyzed_languages(distribution: str) -> frozenset[str]:
    """The languages that have fields of their own."""
    languages = _read(distribution)["mappings"]["properties"]["text"]["properties"]
    return frozenset(languages) - {OTHER_LANGUAGE}


@cache
def _read(distribution: str) -> dict[str, Any]:
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution is {distribution!r}; use one of {', '.join(DISTRIBUTIONS)}")
    definition: dict[str, Any] = json.loads(files(__name__).joinpath(f"{distribution}.json").read_text("utf-8"))
    return definition
