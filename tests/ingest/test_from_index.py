"""Documents of an engine's index come into another, every one of them once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

from ingest.documents import Layout, read_records
from ingest.files import Source
from ingest.from_index import IndexSource, opened_index, read_index_source
from ingest.pipeline import Options, ingest
from reranker.base.errors import BadInput, NotFound, StoreUnavailable, WrongParameter
from reranker.embeddings import Embeddings
from reranker.stores.base.protocol import WritableStore
from reranker.stores.engine import retries, scan
from tests.ingest.faulty_proxy import faulty_proxy, is_read, is_search
from tests.ingest.runs import dropped
from tests.stores.fake_engine import serve
from tests.stores.samples import fill, make_document
from tests.support.commands import Run
from tests.support.engines.sources import Engine

pytestmark = pytest.mark.any_engine

N_DOCUMENTS = 2_500


@pytest.fixture(scope="module")
def foreign(engine: Engine) -> Iterator[str]:
    """An index of three shards that another program has made."""
    url = f"{engine.url}/foreign-{os.getpid()}"
    properties: dict[str, Any] = {
        "content": {"properties": {"body": {"type": "text"}, "summary": {"type": "text"}}},
        "headline": {"type": "text"},
        "lang": {"type": "keyword"},
        "year": {"type": "integer"},
        "secret": {"type": "object", "enabled": False},
    }
    definition = {"settings": {"number_of_shards": 3, "number_of_replicas": 0}, "mappings": {"properties": properties}}
    assert urllib3.request("PUT", url, json=definition, timeout=60).status == 200
    lines = []
    for number in range(N_DOCUMENTS):
        lines.append(json.dumps({"index": {"_id": f"d/{number}"}}))
        content = {"body": f"chat {number}", "summary": ["eau", "pain"]}
        lines.append(
            json.dumps({"content": content, "headline": "Titre", "lang": "fr", "year": number, "secret": {"a": 1}})
        )
    body = "\n".join(lines) + "\n"
    headers = {"content-type": "application/x-ndjson"}
    assert urllib3.request("POST", f"{url}/_bulk?refresh=true", body=body, headers=headers, timeout=60).status == 200
    yield url
    urllib3.request("DELETE", url, timeout=60)


@pytest.fixture(autouse=True)
def _small_pages_and_short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_PAGE_DOCUMENTS", 100)
    monkeypatch.setattr(retries, "FIRST_WAIT_S", 0.001)


LAYOUT = Layout(text_field="content.body, content.summary")


def numbers_of(copy: Source) -> list[int]:
    """The documents of a copy, by their numbers."""
    return sorted(int(str(record.doc_id)[2:]) for record in read_records([copy], Layout()))


def test_every_document_of_every_shard_is_copied_once_with_its_fields(foreign: str, tmp_path: Path) -> None:
    with opened_index(read_index_source(foreign, LAYOUT), tmp_path) as copy:
        found = [record.document for record in read_records([copy], Layout())]
    assert sorted(int(one.doc_id[2:]) for one in found) == list(range(N_DOCUMENTS))
    one = next(one for one in found if one.doc_id == "d/7")
    assert (one.title, one.text, one.language) == ("Titre", "chat 7\neau\npain", "fr")
    assert one.metadata == {"year": 7}


def test_a_query_chooses_among_the_documents(foreign: str, tmp_path: Path) -> None:
    query = json.dumps({"range": {"year": {"gte": N_DOCUMENTS - 3}}})
    with opened_index(read_index_source(foreign, LAYOUT, query), tmp_path) as copy:
        assert len(list(read_records([copy], Layout()))) == 3


def test_a_copy_is_gone_at_the_end_and_named_by_its_rows(foreign: str, tmp_path: Path) -> None:
    digests = set()
    for query in (None, None, '{"term": {"year": 7}}'):
        with opened_index(read_index_source(foreign, LAYOUT, query), tmp_path) as copy:
            digests.add(copy.digest)
    assert len(digests) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [429, 503])
def test_a_source_that_is_overloaded_now_and_then_is_copied_whole(foreign: str, tmp_path: Path, status: int) -> None:
    node, _, index = foreign.rpartition("/")
    with faulty_proxy(node, lambda number: "pass" if number % 3 == 2 else status, is_read) as proxy:
        with opened_index(read_index_source(f"{proxy.address}/{index}", LAYOUT), tmp_path) as copy:
            assert numbers_of(copy) == list(range(N_DOCUMENTS))
        assert proxy.faults.count(status) > 10


def test_a_source_whose_shards_fail_now_and_then_is_copied_whole(foreign: str, tmp_path: Path) -> None:
    node, _, index = foreign.rpartition("/")
    with faulty_proxy(node, lambda number: "partial" if number % 3 == 1 else "pass", is_search) as proxy:
        with opened_index(read_index_source(f"{proxy.address}/{index}", LAYOUT), tmp_path) as copy:
            assert numbers_of(copy) == list(range(N_DOCUMENTS))
        assert proxy.faults.count("partial") > 10


def test_a_source_with_a_shard_that_fails_for_long_is_not_copied(foreign: str, tmp_path: Path) -> None:
    node, _, index = foreign.rpartition("/")
    with (
        faulty_proxy(node, lambda number: "partial" if number > 3 else "pass", is_search) as proxy,
        pytest.raises(StoreUnavailable),
        opened_index(read_index_source(f"{proxy.address}/{index}", LAYOUT), tmp_path),
    ):
        pass


@pytest.mark.parametrize("status", [403, "cut"])
def test_the_point_in_time_is_closed_if_a_page_cannot_be_read(foreign: str, tmp_path: Path, status: int | str) -> None:
    node, _, index = foreign.rpartition("/")
    paths: list[str] = []

    def is_noted(path: str) -> bool:
        paths.append(path)
        return is_search(path)

    with (
        faulty_proxy(node, lambda number: status if number > 3 else "pass", is_noted) as proxy,
        pytest.raises(StoreUnavailable),
        opened_index(read_index_source(f"{proxy.address}/{index}", LAYOUT), tmp_path),
    ):
        pass
    # To open it, a path begins with the index.
    assert paths[-1] in ("/_pit", "/_search/point_in_time")


@pytest.fixture(scope="module")
def filtered(engine: Engine, foreign: str) -> Iterator[str]:
    """An alias of the index above, without most of its documents, and of another index that has no other fields in
    common."""
    alias, other = f"{engine.url}/filtered-{os.getpid()}", f"{engine.url}/other-{os.getpid()}"
    keyword = {"type": "keyword"}
    properties = {"content": {"properties": {"body": {"type": "text"}}}, "tenant": keyword, "lang": keyword}
    definition = {"settings": {"number_of_shards": 2, "number_of_replicas": 0}, "mappings": {"properties": properties}}
    assert urllib3.request("PUT", other, json=definition, timeout=60).status == 200
    for number in range(N_DOCUMENTS, N_DOCUMENTS + 20):
        content = {"content": {"body": f"chien {number}"}, "tenant": "ours", "lang": "fr"}
        url = f"{other}/_doc/d%2F{number}?refresh=true"
        assert urllib3.request("PUT", url, json=content, timeout=60).status == 201
    names = [url.rpartition("/")[2] for url in (foreign, other, alias)]
    shown = {"range": {"year": {"gte": N_DOCUMENTS - 300}}}
    actions = [
        {"add": {"index": names[0], "alias": names[2], "filter": shown}},
        {"add": {"index": names[1], "alias": names[2]}},
    ]
    assert urllib3.request("POST", f"{engine.url}/_aliases", json={"actions": actions}, timeout=60).status == 200
    yield alias
    urllib3.request("DELETE", other, timeout=60)


def test_an_alias_gives_the_documents_that_its_filter_shows(filtered: str, tmp_path: Path) -> None:
    with opened_index(read_index_source(filtered, LAYOUT), tmp_path) as copy:
        found = {str(one.doc_id): one.document for one in read_records([copy], Layout())}
    assert sorted(int(doc_id[2:]) for doc_id in found) == list(range(N_DOCUMENTS - 300, N_DOCUMENTS + 20))
    one, other = found[f"d/{N_DOCUMENTS - 1}"], found[f"d/{N_DOCUMENTS}"]
    assert one is not None
    assert one.metadata == {"year": N_DOCUMENTS - 1}
    assert other is not None
    assert (other.text, other.metadata) == (f"chien {N_DOCUMENTS}", {"tenant": "ours"})


def test_an_index_of_ours_needs_no_fields_named(
    engine: Engine,
    embedded: WritableStore,
    embeddings: Embeddings,
    tmp_path: Path,
    new_index: Callable[[], str],
) -> None:
    name = new_index()
    written = make_document("1", "chat", "fr", title="Titre", url="u", metadata={"year": 1, "a": {"b": ["c"]}})
    with dropped(engine.url, name) as store:
        fill(store, name, written)
        with opened_index(read_index_source(f"{engine.url}/{name}", Layout()), tmp_path) as copy:
            assert ingest([copy], embedded, "pages", embeddings).indexed == 1
        assert embedded.open("pages").fetch("1").document == written.document


@pytest.mark.parametrize("title", ["words", "headline"])
def test_an_index_without_the_field_says_which_it_has(foreign: str, tmp_path: Path, title: str) -> None:
    with (
        pytest.raises(BadInput, match=r"no field 'words'.*content\.body"),
        opened_index(read_index_source(foreign, Layout(text_field="words", title_field=title)), tmp_path),
    ):
        pass


def test_an_index_that_is_not_there_is_not_found(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(NotFound), opened_index(read_index_source(f"{engine.url}/absent", Layout()), tmp_path):
        pass


def test_metadata_has_the_types_of_the_mapping_however_it_was_written(
    engine: Engine, tmp_path: Path, embedded: WritableStore, embeddings: Embeddings
) -> None:
    url = f"{engine.url}/typed-{os.getpid()}"
    kinds = {"amount": "integer", "price": "double", "ok": "boolean", "day": "date", "code": "keyword"}
    properties: dict[str, Any] = {name: {"type": kind} for name, kind in kinds.items()}
    properties |= {
        "text": {"type": "text"},
        "short": {"type": "date", "format": "yyyyMMdd"},
        "stamp": {"type": "date", "format": "epoch_second||yyyy"},
        "loose": {"type": "integer", "ignore_malformed": True},
        "parts": {"type": "nested", "properties": {"size": {"type": "integer"}}},
    }
    documents: list[dict[str, Any]] = [
        {"amount": 7, "price": 10**20, "ok": False, "day": "2020-01-02", "code": "a", "short": "20200102", "loose": 1}
        | {"parts": [{"size": 1}, {"size": 2}]},
        {"amount": "7", "price": "1e20", "ok": "false", "day": 1577923200000, "code": 7, "short": 20200102}
        | {"loose": "many", "parts": [{"size": "1"}, {"size": "2"}], "stamp": 1577923200},
        {"amount": [7, "8", 9.9], "ok": "", "code": ["a", True]},
    ]
    assert urllib3.request("PUT", url, json={"mappings": {"properties": properties}}, timeout=60).status == 200
    try:
        for number, document in enumerate(documents):
            put = f"{url}/_doc/{number}?refresh=true"
            assert urllib3.request("PUT", put, json={"text": "chat", **document}, timeout=60).status == 201
        with opened_index(read_index_source(url, Layout()), tmp_path) as copy:
            options = Options(Layout(default_language="fr"))
            assert ingest([copy], embedded, "pages", embeddings, options).rejected == 0
    finally:
        urllib3.request("DELETE", url, timeout=60)
    as_mapped, as_text, lists = (embedded.open("pages").fetch(str(n)).document.metadata for n in range(3))
    assert as_mapped == {name: value for name, value in documents[0].items() if name != "parts"} | {
        "parts_size": [1, 2]
    }
    # 2020-01-02 00:00 UTC is 18,263 days after 1970.
    changed = {"day": "2020-01-02T00:00:00.000Z", "code": "7", "stamp": "2020-01-02T00:00:00.000Z"}
    assert as_text == {name: value for name, value in as_mapped.items() if name != "loose"} | changed
    assert lists == {"amount": [7, 8, 9], "ok": False, "code": ["a", "true"]}


def test_a_field_may_be_a_date_in_one_index_and_a_number_in_another(
    engine: Engine, tmp_path: Path, embedded: WritableStore, embeddings: Embeddings
) -> None:
    alias = f"stamps-{os.getpid()}"
    types = [{"type": "date", "format": "epoch_millis"}, {"type": "long"}, {"type": "date"}]
    urls = [f"{engine.url}/{alias}-{number}" for number in range(len(types))]
    try:
        for number, (url, kind) in enumerate(zip(urls, types, strict=True)):
            properties = {"text": {"type": "text"}, "stamp": kind}
            made = {"mappings": {"properties": properties}, "aliases": {alias: {}}}
            assert urllib3.request("PUT", url, json=made, timeout=60).status == 200
            put = f"{url}/_doc/{number}?refresh=true"
            document = {"text": "chat", "stamp": -1577923199877}
            assert urllib3.request("PUT", put, json=document, timeout=60).status == 201
        with opened_index(read_index_source(f"{engine.url}/{alias}", Layout()), tmp_path) as copy:
            assert ingest([copy], embedded, "pages", embeddings, Options(Layout(default_language="fr"))).rejected == 0
    finally:
        for url in urls:
            urllib3.request("DELETE", url, timeout=60)
    found = [embedded.open("pages").fetch(str(n)).document.metadata["stamp"] for n in range(3)]
    # The last is as the engine writes a date by default: so many milliseconds before 1970.
    assert found == ["1920-01-01T00:00:00.123Z", -1577923199877, "1920-01-01T00:00:00.123Z"]


@contextmanager
def served_index(texts: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """The URL of an index that a server answers for as Elasticsearch does, and the number of documents of each page."""
    lengths: list[int] = []

    def answer(method: str, path: str, body: str) -> tuple[int, Any]:
        if path == "/":
            return 200, {"version": {"number": "8.15.5"}}
        if "_mapping" in path:
            return 200, {"pages": {"mappings": {"properties": {"text": {"type": "text"}}}}}
        if "_search" not in path:
            return 200, {"id": "a point in time"}
        asked = json.loads(body)
        first = asked.get("search_after", [-1])[0] + 1
        places = range(first, min(first + asked["size"], len(texts)))
        if asked["size"]:
            lengths.append(len(places))
        hits = [{"_index": "pages", "_id": str(n), "sort": [n], "_source": {"text": texts[n]}} for n in places]
        return 200, {"hits": {"total": {"value": len(texts)}, "hits": hits}}

    with serve(answer) as engine:
        yield f"{engine.address}/pages", lengths


def test_a_document_with_half_a_surrogate_pair_is_rejected_and_the_others_are_copied(tmp_path: Path) -> None:
    with (
        served_index(["chat", "half \ud83d"]) as (url, _),
        opened_index(read_index_source(url, Layout()), tmp_path) as copy,
    ):
        first, second = read_records([copy], Layout(default_language="fr"))
    assert first.document is not None
    assert "half a surrogate pair" in str(second.reason)


def test_pages_of_long_documents_have_some_8_mb(tmp_path: Path) -> None:
    with (
        served_index(["x" * 2_000_000] * 20) as (url, lengths),
        opened_index(read_index_source(url, Layout()), tmp_path) as copy,
    ):
        assert len(list(read_records([copy], Layout(default_language="en")))) == 20
    assert max(lengths) == 3  # four have more than 8 MB with their ids


def test_pages_of_short_documents_have_many(tmp_path: Path) -> None:
    with (
        served_index(["cat"] * 500) as (url, lengths),
        opened_index(read_index_source(url, Layout()), tmp_path) as copy,
    ):
        assert len(list(read_records([copy], Layout(default_language="en")))) == 500
    assert lengths == [1, 2, 4, 8, 16, 32, 64, 100, 100, 100, 73, 0]


def test_a_limit_ends_the_reading_of_an_index(home: Path, run: Run) -> None:
    with served_index(["cat"] * 500) as (url, lengths):
        shown = run("ingest", "--from-index", url, "--limit", "5", "--lang", "en", "--json").stdout
    assert json.loads(shown)["indexed"] == 5
    assert sum(lengths) < 10


@pytest.mark.parametrize("url", ["pages", "http://localhost:9200", "http://localhost:9200/", "http:///x", "ftp://a/b"])
def test_what_is_no_url_of_an_index_is_wrong_use(url: str) -> None:
    with pytest.raises(WrongParameter):
        read_index_source(url, Layout())


def test_a_password_is_never_shown() -> None:
    source = read_index_source("https://me:secret-word@host:9200/pages", Layout())
    assert isinstance(source, IndexSource)
    assert "secret-word" not in f"{source.name} {source}"


def test_an_index_without_sources_is_refused_in_words_of_ours(engine: Engine, tmp_path: Path) -> None:
    url = f"{engine.url}/sourceless-{os.getpid()}"
    mappings = {"_source": {"enabled": False}, "properties": {"text": {"type": "text"}}}
    assert urllib3.request("PUT", url, json={"mappings": mappings}, timeout=60).status == 200
    urllib3.request("PUT", f"{url}/_doc/1?refresh=true", json={"text": "chat"}, timeout=60)
    try:
        with (
            pytest.raises(BadInput, match="keeps no `_source`"),
            opened_index(read_index_source(url, Layout()), tmp_path),
        ):
            pass
    finally:
        urllib3.request("DELETE", url, timeout=60)
