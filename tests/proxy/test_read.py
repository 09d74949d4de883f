"""Which searches are re-ranked, how, and what is asked of the engine instead."""

import json
from pathlib import Path
from typing import Any

import pytest

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.proxy.document_keys import document_keys
from reranker.proxy.explain import window_search
from reranker.proxy.hit_texts import HitTexts, WindowBags
from reranker.proxy.read import Skip, read_search, without_sections
from reranker.proxy.search import Search
from reranker.proxy.window import Window
from reranker.proxy.window_kinds import SEQUENCE_NUMBERS
from reranker.service.service import Service
from reranker.service.settings import Settings
from reranker.upstream.answers import read_answer
from reranker.upstream.incoming import Incoming, read_parameters, without_parameters

QUERY = {"match": {"text": "cat"}}
BOOSTED = {"function_score": {"query": QUERY, "field_value_factor": {"field": "n"}}}


@pytest.fixture
def service(embeddings: Embeddings, tmp_path: Path) -> Service:
    return Service.build(Settings(home=tmp_path, depth=20, epsilon=0.2), None, embeddings)


def read(service: Service, body: Any, query_string: str = "") -> Search:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_search(service, read_parameters(query_string), data)


WINDOW = {"from": 0, "size": 20, "seq_no_primary_term": True}


def test_a_page_is_asked_for_as_the_whole_window(service: Service) -> None:
    search = read(service, {"query": QUERY, "from": 5, "size": 3}, "routing=a%20b&from=2&pretty")
    assert json.loads(search.window_body(None, None)) == {"query": QUERY, **WINDOW}
    assert (search.page.offset, search.page.size) == (2, 3)  # the URL goes before the body
    assert search.body.section is None


def test_what_is_not_ours_to_change_stays_as_it_was_written(service: Service) -> None:
    body = b'{ "query" : {"match": {"text": "c\\u0061t"}}, "min_score":1.50E-1,"track_total_hits" : false , "size":3 }'
    search = read(service, body)
    assert search.window_body(None, None).startswith(
        b'{ "query" : {"match": {"text": "c\\u0061t"}}, "min_score":1.50E-1,"track_total_hits" : false '
    )
    assert json.loads(search.window_body(None, None)) == {
        "query": QUERY,
        "min_score": 0.15,
        "track_total_hits": False,
        **WINDOW,
    }


def test_our_section_is_read_and_taken_out(service: Service) -> None:
    ours = {
        "query_context": {"query_text": "chat"},
        "window_size": 7,
        "method": "emd",
        "language": "fr",
        "epsilon": 0.5,
        "tau": 0.1,
    }
    search = read(service, {"query": QUERY, "ext": {"rerank": ours, "other": {"a": 1}}})
    assert (search.query.text, search.language, search.method, search.page.window) == ("chat", "fr", "emd", 7)
    assert (search.parameters.epsilon, search.parameters.tau) == (0.5, 0.1)
    assert json.loads(search.window_body(None, None)) == {
        "query": QUERY,
        "ext": {"other": {"a": 1}},
        **WINDOW,
        "size": 10,
    }
    assert json.loads(search.as_it_came) == {"query": QUERY, "ext": {"other": {"a": 1}}}
    alone = read(service, {"query": QUERY, "ext": {"rerank": ours}})
    assert json.loads(alone.as_it_came) == {"query": QUERY}


def test_what_a_document_is_cached_by_does_not_grow_with_the_names_of_its_fields(service: Service) -> None:
    hit = {"_index": "pages", "_seq_no": 1, "_primary_term": 1}
    long = [{"match": {name * 512: "cat"}} for name in "ab"]
    keys = [document_keys(read(service, {"query": one}), [hit], b"caller", "en")[0] for one in [QUERY, *long]]
    assert len(set(keys)) == 3
    assert {len(key[0]) for key in keys if key} == {64}


