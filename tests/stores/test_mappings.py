"""The index definitions that are sent to the engines."""

from __future__ import annotations

from typing import Any

import pytest

from mappings import DISTRIBUTIONS, analyzed_languages, index_definition, mapping_differences
from reranker.stores.base.checks import MAX_FILTERABLE_LENGTH
from reranker.stores.base.description import IndexDescription

DESCRIPTION = IndexDescription(embeddings_version="five-words", dim=7)


def defined(distribution: str) -> dict[str, Any]:
    """The mapping of a new index."""
    mapping: dict[str, Any] = index_definition(distribution, DESCRIPTION.dim, DESCRIPTION.as_meta())["mappings"]
    return mapping


@pytest.mark.parametrize(("distribution", "length"), [("opensearch", "dimension"), ("elasticsearch", "dims")])
def test_the_dimension_and_the_versions_are_filled_in(distribution: str, length: str) -> None:
    mapping = defined(distribution)
    assert mapping["properties"]["nbow"][length] == 7
    assert IndexDescription.from_meta(mapping["_meta"], "docs") == DESCRIPTION


def test_vectors_are_compared_by_cosine_in_full_precision() -> None:
    opensearch, elasticsearch = (defined(name)["properties"]["nbow"] for name in ("opensearch", "elasticsearch"))
    assert (opensearch["method"]["engine"], opensearch["method"]["space_type"]) == ("lucene", "cosinesimil")
    # `int8_hnsw`, the default since 8.14, would round the scores.
    assert (elasticsearch["similarity"], elasticsearch["index_options"]["type"]) == ("cosine", "hnsw")


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_each_language_has_its_analyzer_and_unstemmed_words_with_term_vectors(distribution: str) -> None:
    properties = defined(distribution)["properties"]
    assert properties["text"] == properties["title"]
    languages = properties["text"]["properties"]
    assert languages["en"]["analyzer"] == "english"
    assert languages["el"]["analyzer"] == "greek"
    assert languages["other"]["analyzer"] == "standard"
    assert set(languages) == analyzed_languages(distribution) | {"other"}
    for language in languages.values():
        assert language["fields"]["words"] == {"type": "text", "analyzer": "words", "term_vector": "yes"}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_fields_that_are_missing_or_others_are_differences(distribution: str) -> None:
    new, old = defined(distribution), defined(distribution)
    old["properties"]["bag"] = {"type": "binary"}
    del old["properties"]["doc_id"]
    assert mapping_differences(new, new) == []
    assert mapping_differences(old, new) == ["no field doc_id", "field bag has doc_values None instead of True"]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_without_language_analyzers_every_language_is_standard(distribution: str) -> None:
    definition = index_definition(distribution, DESCRIPTION.dim, DESCRIPTION.as_meta(), language_analyzers=False)
    languages = definition["mappings"]["properties"]["text"]["properties"].values()
    assert {language["analyzer"] for language in languages} == {"standard"}
    with_analyzers = defined(distribution)["properties"]["text"]["properties"]
    assert with_analyzers["en"]["analyzer"] == "english"


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_unknown_fields_are_refused_and_dates_stay_text(distribution: str) -> None:
    mapping = defined(distribution)
    assert mapping["dynamic"] == "strict"
    assert mapping["date_detection"] is False
    assert mapping["properties"]["metadata"] == {"type": "object", "dynamic": True}
    (text,) = (template["text"] for template in mapping["dynamic_templates"] if "text" in template)
    assert text["mapping"] == {"type": "keyword", "ignore_above": MAX_FILTERABLE_LENGTH}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_definition_is_of_settings_and_mappings(distribution: str) -> None:
    definition = index_definition(distribution, DESCRIPTION.dim, DESCRIPTION.as_meta())
    assert set(definition) == {"settings", "mappings"}
    assert definition["settings"]["index"]["number_of_shards"] == 1
    assert definition["settings"]["index"].get("knn", False) is (distribution == "opensearch")


def test_an_unknown_engine_has_no_definition() -> None:
    with pytest.raises(ValueError, match="solr"):
        index_definition("solr", DESCRIPTION.dim, DESCRIPTION.as_meta())
