"""`search`, `explain`, `evaluate`, `tune` and `doctor` on an index of a real engine that Sinkrank did not make."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import urllib3

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION
from reranker.service.settings import Settings
from reranker.stores import open_store
from tests.commands.test_doctor import checks
from tests.support.commands import MakeForeign, Run
from tests.support.engines.sources import Engine

pytestmark = [pytest.mark.any_engine, pytest.mark.engine, pytest.mark.usefixtures("home")]

WORDS = ["cat", "dog", "water", "bread", "car"]
DOCUMENTS = [
    {"title": first, "text": f"{second} {third}", "sku": "zzz"}
    for first, second, third in itertools.product(WORDS, repeat=3)
]
PAIRS = list(itertools.permutations(WORDS, 2))
TEMPLATE = {"query": {"multi_match": {"query": "{{text}}", "fields": ["title^5", "text"]}}}
PROPERTIES = {
    "title": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
    "text": {"type": "text"},
    "sku": {"type": "keyword"},
}
MakeIndex = Callable[..., str]


@pytest.fixture
def make(make_foreign: MakeForeign) -> MakeIndex:
    def call(documents: list[Any] = DOCUMENTS, properties: Any = PROPERTIES, **mappings: Any) -> str:
        return make_foreign(properties, documents, **mappings)

    return call


@pytest.fixture
def arguments(engine: Engine, tmp_path: Path) -> list[str]:
    """24 queries of two words and one that is unknown; of each the document with the words in its title and text."""
    pairs = list(itertools.permutations(WORDS, 2)) + [(word, word) for word in WORDS[:4]]
    lines = [json.dumps({"query_id": f"q{n}", "query": " ".join(pair)}) for n, pair in enumerate(pairs)]
    lines.append(json.dumps({"query_id": "unknown", "query": "qqq"}))
    (tmp_path / "queries").write_text("\n".join(lines), encoding="utf-8")
    judged = [
        f"q{n} 0 {next(i for i, d in enumerate(DOCUMENTS) if (d['title'], d['text'].split()[0]) == pair)} 1"
        for n, pair in enumerate(pairs)
    ]
    (tmp_path / "qrels").write_text("\n".join([*judged, "unknown 0 1 1"]), encoding="utf-8")
    (tmp_path / "template.json").write_text(json.dumps(TEMPLATE), encoding="utf-8")
    store = engine.url.replace("http://", "opensearch://")
    return ["--queries", str(tmp_path / "queries"), "--qrels", str(tmp_path / "qrels"), "--store", store]


def direct_order(engine: Engine, index: str, text: str, fields: list[str]) -> list[str]:
    body = {"query": {"multi_match": {"query": text, "fields": fields}}, "size": 100}
    answer = urllib3.request("POST", f"{engine.url}/{index}/_search", json=body, timeout=60).json()
    return [hit["_id"] for hit in answer["hits"]["hits"]]


@pytest.mark.parametrize("with_template", [True, False])
def test_methods_are_compared_with_the_engines_own_order(
    run: Run,
    make: MakeIndex,
    arguments: list[str],
    engine: Engine,
    tmp_path: Path,
    with_template: bool,
) -> None:
    index = make()
    template = ["--template", str(tmp_path / "template.json")] if with_template else []
    out = tmp_path / "out"
    result = run(
        "evaluate", *arguments, "--index", index, *template, "--methods", "rwmd", "--json", "--output", str(out)
    )
    report = json.loads(result.stdout)
    assert list(report["methods"]) == ["none", "rwmd"]
    assert {"nDCG@10", "MRR", "R@100"} <= set(report["methods"]["rwmd"]["means"])
    assert report["searches"] == {"rwmd": {"applied": 24, "skipped unknown_words": 1}}
    lines = (out / "none.run").read_text(encoding="utf-8").splitlines()
    fields = ["title^5", "text"] if with_template else ["text", "title"]
    for query_id, text in (("q0", "cat dog"), ("q20", "cat cat")):
        of_query = [line.split()[2] for line in lines if line.startswith(f"{query_id} ")]
        assert of_query == direct_order(engine, index, text, fields)
    assert ("searching the text fields text, title" in result.stderr) is not with_template


def test_a_person_reads_how_many_searches_were_reranked_and_why_others_were_not(
    run: Run, make: MakeIndex, arguments: list[str]
) -> None:
    result = run("evaluate", *arguments, "--index", make(), "--methods", "rwmd")
    assert result.stdout.endswith("searches by rwmd: 24 applied, 1 skipped unknown_words\n")


def test_without_judgments_the_titles_of_the_index_are_the_queries(
    run: Run, make: MakeIndex, arguments: list[str], engine: Engine
) -> None:
    index = make([{"title": f"{first} {second} q{n}", "text": first} for n, (first, second) in enumerate(PAIRS)])
    report = json.loads(run("evaluate", *arguments[4:], "--index", index, "--methods", "auto", "--json").stdout)
    assert {one["query"] for one in report["queries"]} == {f"{a} {b} q{n}" for n, (a, b) in enumerate(PAIRS)}
    # A word of its own finds each.
    assert report["methods"]["auto"]["difference"]["much_worse_at_most"] == pytest.approx(1 - 0.05 ** (1 / 20))


def test_an_engine_with_indices_of_others_alone_is_said_to_hold_none_that_sinkrank_made(
    run: Run, make: MakeIndex, engine: Engine
) -> None:
    name = make()
    found = checks(run, "--quick", "--store", engine.url, exits=None)
    assert found["store"]["message"].endswith(" that Sinkrank made")
    assert f"index {name}" not in found
    result = run("search", "cat", "--store", engine.url, "--index", f"{name}s", exits=1)
    assert f"has no index '{name}s'; check its name, or make it with `sinkrank ingest FILE" in result.stderr


def test_tune_chooses_what_the_proxy_can_be_set_to(run: Run, make: MakeIndex, arguments: list[str]) -> None:
    result = run("tune", *arguments, "--index", make(), "--method", "relaxed", "--json")
    chosen = json.loads(result.stdout)["chosen"]
    assert {"method", "epsilon", "depth"} <= set(chosen)


@pytest.mark.parametrize(
    ("more", "code", "told"),
    [
        (["--template", "gone.json"], 1, "gone.json: No such file"),
        (["--template", "template.json", "--store", ".sinkrank/store"], 2, "needs an engine"),
    ],
)
def test_what_cannot_be_is_said(
    run: Run, make: MakeIndex, arguments: list[str], more: list[str], code: int, told: str
) -> None:
    assert told in run("evaluate", *arguments, "--index", make(), *more, exits=code).stderr


def test_a_template_without_an_index(run: Run, arguments: list[str]) -> None:
    assert "--index NAME" in run("evaluate", *arguments, "--template", "template.json", exits=2).stderr


def test_an_index_without_text_fields_needs_a_template(run: Run, make: MakeIndex, arguments: list[str]) -> None:
    result = run("evaluate", *arguments, "--index", make([{"n": 1}], {"n": {"type": "integer"}}), exits=1)
    assert "has 0 text fields" in result.stderr
    assert "--template FILE" in result.stderr


def looked_at(run: Run, engine: Engine, index: str) -> tuple[bool, str]:
    store = engine.url.replace("http://", "opensearch://")
    found = checks(run, "--quick", "--store", store, "--index", index, exits=None)
    return found[f"index {index}"]["ok"], found[f"index {index}"]["message"]


def test_doctor_says_what_the_proxy_reads_and_what_to_do(run: Run, engine: Engine, make: MakeIndex) -> None:
    is_sound, message = looked_at(run, engine, make())
    assert is_sound, message
    assert "`_source` in 125 of 125 sampled documents" in message
    assert "text 56%, title 25%, sku 19% (no text field)" in message  # 8.6, 3.8 and 3 letters
    assert "languages en 100%" in message
    assert "25.0% of the words without an embedding" in message  # one of four
    assert "a search through the proxy: applied" in message
    assert message.endswith(
        'to leave out sku, set `proxy_text_fields = ["text", "title"]` in sinkrank.toml, or '
        "SINKRANK_PROXY_TEXT_FIELDS=text,title"
    )


def test_doctor_follows_the_fields_that_are_set(
    run: Run, engine: Engine, make: MakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make()
    monkeypatch.setenv("SINKRANK_PROXY_TEXT_FIELDS", "title,text")
    is_sound, message = looked_at(run, engine, index)
    assert is_sound
    assert "read: title, text (proxy_text_fields)" in message
    assert "0.0% of the words" in message
    monkeypatch.setenv("SINKRANK_PROXY_TEXT_FIELDS", "body")
    is_sound, message = looked_at(run, engine, index)
    assert not is_sound
    assert "fallback no_text_in_hits" in message
    assert "SINKRANK_PROXY_TEXT_FIELDS=text,title" in message


def test_doctor_knows_an_index_without_sources(run: Run, engine: Engine, make: MakeIndex) -> None:
    """Also one with vectors: Elasticsearch refuses to leave them out of what it does not keep."""
    vector = {"type": "dense_vector", "dims": 2} if engine.distribution == "elasticsearch" else {"type": "float"}
    documents = [{"text": "cat", "v": [1, 2]}] * 3
    off = {"enabled": False}
    is_sound, message = looked_at(run, engine, make(documents, {"text": {"type": "text"}, "v": vector}, _source=off))
    assert not is_sound
    assert "`_source` in 0 of 3" in message
    assert "keep `_source`" in message


def test_doctor_searches_for_documents_with_text_though_the_first_ones_have_none(
    run: Run, engine: Engine, make: MakeIndex
) -> None:
    is_sound, message = looked_at(run, engine, make([{"n": 1}] * 30 + [{"text": "cat"}] * 5))
    assert is_sound, message
    assert "a search through the proxy: applied" in message


def test_doctor_says_when_the_embeddings_do_not_fit(run: Run, engine: Engine, make: MakeIndex) -> None:
    is_sound, message = looked_at(run, engine, make([{"text": "qqq xxx yyy cat"}] * 3))
    assert not is_sound
    assert "75.0% of the words without an embedding" in message
    assert "these embeddings know en, fr" in message
    assert "too few to learn how rare words are" in message


def test_doctor_says_that_an_index_is_empty(run: Run, engine: Engine, make: MakeIndex) -> None:
    index = make([{"text": "cat"}])
    urllib3.request("DELETE", f"{engine.url}/{index}/_doc/0?refresh=true", timeout=60)
    assert looked_at(run, engine, index) == (
        False,
        "not made by Sinkrank; it has no readable document; add documents, then run this again",
    )


def test_without_embeddings_doctor_says_that_searches_pass_and_what_makes_them(
    engine: Engine, make: MakeIndex, run: Run, home: Path
) -> None:
    index = make()
    found = checks(run, "--quick", "--store", engine.url, "--index", index, "--embeddings", "none")
    command = f"sinkrank embeddings prepare --store {engine.url} --index {index} --output none"
    assert command in found["embeddings"]["message"]
    assert "passes its searches to the engine" in found[f"index {index}"]["message"]


@pytest.fixture
def of_store(engine: Engine) -> list[str]:
    return ["--store", engine.url.replace("http://", "opensearch://")]


def proxied(engine: Engine, index: str, home: Path, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The hits of a service before the engine, once it has learned the index's words."""
    store = open_store(engine.url)
    app = create_app(Settings(home=home / ".sinkrank", store=engine.url, proxy_budget_ms=60_000), store, tiny(home))
    for _ in range(2):
        answer = app.test_client().post(f"/{index}/_search", json=body)
        app.extensions[PROXY_EXTENSION].ranking.statistics.wait(60)
    store.close()
    assert answer.headers["X-Rerank-Status"] == "applied"
    hits: list[dict[str, Any]] = answer.get_json()["hits"]["hits"]
    return hits