def test_a_document_has_changed_by_its_words_and_not_by_the_order_of_its_fields(
    service: Service, embeddings: Embeddings
) -> None:
    search = read(service, {"query": QUERY, "ext": {"rerank": {"text_fields": ["doc.*"]}}})
    texts = HitTexts(embeddings, lambda index: False, service.texts)
    window = Window(search, SEQUENCE_NUMBERS, None, read_answer(b'{"hits": {"hits": []}}'))

    def has_changed(before: Any, now: Any) -> bool:
        text = "\n".join(before["doc"].values())
        bags = WindowBags([(embeddings.bag(text, "en"), "en")], ["1"])
        return texts.has_changed(window, bags, 0, now)

    long = {"doc": {"a": "cat " * 500, "b": "dog " * 500}}
    other = {"doc": {"b": "dog " * 500, "a": "cat " * 500}}
    assert not has_changed(long, long)
    assert not has_changed(long, other)
    assert has_changed(long, {"doc": {"a": "cat " * 499, "b": "dog " * 500}})
    assert has_changed({"doc": {"a": "cat xyzzy"}}, {"doc": {"a": "cat xyzz"}})
    # Texts that were cut may have other words by the order alone.
    assert not has_changed({"doc": {"a": "cat " * 2_000, "b": "dog"}}, {"doc": {"b": "dog", "a": "cat " * 2_000}})


def test_what_the_section_leaves_out_is_taken_from_query_and_settings(service: Service) -> None:
    search = read(service, {"query": QUERY, "ext": {"rerank": {"method": "rwmd"}}})
    assert (search.query.text, search.method, search.parameters.epsilon, search.page.window) == ("cat", "rwmd", 0.2, 20)


def test_the_text_is_read_from_the_url(service: Service) -> None:
    assert read(service, b"", "q=text%3Acat+-dog").query.text == "cat"


def test_a_source_filter_stays_as_it_is_and_our_section_is_out_in_both_bodies(service: Service) -> None:
    search = read(service, {"query": QUERY, "_source": ["title"], "ext": {"rerank": {}}})
    window = json.loads(search.window_body(None, None))
    assert (window["_source"], "ext" in window) == (["title"], False)
    assert json.loads(search.as_it_came) == {"query": QUERY, "_source": ["title"]}


