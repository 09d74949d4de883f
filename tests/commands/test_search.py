"""`sinkrank search` and `sinkrank explain`, with distances worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from math import hypot, log, sqrt
from pathlib import Path

import pytest
from rich.console import Console

from reranker.search.request import SearchRequest
from reranker.service.settings import Settings
from sinkrank.console.resources import opened_searcher
from sinkrank.console.tables import search_table
from tests.support.commands import DOCUMENTS, Run, assert_one_line, write_rows
from tests.support.listening import closed_port
from tests.support.query_encoder import encoding_embeddings
from tests.support.tiny import TRANSLATION_COST

pytestmark = pytest.mark.usefixtures("indexed")

# cat and chien have cosine 0.6, cat and pain -0.96, cat and car 0.
CAT_CHIEN_COST = sqrt(2 - 2 * 0.6)
CHAT_WEIGHT = log(4 / 3) / (log(4 / 3) + log(2))


def test_search_finds_the_translation_first(run: Run) -> None:
    result = run("search", "cat", "--lang", "en", "--first-stage", "knn", "--method", "emd", "--json")

    hits = json.loads(result.stdout)["hits"]
    assert [hit["id"] for hit in hits] == ["fr/chat", "fr/animaux", "en/car", "fr/pain"]
    distances = [
        TRANSLATION_COST,
        CHAT_WEIGHT * TRANSLATION_COST + (1 - CHAT_WEIGHT) * CAT_CHIEN_COST,
        sqrt(2),
        sqrt(3.92),
    ]
    assert [hit["distance"] for hit in hits] == pytest.approx(distances, abs=1e-6)
    assert [hit["score"] for hit in hits] == pytest.approx([1 / (1 + distance) for distance in distances], abs=1e-6)
    assert hits[0]["first_stage_score"] == pytest.approx(0.96, abs=1e-6)


def test_search_prints_a_table_with_both_ranks(run: Run) -> None:
    result = run("search", "cat", "--lang", "en", "--first-stage", "knn")

    first = next(line for line in result.stdout.splitlines() if "fr/chat" in line)
    assert first.split() == ["1", "0.9615", "1", "0.9600", "fr", "Chat", "fr/chat"]
    assert "4 found by knn in " in result.stdout
    assert " ms, 4 re-ranked by auto" in result.stdout
    assert result.stderr == ""


def test_the_candidates_that_are_re_ranked_are_told_from_those_that_are_found(run: Run) -> None:
    options = ["--lang", "en", "--first-stage", "knn", "--depth", "2", "--from", "1", "--size", "3"]
    answer = json.loads(run("search", "cat", *options, "--json").stdout)
    assert (answer["n_candidates"], answer["n_reranked"], len(answer["hits"])) == (4, 2, 3)
    shown = run("search", "cat", *options).stdout
    assert "4 found by knn in " in shown
    assert " ms, 2 re-ranked by auto" in shown
    assert json.loads(run("search", "cat", *options, "--method", "none", "--json").stdout)["n_reranked"] == 0


def test_of_several_indices_one_is_to_be_named_by_the_option(run: Run, indexed: Path) -> None:
    run("ingest", str(write_rows(indexed / "in.jsonl", DOCUMENTS)), "--index", "other")
    result = run("search", "cat", exits=1)
    assert "several indices (documents, other); name one of them: --index NAME" in result.stderr


@pytest.mark.usefixtures("narrow_terminal")
def test_a_narrow_terminal_shows_ranks_scores_and_ids_whole(run: Run) -> None:
    lines = run("search", "cat", "--lang", "en", "--first-stage", "knn").stdout.splitlines()
    row = next(number for number, line in enumerate(lines) if line.split()[:1] == ["1"])
    assert lines[row].split() == ["1", "0.9615", "1", "0.9600", "fr", "Chat"]
    assert lines[row + 1].split() == ["fr/chat"]


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    with opened_searcher(Settings()) as searcher:
        answer = searcher.search(SearchRequest("cat", "documents", "en"))
    answer = replace(answer, hits=(replace(answer.hits[0], first_stage_score=-1e-9),))
    shown = StringIO()
    Console(file=shown, width=120).print(search_table(answer, 120))
    assert " 0.0000 " in shown.getvalue()
    assert "-0.0000" not in shown.getvalue()


def test_search_keeps_to_the_languages_asked_for(run: Run) -> None:
    result = run("search", "cat", "--to", "en", "--json")
    assert [hit["id"] for hit in json.loads(result.stdout)["hits"]] == ["en/car"]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["kind=food"], {"fr/pain"}),
        (["kind=food", "kind=thing"], {"fr/pain", "en/car"}),
        (["year=2001"], {"fr/chat"}),
        (["year>=2001"], {"fr/chat", "fr/pain"}),
        (["year>=2000", "year<2010"], {"fr/chat"}),
        (["kind=pet", "year<2000"], {"fr/animaux"}),
    ],
)
def test_search_filters_by_metadata(run: Run, filters: list[str], found: set[str]) -> None:
    options = [part for condition in filters for part in ("--filter", condition)]
    result = run("search", "cat", "--lang", "en", *options, "--json")
    assert {hit["id"] for hit in json.loads(result.stdout)["hits"]} == found


@pytest.mark.parametrize(
    ("condition", "found"),
    [("year=1999", {"1"}), ("year>='2000'", {"2"}), ("used=true", {"2"}), ("year>=2000", {"2"})],
)
def test_csv_has_text_alone_to_filter_by(run: Run, indexed: Path, condition: str, found: set[str]) -> None:
    (indexed / "more.csv").write_text("id,lang,text,year,used\n1,fr,chat,1999,false\n2,fr,chien,2005,true\n")
    run("ingest", "more.csv", "--index", "csv")

    result = run("search", "cat", "--lang", "en", "--index", "csv", "--filter", condition, "--json")

    assert {hit["id"] for hit in json.loads(result.stdout)["hits"]} == found


@pytest.mark.parametrize(
    ("condition", "said"),
    [("kind", "not a condition"), ("=food", "not a condition"), ("", "not a condition"), ("year>1999", "and a range")],
)
def test_a_filter_of_another_form_is_wrong_use(run: Run, condition: str, said: str) -> None:
    assert said in run("search", "cat", "--filter", "year=2001", "--filter", condition, exits=2).stderr


def test_a_field_with_two_bounds_on_one_side_is_wrong_use(run: Run) -> None:
    for other in ("year>=1999", "year>1999"):
        said = run("search", "cat", "--filter", "year>=2001", "--filter", other, exits=2).stderr
        assert "has two bounds" in said


def test_bm25_finds_a_word_without_an_embedding_and_says_which_it_was(run: Run, indexed: Path) -> None:
    (indexed / "more.jsonl").write_text('{"id": "fr/zebre", "language": "fr", "text": "zèbre"}\n')
    run("ingest", "more.jsonl")

    result = run("search", "zèbre", "--lang", "fr", "--first-stage", "bm25")

    assert "fr/zebre" in result.stdout
    assert "words without an embedding: zèbre" in result.stdout


def test_a_document_cannot_write_to_the_terminal(run: Run, indexed: Path) -> None:
    title = "chat \x1b[31mred\x07 [bold]markup[/bold]"
    (indexed / "more.jsonl").write_text(json.dumps({"id": "odd", "language": "fr", "title": title}) + "\n")
    run("ingest", "more.jsonl")

    shown = run("search", "cat", "--lang", "en").stdout

    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[bold]markup[/bold]" in shown


def test_an_error_cannot_write_to_the_terminal(run: Run, indexed: Path) -> None:
    (indexed / "more.csv").write_text("id,t\x1b[31me\x07xt\nfr/1,chat\n")

    told = run("ingest", "more.csv", "--lang", "fr", exits=1).stderr

    assert "its columns are id, t[31mext)" in told
    assert told.removesuffix("\n").isprintable()


def test_explain_prints_the_pairs_and_the_sum(run: Run) -> None:
    # 0.293305 · 0.282843 = 0.082959 and 0.706695 · 0.894427 = 0.632087 make 0.715046.
    shown = run("explain", "cat", "fr/animaux", "--method", "emd").stdout
    lines = [line.split() for line in shown.splitlines()]
    assert ["cat", "1.0000", "chien", "0.7067", "0.8944", "0.6321", "88.4", "%"] in lines
    assert ["chat", "0.2933", "0.2828", "0.0830", "11.6", "%"] in lines
    assert ["emd", "distance", "1.0000", "0.7150", "100.0", "%"] in lines
    assert "What brought it nearest: cat → chat (mass 0.293, cost 0.28)" in shown


def test_explain_shows_what_each_word_adds_to_the_encoders_part(run: Run, empty_home: Path) -> None:
    """The encoded query is (0.2, 0.6) / sqrt(0.4); its products with cat, dog and bread are 0.2, 0.52 and -0.2, by that
    root. Of three documents cat stands in one and dog in two, so their idf is log(2) and log(4/3)."""
    pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")
    encoding_embeddings(empty_home / "encoding")
    rows = [{"id": text, "language": "en", "text": text} for text in ("dog cat", "dog", "bread")]
    options = ("--embeddings", "encoding", "--store", "other")
    run("ingest", str(write_rows(empty_home / "in.jsonl", rows)), "--index", "pets", *options)
    shown = run("explain", "cat", "dog cat", "--lang", "en", *options).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    dog = log(4 / 3) / (log(4 / 3) + log(2))
    length = hypot(0.8 * dog + (1 - dog), 0.6 * dog)  # of the mean of (0.8, 0.6) and (1, 0)
    of_dog, of_cat = 0.52 * dog / length, 0.2 * (1 - dog) / length
    # One of three hits holds the query: the first stage has .33 + .33² · .32, and the encoder of the rest what it had.
    share = 0.45 * (1 - (0.33 + 0.33**2 * 0.32)) / (1 - 0.33)
    slope = 0.98 * share / (0.52 + 0.2)  # from the bread to the document that is a dog alone
    assert f"dog {slope * of_dog:.4f}" in lines
    assert f"cat {slope * of_cat:.4f}" in lines
    assert f"counted from the least cosine of all candidates {slope * 0.2:.4f}" in lines
    assert f"the sentence encoder's part {slope * (of_dog + of_cat + 0.2):.4f}" in lines


def test_explain_says_which_parts_make_the_order_and_what_a_cost_is(run: Run) -> None:
    # cat and zzz: half the query is unknown, and the document has no zzz.
    explained = json.loads(run("explain", "cat zzz", "fr/chat", "--lang", "en", "--json").stdout)
    distance = 1 - 0.96  # of one word and its translation, by all parts of auto
    assert explained["order_distance"] == pytest.approx(0.5 * distance + 0.5, abs=1e-6)

    shown = " ".join(run("explain", "cat zzz", "fr/chat", "--lang", "en", "--first-stage", "knn").stdout.split())

    assert (
        "The candidates are ordered by 0.5200 = 0.0200 (known words: 0.5000 · the distance) + 0.5000 (words without"
        in shown
    )
    assert "that the document lacks: zzz)" in shown
    assert "words without an embedding, not part of the distance: zzz" in shown
    assert "cost: 1 - cosine of the two words, 0 (the same) to 2 (opposite); for the part of nbow" in shown
    by_emd = " ".join(run("explain", "cat", "fr/chat", "--method", "emd").stdout.split())
    assert "cost: the Euclidean distance of the two words' embeddings, 0 (the same) to 2 (opposite)" in by_emd
    assert "The candidates are ordered by" not in by_emd


def test_explain_says_why_a_document_is_not_on_the_page(run: Run) -> None:
    shown = " ".join(run("explain", "car", "fr/pain", "--lang", "en", "--to", "en").stdout.split())
    assert "The first stage does not find it. It lacks words of the query: car" in shown
    shown = " ".join(run("explain", "cat", "fr/chat", "--lang", "en").stdout.split())
    assert "It is on the first page: rank 1, rank 1 in the first stage." in shown
    assert "It lacks words of the query: cat (near: chat)" in shown
    two = ["--lang", "en", "--first-stage", "knn", "--depth", "2"]  # candidates: chat and animaux; car follows
    shown = " ".join(run("explain", "cat", "en/car", *two).stdout.split())
    assert "It is on the first page: rank 3, rank 3 in the first stage." in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", ""], "the query has no word"),
        (
            ["search", "zebra quagga", "--lang", "en", "--first-stage", "knn"],
            "none of the query's words (zebra, quagga) has an embedding",
        ),
        (["search", "cat", "--index", "other"], "no index 'other'"),
        (["search", "cat", "--store", "no where"], "`sinkrank ingest FILE --index NAME --store 'no where'`"),
        (["search", "cat", "--embeddings", "nowhere"], "there are no embeddings at"),
        (["explain", "cat", "fr/chien"], "no document 'fr/chien'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_1(run: Run, arguments: list[str], message: str) -> None:
    assert_one_line(run(*arguments, exits=1), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "cat", "--lang", "englsh"], "'englsh' is not a language code"),
        (["search", "cat", "--to", "frr"], "'fr'"),
        (["search", "cat", "--method", "sinkhron"], "did you mean 'sinkhorn'?"),
        (["search", "cat", "--first-stage", "bm52"], "setting first_stage (from flag)"),
        (["search", "cat", "--epsilon", "1e-9"], "epsilon is 1e-09"),
        (["search", "cat", "--index", "../x"], "cannot be an index"),
        (["search", "cat", "--store", "gopher://x"], "gopher"),
        (["search", "cat", "--config", "nowhere.toml"], "there is no settings file 'nowhere.toml'"),
    ],
)
def test_a_wrong_flag_is_one_line_and_exit_code_2(run: Run, arguments: list[str], message: str) -> None:
    assert_one_line(run(*arguments, exits=2), message)


def test_a_node_that_is_down_is_named_with_the_cure(run: Run) -> None:
    port = closed_port()
    result = run(
        "search", "cat", "--store", f"opensearch://me:secret@127.0.0.1:{port}", "--index", "documents", exits=1
    )

    assert f"127.0.0.1:{port}" in result.stderr
    assert "start the engine" in result.stderr
    assert "secret" not in result.stderr