def tiny(home: Path) -> Embeddings:
    return Embeddings.open(home / ".sinkrank" / "embeddings")


def test_search_and_explain_show_what_callers_of_the_proxy_get(
    run: Run, make: MakeIndex, engine: Engine, home: Path, of_store: list[str]
) -> None:
    index, text = make(), "cat dog water bread"
    query = {"multi_match": {"query": text, "fields": ["text", "title"]}}
    rerank = {"language": "en", "details": True, "window_size": 30}
    expected = proxied(engine, index, home, {"query": query, "from": 1, "size": 3, "ext": {"rerank": rerank}})
    options = ["--index", index, *of_store, "--lang", "en", "--depth", "30"]
    result = run("search", text, *options, "--from", "1", "--size", "3", "--json")
    assert "searching the text fields text, title; --template asks another way" in result.stderr
    answer = json.loads(result.stdout)
    assert [hit["id"] for hit in answer["hits"]] == [hit["_id"] for hit in expected]
    for hit, other in zip(answer["hits"], expected, strict=True):
        details = other["_rerank"]
        assert hit["score"] == pytest.approx(other["_score"], abs=2e-6)
        assert hit["score_parts"] == pytest.approx(details["score_parts"], abs=1e-5)
        assert (hit["rank"], hit["first_stage_rank"]) == (details["rank"], details["first_stage_rank"])
        assert hit["first_stage_score"] == details["first_stage_score"]
        document = DOCUMENTS[int(hit["id"])]
        assert (hit["title"], hit["metadata"], hit["language"]) == (document["title"], document, "en")
    found = urllib3.request("POST", f"{engine.url}/{index}/_count", json={"query": query}, timeout=60).json()["count"]
    assert (answer["n_candidates"], answer["n_reranked"]) == (found, 30)
    assert (answer["first_stage"], answer["method"]) == ("engine", "auto")
    assert (answer["language"], answer["unknown_words"], answer["has_feedback"]) == ("en", [], True)

    first = expected[0]
    explained = json.loads(run("explain", text, first["_id"], *options, "--json").stdout)
    assert explained["score_parts"] == pytest.approx(first["_rerank"]["score_parts"], abs=1e-5)
    neighbours = first["_rerank"]["score_sources"]["neighbours"]["documents"]
    assert [each["id"] for each in explained["score_sources"]["neighbours"]["documents"]] == [
        each["id"] for each in neighbours
    ]
    assert explained["document"]["text"] == "{text}\n{title}".format(**DOCUMENTS[int(first["_id"])])
    assert sum(word["distance"] for word in explained["words"]) == pytest.approx(explained["distance"], abs=1e-9)