@pytest.mark.parametrize(
    ("body", "query_string", "reason"),
    [
        ({"query": {"match_all": {}}}, "", "no_query_text"),
        ({}, "", "no_query_text"),
        (b"", "", "no_query_text"),
        (b"{", "", "body_not_json"),
        (b"query: 1", "", "body_not_json"),
        (b"[]", "", "body_not_json"),
        (b"\xff\xfe", "", "body_not_json"),
        ({"query": QUERY, "size": 0}, "", "no_hits_wanted"),
        ({"query": QUERY, "size": None}, "", "odd_page"),
        ({"query": QUERY, "size": -1}, "", "odd_page"),
        ({"query": QUERY}, "size=ten", "odd_page"),
        ({"query": QUERY}, "size=1_0", "odd_page"),
        ({"query": QUERY, "from": "\u0661"}, "", "odd_page"),
        ({"query": {"hybrid": {"queries": [QUERY]}}, "from": 10}, "", "odd_page"),
        ({"query": {"hybrid": {"queries": [QUERY]}}}, "from=1&rerank=true", "odd_page"),
        ({"query": QUERY, "seq_no_primary_term": 1}, "", "odd_seq_no"),
        ({"query": QUERY}, "seq_no_primary_term=yes", "odd_seq_no"),
        (b'{"size": 1, "size": 1}', "", "duplicate_key"),
        (b'{"query": {"match": {"text": "cat", "text": "dog"}}}', "", "duplicate_key"),
        (b'{"query": ' + b'{"bool": {"must": [' * 450 + b"]}}" * 450 + b"}", "", "unknown_query"),
        ({"query": QUERY, "sort": [{"year": "desc"}]}, "", "sorted"),
        ({"query": QUERY, "sort": "year"}, "", "sorted"),
        ({"query": QUERY, "sort": ["year", "_score"]}, "", "sorted"),
        ({"query": QUERY, "sort": [{"_score": "asc"}, "year"]}, "", "sorted"),
        ({"query": QUERY, "sort": {"_score": "asc"}}, "", "sorted"),
        ({"query": QUERY, "sort": ["_score", ["year"]]}, "", "sorted"),  # the engines refuse it
        (b'{"sort": ' + b"[" * 400 + b'"_score"' + b"]" * 400 + b', "query": {"match_all": {}}}', "", "sorted"),
        ({"query": QUERY}, "sort=year:asc", "sorted"),
        ({"query": QUERY, "sort": "_score,year"}, "", "sorted"),  # the name of a field
        ({"query": QUERY, "sort": "year"}, "sort=_score", "sorted"),
        ({"query": QUERY, "sort": [{"price": "asc"}]}, "sort=_score:desc", "sorted"),
        ({"query": QUERY, "sort": ["year"], "search_after": [1]}, "", "search_after"),
        ({"query": QUERY, "sort": ["_score"], "search_after": [1]}, "", "search_after"),
        ({"query": QUERY, "sort": ["_score", "n"], "search_after": None}, "", "search_after"),
        ({"query": QUERY, "sort": ["_score", "n"], "search_after": [1, 2], "from": 1}, "", "search_after"),
        ({"query": QUERY, "sort": ["_score", "n"], "search_after": [1, 2], "size": 9_981}, "", "search_after"),
        ({"query": QUERY, "sort": ["_score", "n"], "search_after": [1, 2], "collapse": {}}, "", "search_after"),
        ({"retriever": {"standard": {"query": QUERY, "sort": ["n"]}}}, "", "sorted"),
        ({"retriever": {"standard": {"query": QUERY, "sort": ["_score", "n"]}}}, "", "sorted"),
        ({"retriever": {"standard": {"query": QUERY, "sort": ["_score", "n"], "search_after": [1, 2]}}}, "", "sorted"),
        ({"query": QUERY}, "scroll=1m", "scroll"),
        ({"query": QUERY, "search_after": [1]}, "", "search_after"),
        ({"query": QUERY, "pit": {"id": "x"}, "sort": ["year"]}, "", "point_in_time"),
        ({"query": QUERY, "pit": {"id": "x"}, "slice": {"id": 0, "max": 2}}, "", "point_in_time"),
        ({"query": QUERY}, "format=yaml", "not_json"),
        ({"query": QUERY, "suggest": {"s": {"prefix": "c", "completion": {"field": "t"}}}}, "", "autocomplete"),
        ({"query": QUERY, "stored_fields": "_none_"}, "", "no_ids"),
        ({"query": QUERY}, f"filter_path={'a,' * 100}b", "filter_path"),
        ({"query": BOOSTED}, "", "caller_scoring"),
        ({"query": QUERY}, "q=lang:en^2+cat", "caller_scoring"),
        ({"query": {"match": {"text": "zzz"}}}, "", "unknown_words"),
        ({"query": {"match": {"text": "42"}}}, "", "unknown_words"),
        ({"query": QUERY, "ext": {"rerank": {"query_context": {"query_text_path": "a"}}}}, "", "query_text_path"),
    ],
)
def test_some_searches_are_the_engines_alone(service: Service, body: Any, query_string: str, reason: str) -> None:
    with pytest.raises(Skip) as skip:
        read(service, body, query_string)
    assert skip.value.reason == reason


@pytest.mark.parametrize(("body", "query_string"), [({"query": QUERY, "from": 20}, ""), ({"query": QUERY}, "from=20")])
def test_a_page_behind_the_window_is_asked_for_as_it_is(service: Service, body: Any, query_string: str) -> None:
    search = read(service, body, query_string)
    assert search.page.is_behind
    asked = json.loads(search.window_body(None, None))
    assert (asked["from"], asked["size"]) == (20, 10)


OURS = {"rerank": {"window_size": 5}}


@pytest.mark.parametrize(
    ("bodies", "remaining"),
    [
        ([{"sort": "year", "ext": OURS}], [{"sort": "year"}]),
        ([{"sort": "year", "ext": OURS | {"a": {}}}], [{"sort": "year", "ext": {"a": {}}}]),
        ([{"query": {"match": {"text": "rerank"}}}], None),
        ([{"ext": {"rerank": {"query_context": {"query_text_path": "a"}}}}], None),
        ([{"size": 1, "ext": OURS}, {"size": 2}], [{"size": 1}, {"size": 2}]),
        ([{"size": 1}, {"size": 2}], None),
    ],
)
def test_our_sections_are_taken_out_of_what_is_passed_on(service: Service, bodies: list[Any], remaining: Any) -> None:
    is_multi = len(bodies) > 1
    incoming = Incoming.of_search("pages", {}, [])
    lines = [line for body in bodies for line in ({}, body)] if is_multi else bodies
    incoming.body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    found = without_sections(service, incoming, is_multi)
    read_again = None if found is None else [json.loads(line) for line in found.splitlines()]
    assert (read_again[1::2] if is_multi and read_again else read_again) == remaining


