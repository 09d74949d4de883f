"""Turns the index definitions beside this file (JSON, an engine's own words) into the body that creates one index.

`text.LANGUAGE` and `title.LANGUAGE` have the engine's analyzer of that language (`other` for languages without one) for
BM25, and below each a sub-field `words` of unstemmed words with term vectors. A document fills those of its language.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

DISTRIBUTIONS = ("opensearch", "elasticsearch")

# The fields of a language; of a document, the first is its title and the second its text.
TEXT_FIELDS = ("title", "text")

OTHER_LANGUAGE = "other"

# What each engine calls the length of a vector.
_DIMENSION = {"opensearch": "dimension", "elasticsearch": "dims"}

# Options of a field that are compared; an engine adds others that nobody asked for.
_COMPARED = ("type", "analyzer", "doc_values", *_DIMENSION.values())

# Fields that came after the first mapping; an index made before is given them when it is next written to.
ADDED_FIELDS: Mapping[str, Any] = {
    "weights": {"type": "keyword"},
    "doc_id": {"type": "keyword", "index": False},
    "id_hash": {"type": "long", "index": False},
    "title_key": {"type": "long", "index": False},
    "text_key": {"type": "long", "index": False},
}


def index_definition(
    distribution: str,
    dim: int,
    meta: Mapping[str, Any],
    language_analyzers: bool = True,
) -> dict[str, Any]:
    """The body that creates an index.

    Args:
        distribution: of `DISTRIBUTIONS`.
        dim: of the nBOW embeddings.
        meta: kept as `_meta`.
        language_analyzers: False takes `standard` for every language, for a node without the module analysis-common.
    """
    definition = copy.deepcopy(_read(distribution))
    definition["mappings"]["_meta"] = dict(meta)
    definition["mappings"]["properties"]["nbow"][_DIMENSION[distribution]] = dim
    if not language_analyzers:
        for field in TEXT_FIELDS:
            for language in definition["mappings"]["properties"][field]["properties"].values():
                language["analyzer"] = "standard"
    return definition


def has_doc_values(mapping: Mapping[str, Any]) -> bool:
    """Whether the bags of an index of ours can be read from doc values. In an index made before they are in `_source`
    alone; only a rebuild changes that.

    Args:
        mapping: the index's, as an engine shows it.
    """
    return mapping.get("properties", {}).get("bag", {}).get("doc_values") is True


def mapping_differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """The fields of a mapping that are missing from another, or that it defines in another way. Left out are fields of
    the metadata, which come with the documents, and `ADDED_FIELDS`, which come with the next writing.

    Args:
        found: an index's mapping, as an engine shows it.
        wanted: as `index_definition` makes it.
    """
    there, here = dict(_fields(found)), dict(_fields(wanted))
    missing = [f"no field {name}" for name in here if name not in there and name not in ADDED_FIELDS]
    changed = [
        f"field {name} has {option} {there[name].get(option)!r} instead of {value!r}"
        for name, options in here.items()
        if name in there
        for option, value in options.items()
        if option in _COMPARED and there[name].get(option) != value
    ]
    return missing + changed


def _fields(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each field by its dotted name with its options, sub-fields too."""
    for section in ("properties", "fields"):
        for name, options in mapping.get(section, {}).items():
            if "type" in options and options["type"] != "object":
                yield prefix + name, options
            if prefix + name != "metadata":
                yield from _fields(options, f"{prefix}{name}.")


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
