"""The demo's kind of queries on an ordinary index of a real engine: English texts, their analyzer, no vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import urllib3
from flask import Flask

from reranker.api.app import create_app
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.text.normalization import normalize_term
from sinkrank.demo import load_parallel_texts
from sinkrank.demo.trained import train_on
from tests.support.calls import hits, make_index, post
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

# What was typed, and the text that answers; all are the demo's own or like them.
QUERIES = [
    ("un billet d'autobus pour les enfants", "bus"),
    ("Wasser für die Pflanzen", "garden"),
    ("médicament prescrit par le médecin", "pharmacy"),
    ("Schnee und Regen morgen", "weather"),
    ("apprendre à lire et à écrire", "school"),
    ("Strom vom Dach", "solar"),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    """Of the texts that are not in the index."""
    return train_on(load_parallel_texts(), tmp_path_factory.mktemp("translation") / "embeddings")


@pytest.fixture(scope="module")
def english(engine: Engine) -> Iterator[str]:
    """The held-out English texts."""
    name = f"translation-{os.getpid()}"
    text = {"type": "text", "analyzer": "english"}
    pages = [page for page in load_parallel_texts().test_pages if page.language == "en"]
    documents = [{"id": page.page_id, "title": page.title, "text": page.text} for page in pages]
    with urllib3.PoolManager() as http:
        properties = {"id": {"type": "keyword"}, "title": text, "text": text}
        make_index(http, engine.url, name, properties, documents)
        yield name
        http.request("DELETE", f"{engine.url}/{name}")


@pytest.fixture
def app(engine: Engine, trained: Embeddings, tmp_path: Path) -> Iterator[Flask]:
    store = open_store(engine.url)
    app = create_app(Settings(home=tmp_path, threads=1, store=engine.url, proxy_budget_ms=60_000), store, trained)
    yield app
    store.close()


def multi_match(text: str, **more: Any) -> dict[str, Any]:
    return {"query": {"multi_match": {"query": text, "fields": ["title^2", "text"]}}, **more}


def ids(answer: Any) -> list[str]:
    return [hit["_source"]["id"] for hit in hits(answer)]


@pytest.mark.parametrize(("text", "wanted"), QUERIES)
def test_a_query_in_another_language_finds_its_text_among_the_first_three(
    http: urllib3.PoolManager, engine: Engine, url: str, app: Flask, english: str, text: str, wanted: str
) -> None:
    body = multi_match(text, ext={"rerank": {"translate": True}})
    direct = post(http, f"{engine.url}/{english}/_search", multi_match(text))
    assert wanted not in ids(direct)[:3]
    proxy: Proxy = app.extensions[PROXY_EXTENSION]
    post(http, f"{url}/{english}/_search", body)
    assert proxy.ranking.statistics.wait(30)  # now the languages of the index are known
    answer = post(http, f"{url}/{english}/_search", body)
    assert answer.headers["X-Rerank-Reason"] == "translated"
    assert wanted in ids(answer)[:3]


def test_nothing_has_to_be_set_for_a_query_that_finds_nothing(
    http: urllib3.PoolManager, engine: Engine, url: str, english: str
) -> None:
    body = {"query": {"match": {"text": {"query": "Pflanzen Frühling", "operator": "and", "fuzziness": "AUTO"}}}}
    assert ids(post(http, f"{engine.url}/{english}/_search", body)) == []
    answer = post(http, f"{url}/{english}/_search", body)
    assert (answer.headers["X-Rerank-Status"], answer.headers["X-Rerank-Reason"]) == ("applied", "translated")
    assert "garden" in ids(answer)[:3]
    assert answer.json()["hits"]["total"]["value"] == len(ids(answer))


@pytest.mark.parametrize(
    "query",
    [
        {"match": {"text": "Pflanzen"}},
        {"match_phrase": {"text": "Pflanzen Frühling"}},
        {"multi_match": {"query": "Pflanzen", "fields": ["t*"], "type": "most_fields", "operator": "and"}},
        {"multi_match": {"query": "Pflanzen Frühling", "fields": ["text", "title"], "type": "cross_fields"}},
        {"query_string": {"query": "Pflanzen text:Frühling"}},
        {"query_string": {"query": "Pflanzen", "default_field": "text", "default_operator": "AND"}},
        {"simple_query_string": {"query": "Pflanzen", "fields": ["text^3", "title"]}},
        {"simple_query_string": {"query": "Pflanzen"}},
        {"bool": {"must": {"match": {"text": "Pflanzen"}}, "filter": {"terms": {"id": ["garden", "tea"]}}}},
        {"dis_max": {"queries": [{"match": {"title": "Pflanzen"}}, {"match": {"text": "Pflanzen"}}]}},
        {"function_score": {"query": {"match": {"text": "Pflanzen"}}}},
    ],
)
def test_every_kind_of_text_query_is_translated(
    http: urllib3.PoolManager, url: str, english: str, query: dict[str, Any]
) -> None:
    answer = post(http, f"{url}/{english}/_search", {"query": query})
    assert answer.headers.get("X-Rerank-Reason") == "translated", (answer.data, answer.headers)
    assert "garden" in ids(answer)[:3]


def test_the_translated_words_are_highlighted(http: urllib3.PoolManager, url: str, english: str) -> None:
    body = {"query": {"match": {"text": "Pflanzen"}}, "highlight": {"fields": {"text": {}}}}
    answer = post(http, f"{url}/{english}/_search", body)
    marked = " ".join(fragment for hit in hits(answer) for fragment in hit["highlight"]["text"])
    assert "<em>plant" in marked


def test_a_long_query_in_many_fields_is_taken_by_the_engine(http: urllib3.PoolManager, url: str, english: str) -> None:
    page = next(page for page in load_parallel_texts().test_pages if (page.page_id, page.language) == ("garden", "de"))
    fields = ["title", "text", "id", "other.a", "other.b", "other.c"]
    query = {"multi_match": {"query": " ".join([page.text] * 3), "fields": fields}}
    answer = post(http, f"{url}/{english}/_search", {"query": query, "ext": {"rerank": {"languages": ["en"]}}})
    assert answer.headers.get("X-Rerank-Reason") == "translated", (answer.data, answer.headers)
    assert ids(answer)[0] == "garden"


@pytest.mark.parametrize(
    ("query", "language", "word", "document"),
    [
        ("printer", "el", "εκτυπωτής", "Ο εκτυπωτής"),
        ("hot", "de", "heiß", "Das Wasser ist heiß"),
        ("printer", "ar", "الطابعة", "الطابعة"),
        ("black", "ru", "чёрный", "чёрный чай"),
        ("computer", "uk", "комп’ютер", "мій комп’ютер"),
        ("Weiß", "de", "drucker", "Call Mr Weiß"),
        ("Παπαδόπουλος", "el", "εκτυπωτής", "Call Mr Παπαδόπουλος"),
        ("Горбачёв", "ru", "принтер", "Call Mr Горбачёв"),
    ],
)
def test_a_word_is_searched_as_texts_spell_it_in_an_index_that_folds_no_letters(
    http: urllib3.PoolManager, engine: Engine, tmp_path: Path, query: str, language: str, word: str, document: str
) -> None:
    with EmbeddingsWriter(tmp_path / "embeddings", dim=2, source="test") as writer:
        writer.append("en", [query if query.isascii() else "printer"], np.array([(1.0, 0.0)]))
        writer.append(language, [normalize_term(word, language)], np.array([(1.0, 0.0)]))
        writer.commit()
    spoken, asked = ("en", language) if query.isascii() else (language, "en")
    section = {"language": spoken, "languages": [asked]}
    text = query if query.isascii() else f"{query} {word}"
    name = f"spelled-{os.getpid()}"
    make_index(http, engine.url, name, {"text": {"type": "text"}}, [{"text": document}])
    store = open_store(engine.url)
    settings = Settings(home=tmp_path, threads=1, store=engine.url, proxy_budget_ms=60_000)
    try:
        client = create_app(settings, store, Embeddings.open(tmp_path / "embeddings")).test_client()
        body = {"query": {"match": {"text": text}}, "ext": {"rerank": section}}
        found = client.post(f"/{name}/_search", json=body)
        assert [hit["_source"]["text"] for hit in found.get_json()["hits"]["hits"]] == [document], found.headers
    finally:
        http.request("DELETE", f"{engine.url}/{name}")
        store.close()