@pytest.mark.parametrize(
    ("more", "query_string"),
    [
        ({}, "rerank=true"),
        ({"ext": {"rerank": {}}}, ""),
        ({"ext": {"rerank": {"query_context": {"query_text": "cat"}}}}, ""),
    ],
)
def test_who_asks_for_re_ranking_gets_it_whatever_the_query_scores_by(
    service: Service, more: dict[str, Any], query_string: str
) -> None:
    assert read(service, {"query": BOOSTED, **more}, query_string).query.text == "cat"


def test_who_asks_for_re_ranking_needs_a_text(service: Service) -> None:
    with pytest.raises(Skip, match="filter_only"):
        read(service, {"query": {"term": {"lang": "en"}}, "ext": {"rerank": {}}})


@pytest.mark.parametrize(
    ("query", "ext", "fields"),
    [
        (QUERY, {}, ("text",)),
        ({"multi_match": {"query": "cat", "fields": ["title^5", "body.*"]}}, {}, ("title", "body.*")),
        ({"multi_match": {"query": "cat", "fields": ["title", "*"]}}, {}, ()),
        ({"multi_match": {"query": "cat"}}, {}, ()),
        ({"multi_match": {"query": "cat", "fields": [f"f{n}" for n in range(30)]}}, {}, ()),
        (QUERY, {"rerank": {"text_fields": ["body"]}}, ("body",)),
    ],
)
def test_the_fields_of_the_query_are_read_unless_others_are_named(
    service: Service, query: Any, ext: Any, fields: tuple[str, ...]
) -> None:
    assert read(service, {"query": query, "ext": ext}).read_fields == fields


def test_a_boosted_field_is_read_as_often_as_its_boost_says(service: Service) -> None:
    search = read(service, {"query": {"multi_match": {"query": "cat", "fields": ["text", "title^3"]}}})
    assert search.weighted_fields == ("title", "title", "title", "text")
    search = read(service, {"query": {"multi_match": {"query": "cat", "fields": ["text^1e-300", "title^1e30"]}}})
    assert search.weighted_fields == (*["title"] * 5, "text")  # five times at most


def test_the_method_none_keeps_the_engines_order(service: Service) -> None:
    with pytest.raises(Skip) as skip:
        read(service, {"query": QUERY, "ext": {"rerank": {"method": "none"}}})
    assert skip.value.reason == "method_none"


@pytest.mark.parametrize("sort", [[], "_score", ["_score"], [{"_score": "desc"}], {"_score": {"order": "desc"}}])
def test_an_order_by_score_is_the_usual_one(service: Service, sort: Any) -> None:
    search = read(service, {"query": QUERY, "sort": sort})
    assert search.query.text == "cat"


@pytest.mark.parametrize(
    ("more", "query_string"),
    [
        ({"sort": ["_score", {"year": "DESC"}, {"id": {"order": "asc"}}]}, ""),
        ({"sort": [{"_score": {"order": "desc"}}, {"year": {"order": "desc", "missing": "_first"}}]}, ""),
        ({"sort": {"_score": "desc", "year": "asc"}}, ""),
        ({"sort": ["_score", {"_geo_distance": {"place": [1, 2], "order": "desc"}}]}, ""),
        ({}, "sort=_score:desc,year:desc,id"),
        ({"sort": ["_score"]}, "sort=year"),
        ({"sort": "_score"}, "sort=year,_score"),
        ({"sort": [{"_score": "desc"}, "year"]}, "sort=_score:asc"),
        ({"pit": {"id": "x"}, "sort": ["_score", "year"]}, ""),
        ({"pit": {"id": "x"}}, ""),
    ],
)
def test_an_order_by_score_may_have_keys_for_hits_of_the_same_score(
    service: Service, more: Any, query_string: str
) -> None:
    search = read(service, {"query": QUERY, **more}, query_string)
    assert json.loads(search.window_body(None, None)) == {"query": QUERY, **more, **WINDOW}