def test_a_query_that_fits_two_languages_is_said_to_be_read_in_that_of_the_index_as_the_proxy_reads_it(
    run: Run, make: MakeIndex, of_store: list[str]
) -> None:
    # `chat` is the commonest French word here, and `bread` a rare English one.
    answer = json.loads(run("search", "bread chat", "--index", make(), *of_store, "--json").stdout)
    assert (answer["language"], answer["n_reranked"] > 0) == ("en", True)


def test_a_person_reads_the_hits_and_why_the_first_is_there(run: Run, make: MakeIndex, of_store: list[str]) -> None:
    options = ["--index", make(), *of_store, "--lang", "en"]
    shown = run("search", "bread", *options, "--method", "emd").stdout
    (first,) = [line.split() for line in shown.splitlines() if line.split()[:1] == ["1"]]
    assert first[-1] == str(DOCUMENTS.index({"title": "bread", "text": "bread bread", "sku": "zzz"}))
    assert first[4:6] == ["en", "bread"]
    assert "61 found by engine in" in shown  # of 125, (4/5)³ = 64 have no bread
    assert " ms, 61 re-ranked by emd (float64) in" in shown
    # Eight documents have no other words than these two: the others of the twenty best bring theirs.
    why = run("explain", "bread cat qqq www", first[-1], *options).stdout
    assert "auto distance" in why
    assert "Neighbours: it resembles" in why
    (gained,) = [line for line in why.splitlines() if line.startswith("Feedback: the query gained")]
    assert all(word in gained for word in ("dog", "water", "car"))


