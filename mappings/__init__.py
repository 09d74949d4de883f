"""Turns the index definitions in this folder (JSON, in the terms of the engines) into the body that creates an index.

`index.json` is common to both engines; each has a file of what it adds. A title has the definition of a text.
`text.LANGUAGE` and `title.LANGUAGE` use the engine's analyzer of that language (`other` for languages without one) for
BM25. Each has a sub-field `words` of unstemmed words with term vectors. A document has the fields of its language.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

DISTRIBUTIONS = ("opensearch", "elasticsearch")

# The fields of a language: title and text of a document.
TEXT_FIELDS = ("title", "text")

# Of any document: the packed bag of words, the language that it is in, the id, the keys of title and short text.
BAG_FIELD = "bag"
LANGUAGE_FIELD = "lang"
ID_FIELD = "doc_id"
KEY_FIELDS = {"title": "title_key", "text": "text_key"}
# All that a hit is ranked by.
RANKING_FIELDS = (BAG_FIELD, LANGUAGE_FIELD, ID_FIELD, *KEY_FIELDS.values())

OTHER_LANGUAGE = "other"

# Each engine's name for the length of a vector.
_DIMENSION = {"opensearch": "dimension", "elasticsearch": "dims"}


def index_definition(distribution: str, dim: int, meta: Mapping[str, Any]) -> dict[str, Any]:
    """The body that creates an index.

    Args:
        distribution: one of `DISTRIBUTIONS`.
        dim: dimensions of the nBOW embeddings.
        meta: stored as `_meta`.
    """
    definition = copy.deepcopy(_read(distribution))
    definition["mappings"]["_meta"] = dict(meta)
    definition["mappings"]["properties"]["nbow"][_DIMENSION[distribution]] = dim
    return definition


@cache
def analyzed_languages(distribution: str) -> frozenset[str]:
    """The languages with their own fields."""
    languages = _read(distribution)["mappings"]["properties"]["text"]["properties"]
    return frozenset(languages) - {OTHER_LANGUAGE}


@cache
def _read(distribution: str) -> dict[str, Any]:
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution is {distribution!r}; use one of {', '.join(DISTRIBUTIONS)}")
    definition: dict[str, Any] = _merged(_load("index"), _load(distribution))
    properties = definition["mappings"]["properties"]
    properties["title"] = copy.deepcopy(properties["text"])
    return definition


def _load(name: str) -> Any:
    return json.loads(files(__name__).joinpath(f"{name}.json").read_text("utf-8"))


def _merged(common: Any, own: Any) -> Any:
    """`own`, and what `common` has besides."""
    if not isinstance(own, dict) or not isinstance(common, dict):
        return own
    return common | {name: _merged(common.get(name), value) for name, value in own.items()}