def test_a_page_that_follows_a_hit_is_asked_for_as_the_window_and_a_page_behind_it(service: Service) -> None:
    body = {"query": QUERY, "sort": ["_score", "n"], "search_after": [1.5, 3], "size": 4}
    search = read(service, body)
    asked = json.loads(search.window_body(None, None))
    assert asked == {"query": QUERY, "sort": ["_score", "n"], **WINDOW, "size": 24}
    assert json.loads(search.as_it_came) == body


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"window_size": 0}, "window_size"),
        ({"window_size": 5_000}, "window_size"),
        ({"window_size": "10"}, "window_size"),
        ({"window": 5}, "did you mean 'window_size'"),
        (
            {"query_context": {"query_txt": "x"}},
            "of 'query_context'; did .* The keys are query_text$",
        ),
        ({"highlight": {"tags": 1}}, "of 'highlight'; .* The keys are mode, pre_tags, post_tags$"),
        ({"query_context": {"query_text": 7}}, "query_text"),
        ({"query_context": "cat"}, "input should be an object; got"),
        ({"method": "magic"}, "magic.*auto, none$"),
        ({"language": "xx"}, "'xx'"),
        ({"epsilon": 0}, "epsilon"),
        ({"tau": -1}, "tau"),
        ({"first_stage_share": 2}, "give 0 to 1"),
        ({"min_relevance": 2}, "min_relevance is 2.0; give 0 to 1"),
        ({"min_relevance": "x"}, "'min_relevance'"),
        ({"min_relevance": 0.5, "method": "none"}, "needs the method 'auto', and this is by 'none'"),
        (7, "ext.rerank"),
    ],
)
def test_a_wrong_section_is_an_error_of_ours(service: Service, section: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read(service, {"query": QUERY, "ext": {"rerank": section}})


@pytest.mark.parametrize(
    ("query_string", "passed"),
    [
        ("rerank=false", ""),
        ("a=1&rerank=false&b=%2f", "a=1&b=%2f"),
        ("a=1&&b", "a=1&&b"),
        ("rerank", ""),
        ("re%72ank=false", ""),
        ("", ""),
    ],
)
def test_our_parameter_alone_is_taken_out_of_the_url(query_string: str, passed: str) -> None:
    assert without_parameters(query_string, ("rerank",)) == passed


@pytest.mark.parametrize("size", [None, 7])
def test_a_window_finds_the_neighbours_of_the_callers_page(service: Service, size: int | None) -> None:
    """Elasticsearch's default of `k` is the body's `size`, even where the URL has another, or else 10."""
    open_, own = {"field": "v", "query_vector": [0.5, 1e-7]}, {"field": "w", "query_vector": [1], "k": 3}
    body = {"query": QUERY, "from": 3, **({} if size is None else {"size": size})}
    closed = {**open_, "k": size or 10}
    for knn, asked in ((open_, [closed]), ([own, open_], [own, closed]), (own, [own])):
        search = read(service, {**body, "knn": knn}, "size=4")
        assert json.loads(search.window_body(None, None)) == {"query": QUERY, "knn": asked, **WINDOW}
        assert json.loads(search.as_it_came) == {**body, "knn": knn}
        assert window_search({**body, "knn": knn})["knn"] == asked


def test_a_walk_within_a_retriever_is_the_engines_from_its_first_page(service: Service) -> None:
    """Whoever asks for it: a window that follows a hit of the new order would lose hits and double others."""
    for page in ({}, {"search_after": [1.5, 3]}):
        body = {"retriever": {"standard": {"query": QUERY, "sort": ["_score", "n"], **page}}, "ext": {"rerank": {}}}
        with pytest.raises(Skip, match="sorted"):
            read(service, body)


RESCORE = {"query": {"rescore_query": QUERY}}


def rescorer(rescore: Any) -> dict[str, Any]:
    return {"retriever": {"rescorer": {"retriever": {"standard": {"query": QUERY}}, "rescore": rescore}}}


@pytest.mark.parametrize(
    ("more", "depth"),
    [
        ({"retriever": {"rrf": {"rank_window_size": 7}}}, 7),
        ({"retriever": {"rrf": {"rank_window_size": "50"}}}, 50),
        ({"retriever": {"rrf": {}}}, 10),
        ({"retriever": {"linear": {"retrievers": []}}}, 10),
        ({"retriever": {"text_similarity_reranker": {"rank_window_size": 30}}}, 30),
        ({"rank": {"rrf": {"window_size": 12}}}, 12),
        ({"rank": {"rrf": {}}}, 10),
        (rescorer(RESCORE), 10),
        (rescorer({**RESCORE, "window_size": 40}), 40),
        (rescorer([{**RESCORE, "window_size": 40}, RESCORE]), 10),
        ({"retriever": {"standard": {"query": QUERY}}}, None),
        ({"retriever": {"knn": {"field": "v", "query_vector": [1], "k": 3, "num_candidates": 5}}}, None),
    ],
)
def test_no_more_is_asked_for_than_a_fusion_or_a_re_ranker_of_the_engine_finds(
    service: Service, more: dict[str, Any], depth: int | None
) -> None:
    """Elasticsearch refuses a `size` above the depth."""
    for offset in (0, 3, 15, 48):
        page = read(service, {"query": QUERY, "ext": {"rerank": {}}, "from": offset, "size": 7, **more}).page
        assert (page.depth, page.window) == (depth, min(20, depth or 20))
        assert page.n_fetch <= (depth or 1_000)
        hits = range(depth or 1_000)
        asked = hits[page.fetched_from : page.fetched_from + page.n_fetch]
        assert set(asked) >= set(hits[offset : offset + 7])


def test_a_hybrid_query_is_walked_through_at_one_depth(service: Service) -> None:
    """Which hits OpenSearch finds then does not depend on the page, and it refuses a `from` without a depth."""
    body = {"query": {"hybrid": {"queries": [QUERY], "pagination_depth": 50}}}
    assert read(service, {**body, "from": 15}).page.n_fetch == 25
    assert read(service, {"query": {"hybrid": {"queries": [QUERY]}}, "from": 0}).page.n_fetch == 20


def test_a_retriever_without_a_size_is_left_to_the_engine_where_versions_differ(service: Service) -> None:
    """Elasticsearch 9 returns all its hits, and 8.15 ten; with `rank` all return ten."""
    deep = {"retriever": {"rrf": {"query": "cat", "fields": ["text"], "rank_window_size": 15}}}
    with pytest.raises(Skip, match="odd_page"):
        read(service, deep)
    assert read(service, deep, "size=4").page.size == read(service, {**deep, "size": 4}).page.size == 4
    default = {"retriever": {"rrf": {"query": "cat", "fields": ["text"]}}}
    assert read(service, default).page.size == 10
    assert read(service, {"query": QUERY, "rank": {"rrf": {"rank_window_size": 15}}}).page.size == 10


@pytest.mark.parametrize(
    "more",
    [
        {"retriever": {"rrf": {}}, "size": 11},
        {"retriever": {"rrf": {"rank_window_size": 5}}, "size": 6},
        {"rank": {"rrf": {"rank_window_size": 5}}},
        {"retriever": {"rrf": {"rank_window_size": "many"}}},
    ],
)
def test_a_page_that_a_fusion_refuses_is_left_to_it(service: Service, more: dict[str, Any]) -> None:
    with pytest.raises(Skip, match="odd_page"):
        read(service, {"query": QUERY, **more})


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ({"multi_match": {"query": "cat", "fields": ["title^nan", "text"]}}, {}),
        ({"multi_match": {"query": "cat", "fields": ["title^inf", "text"]}}, {}),
        ({"match": {"text": {"query": "cat", "boost": 10**400}}}, {}),
        (QUERY, {"highlight": {"fields": {"text": {"fragment_size": float("inf")}}}}),
    ],
)
def test_a_boost_or_length_that_is_no_finite_number_is_the_engines_to_refuse(
    service: Service, query: dict[str, Any], more: dict[str, Any]
) -> None:
    search = read(service, {"query": query, **more, "ext": {"rerank": {}}})
    assert (search.query.text, search.highlight) == ("cat", None)