def test_the_engines_order_is_shown_where_it_stays(run: Run, make: MakeIndex, of_store: list[str]) -> None:
    options = ["--index", make(), *of_store]
    result = run("search", "zzz cat", *options, "--method", "none", "--json")
    answer = json.loads(result.stdout)
    assert (answer["method"], answer["took_ms"]["rerank"], answer["unknown_words"]) == ("none", 0, ["zzz"])
    assert [hit["rank"] for hit in answer["hits"]] == list(range(1, 11))
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert "the engine's order stays" not in result.stderr
    assert "the engine's order stays: unknown_words" in run("search", "qqq", *options).stderr


def test_a_template_asks_in_the_callers_way_also_in_an_index_of_ours(
    run: Run, make: MakeIndex, engine: Engine, of_store: list[str], tmp_path: Path
) -> None:
    template = tmp_path / "template.json"
    only = {"query": {"bool": {"must": {"match": {"title": "{{text}}"}}, "filter": {"term": {"sku": "zzz"}}}}}
    template.write_text(json.dumps(only), encoding="utf-8")
    options = ["--index", make(), *of_store, "--template", str(template)]
    result = run("search", "cat", *options, "--json")
    assert "searching the text fields" not in result.stderr
    assert json.loads(result.stdout)["n_candidates"] == 25
    assert json.loads(run("explain", "cat", "0", *options, "--json").stdout)["id"] == "0"


@pytest.mark.parametrize(
    ("command", "more", "code", "told"),
    [
        (["search", "cat"], ["--filter", "sku=zzz"], 2, "--filter is for an index that Sinkrank made"),
        (["search", "cat"], ["--first-stage", "bm25"], 2, "--first-stage is for an index that Sinkrank made"),
        (["search", "cat"], ["--template", "gone.json"], 1, "gone.json: No such file"),
        (["explain", "cat", "nowhere"], [], 1, "the searched indices hold no document 'nowhere'"),
        (["explain", "qqq", "1"], [], 1, "keeps the engine's order (unknown_words)"),
        (["explain", "cat", "0"], ["--method", "none"], 1, "keeps the engine's order (method_none)"),
    ],
)
def test_a_search_or_explanation_that_cannot_be_says_why(
    run: Run, make: MakeIndex, of_store: list[str], command: list[str], more: list[str], code: int, told: str
) -> None:
    result = run(*command, "--index", make(), *of_store, *more, exits=code)
    assert told in result.stderr.splitlines()[-1]


def test_without_a_name_the_error_says_how_to_give_one(run: Run, make: MakeIndex, of_store: list[str]) -> None:
    make()
    assert "name yours with --index NAME" in run("search", "cat", *of_store, exits=2).stderr
