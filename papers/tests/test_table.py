"""`python -m papers.table`: results, shares, table and picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import log2
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from papers.table import command, report
from papers.table.command import app
from papers.table.results import SideResult, chosen_share, read_results, write_result
from papers.table.sides import SIDES
from papers.tests.judged_collections import write_collection
from reranker.base.errors import BadInput, NotFound, WrongParameter
from tests.support.tiny import tiny_embeddings

ENGLISH_QUERIES = [{"_id": "q1", "text": "cat"}, {"_id": "q2", "text": "bread car"}]
QRELS = [("q1", "cat", 1), ("q2", "bread", 2), ("q2", "car", 0)]
OWN = "bm25,rm3,bags,tfidf,transport,ours"


def result(collection: str, side: str, shares: Mapping[str, Mapping[str, float]], language: str = "en") -> SideResult:
    """nDCG@10 by share, then by query."""
    values = {
        share: {"nDCG@10": by_query, "judged@10": by_query, "MRR": by_query} for share, by_query in shares.items()
    }
    return SideResult(collection, side, language, 3, values, 2.0, 0.5, "a processor")


# Shares


def test_the_share_is_chosen_on_the_other_collections_alone() -> None:
    results = {
        "a": result("a", "wordllama", {"0.30": {"q": 0.2}, "0.70": {"q": 0.9}}),
        "b": result("b", "wordllama", {"0.30": {"q": 0.8}, "0.70": {"q": 0.3}}),
        "c": result("c", "wordllama", {"0.30": {"q": 0.6}, "0.70": {"q": 0.5}}),
    }
    assert chosen_share("a", results) == "0.30"  # its own best share is 0.70
    assert chosen_share("b", results) == "0.70"  # (0.9 + 0.5) / 2 against (0.2 + 0.6) / 2


def test_a_translation_of_the_collection_chooses_nothing() -> None:
    results = {
        "xquad-en-en": result("xquad-en-en", "rm3", {"0.30": {"q": 0.1}, "0.70": {"q": 0.1}}),
        "xquad-de-de": result("xquad-de-de", "rm3", {"0.30": {"q": 0.0}, "0.70": {"q": 1.0}}),
        "npl": result("npl", "rm3", {"0.30": {"q": 0.5}, "0.70": {"q": 0.4}}),
    }
    assert chosen_share("xquad-en-en", results) == "0.30"


def test_of_equal_shares_the_one_nearest_to_equal_parts_is_taken_and_without_others_equal_parts() -> None:
    shares = {share: {"q": 0.5} for share in ("0.00", "0.40", "0.50", "1.00")}
    results = {name: result(name, "rm3", shares) for name in ("a", "b")}
    assert chosen_share("a", results) == "0.50"
    assert chosen_share("a", {"a": results["a"]}) == "0.50"


# Table


def test_the_table_has_what_a_side_gains_and_loses(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_result(folder(tmp_path, name), result(name, "bm25", {"0.50": {"q1": 0.5, "q2": 0.5}}))
        other = {"0.00": {"q1": 0.5, "q2": 0.5}, "0.50": {"q1": 1.0, "q2": 0.3}}
        write_result(folder(tmp_path, name), result(name, "wordllama", other))
    found = report.markdown(report.rows_of(read_results(tmp_path, SIDES)))
    assert "## English: mean of 2 collections\n\na, b.\n" in found
    # 0.65 is 30 % over 0.5; q2 loses 0.2, one of two queries.
    assert "| wordllama + BM25 | 0.650 | +30.0% | 50.0% | 50.0% | 2.00 | 0.500 |" in found
    assert "| wordllama + BM25 | 0.50 | 0.650 | 0.650 | 50.0% | 1.000 | 2.00 | 0.500 |" in found
    assert "| BM25 |  | 0.500 | 0.500 |  |  | 2.00 | 0.500 |" in found


def test_what_prepare_takes_for_a_document_stands_behind_a_plus(tmp_path: Path) -> None:
    shares = {"0.50": {"q": 0.5}}
    write_result(folder(tmp_path, "a"), result("a", "bm25", shares))
    write_result(folder(tmp_path, "a"), replace(result("a", "ours", shares), prepare_ms=12.0))
    found = report.markdown(report.rows_of(read_results(tmp_path, SIDES)))
    assert "| Sinkrank, `prepare` | 0.500 | +0.0% | 0.0% | 0.0% | 2.00 | 0.500 + 12 |" in found


def test_a_mean_has_only_sides_that_were_measured_on_all_its_collections(tmp_path: Path) -> None:
    for name, language in (("a", "en"), ("b", "en"), ("c", "de")):
        write_result(folder(tmp_path, name), result(name, "bm25", {"0.50": {"q": 0.5}}, language))
    write_result(folder(tmp_path, "a"), result("a", "ours", {"0.50": {"q": 0.6}}))
    write_result(folder(tmp_path, "c"), result("c", "ours", {"0.50": {"q": 0.6}}, "de"))
    english, others = report.markdown(report.rows_of(read_results(tmp_path, SIDES))).split("## Other languages")
    assert "Sinkrank" not in english
    assert "| Sinkrank, `prepare` | 0.600 | +20.0% |" in others


def test_a_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    (folder(tmp_path, "a") / "bm25.json").write_text('{"side": "bm25"}')
    with pytest.raises(BadInput, match=r"bm25\.json is not a result.*delete it"):
        read_results(tmp_path, SIDES)


def folder(place: Path, collection: str) -> Path:
    (place / collection).mkdir(exist_ok=True)
    return place / collection


def test_the_front_holds_what_no_other_beats_in_time_and_quality() -> None:
    points = {"slow": (9.0, 0.9), "bad": (2.0, 0.1), "fast": (1.0, 0.5), "same": (1.0, 0.4), "worse": (10.0, 0.9)}
    assert list(report.front_of(points)) == ["fast", "slow"]


# Command


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    tiny_embeddings(tmp_path / "out" / "pets" / "embeddings")
    return f"{write_collection(tmp_path / 'pets', queries=ENGLISH_QUERIES, qrels=QRELS)}:en"


def make(*arguments: str) -> Result:
    done = CliRunner().invoke(app, [*arguments, "--output", "out"])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def test_sides_are_measured_and_the_table_and_the_picture_are_written(pets: str, tmp_path: Path) -> None:
    shown = make(pets, "--sides", OWN).stdout
    assert "## pets (en): 3 documents, 2 queries" in shown
    for label in ("BM25 with RM3", "tf·idf, L1", "transport alone", "Sinkrank"):
        assert label in shown
    assert (tmp_path / "out" / "table.md").read_text() == shown
    assert (tmp_path / "out" / "quality_and_cost.svg").read_text().lstrip().startswith("<?xml")
    # bread car shares 1/3 and 1/2 with car car bread, and 1/2 with bread water, the relevant one.
    bags = json.loads((tmp_path / "out" / "pets" / "bags.json").read_text())
    assert bags["shares"]["0.50"]["nDCG@10"] == {"q1": 1.0, "q2": pytest.approx(1 / log2(3))}


def test_a_share_of_0_is_bm25_itself_for_each_side_that_mixes(pets: str, tmp_path: Path) -> None:
    make(pets, "--sides", "bm25,rm3")
    first, expanded = (json.loads((tmp_path / "out" / "pets" / f"{side}.json").read_text()) for side in ("bm25", "rm3"))
    assert expanded["shares"]["0.00"]["nDCG@10"] == first["shares"]["0.50"]["nDCG@10"]


def test_what_is_there_is_measured_again_only_when_asked(pets: str, tmp_path: Path) -> None:
    make(pets, "--sides", "bm25")
    path = tmp_path / "out" / "pets" / "bm25.json"
    path.write_text(path.read_text().replace('"n_documents": 3', '"n_documents": 7'))
    assert "7 documents" in make(pets, "--sides", "bm25").stdout
    assert "7 documents" in make().stdout
    assert "3 documents" in make(pets, "--sides", "bm25", "--again").stdout


def test_sides_with_glove_are_measured_over_its_embeddings(pets: str, tmp_path: Path) -> None:
    tiny_embeddings(tmp_path / "glove")
    make(pets, "--sides", "bm25,glove")
    assert not (tmp_path / "out" / "pets" / "glove.json").exists()
    assert "Sinkrank, GloVe" in make(pets, "--sides", "glove", "--glove", "glove").stdout


def test_embeddings_are_prepared_where_there_are_none(
    pets: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = []

    def prepare(texts: object, plan: object, output: Path, progress: object) -> None:
        prepared.append(output)
        tiny_embeddings(output)

    (tmp_path / "out" / "pets").rename(tmp_path / "away")
    monkeypatch.setattr(command, "prepare", prepare)
    make(pets, "--sides", "bm25,ours")
    make(pets, "--sides", "transport")
    assert prepared == [Path("out/pets/embeddings")]
    ours = json.loads((tmp_path / "out" / "pets" / "ours.json").read_text())
    assert ours["prepare_ms"] == float((tmp_path / "out" / "pets" / "prepare_ms").read_text()) > 0
    assert json.loads((tmp_path / "out" / "pets" / "bm25.json").read_text())["prepare_ms"] is None


def test_bad_input_is_named(tmp_path: Path) -> None:
    for arguments, error, message in (
        (["--sides", "glov"], WrongParameter, "did you mean 'glove'"),
        (["--output", str(tmp_path / "gone")], NotFound, "has no results; name collections"),
        ([str(tmp_path), "--output", str(tmp_path)], NotFound, r"has no corpus\.jsonl"),
    ):
        done = CliRunner().invoke(app, arguments)
        assert isinstance(done.exception, error)
        with pytest.raises(error, match=message):
            raise done.exception
