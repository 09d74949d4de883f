"""`sinkrank evaluate` and `sinkrank tune` on a small index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reranker.transport import Parameters
from sinkrank.actions.tuned import present
from sinkrank.evaluation.comparison import Run, Way
from sinkrank.evaluation.measures import MEASURES
from sinkrank.evaluation.tuning import Tuning
from tests.support.commands import Run as RunCommand
from tests.support.commands import write_rows

pytestmark = pytest.mark.usefixtures("indexed")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    lines = [
        json.dumps({"query_id": f"q{i}", "query": text, "language": "en"})
        for i, text in enumerate(["cat", "dog", *(f"cat{' dog' * n}" for n in range(2, 25))])
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines), encoding="utf-8")
    judged = [f"q{i} 0 fr/animaux 1" for i in range(len(lines))]
    (tmp_path / "qrels.txt").write_text("\n".join(judged), encoding="utf-8")
    return ["--queries", str(tmp_path / "queries.jsonl"), "--qrels", str(tmp_path / "qrels.txt")]


def test_methods_are_compared_with_the_first_stage(run: RunCommand, files: list[str], tmp_path: Path) -> None:
    result = run("evaluate", *files, "--methods", "relaxed,emd", "--output", str(tmp_path / "out"), "--json")
    report = json.loads(result.stdout)
    assert list(report["methods"]) == ["none", "relaxed", "emd"]
    assert report["methods"]["none"]["difference"] is None
    assert 0 <= report["methods"]["emd"]["difference"]["p_value"] <= 1
    assert len(report["queries"]) == 25
    lines = (tmp_path / "out" / "emd.run").read_text(encoding="utf-8").splitlines()
    query, _, _, rank, score, name = lines[0].split()
    assert (query, rank, name, float(score)) == ("q0", "1", "emd", 1.0)
    assert (
        report["queries"][0]["ranks"]["fr/animaux"]["emd"]
        == [line.split()[2] for line in lines if line.startswith("q0 ")].index("fr/animaux") + 1
    )


def test_ratings_in_csv_need_no_file_of_queries(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("query,docid,rating\nchat,fr/chat,2\nchien,fr/animaux,1\n", encoding="utf-8")
    report = json.loads(run("evaluate", "--qrels", str(tmp_path / "ratings.csv"), "--methods", "auto", "--json").stdout)
    assert [(one["query_id"], one["query"]) for one in report["queries"]] == [("1", "chat"), ("2", "chien")]
    assert report["methods"]["auto"]["means"]["MRR"] == 1.0  # chat alone before chat with chien


@pytest.mark.parametrize("command", [["evaluate", "--methods", "auto"], ["tune"]])
def test_queries_without_a_relevant_document_are_counted(
    run: RunCommand, files: list[str], tmp_path: Path, command: list[str]
) -> None:
    assert "left out" not in run(*command, *files).stderr
    with (tmp_path / "qrels.txt").open("r+", encoding="utf-8") as qrels:
        lines = qrels.read().splitlines()
        qrels.seek(0)
        qrels.write("\n".join(["q0 0 fr/animaux 0", *lines[2:]]) + "\n")  # nobody judged q1
        qrels.truncate()
    told = f"2 of 25 queries left out: no relevant document in {tmp_path / 'qrels.txt'}\n"
    assert told in run(*command, *files).stderr


def test_judgments_of_documents_that_no_search_finds_are_told(
    run: RunCommand, files: list[str], tmp_path: Path
) -> None:
    """As ids of a shop's articles where the index has ids of its own."""
    told = f"no search found a relevant document; the ids of {tmp_path / 'qrels.txt'} must be those of the index"
    assert told not in run("evaluate", *files, "--methods", "auto").stderr
    (tmp_path / "qrels.txt").write_text("q0 0 sku-1 1\nq1 0 sku-2 1\n", encoding="utf-8")
    assert told in run("evaluate", *files, "--methods", "auto").stderr


def test_a_method_that_is_named_twice_is_compared_once(run: RunCommand, files: list[str]) -> None:
    """Twice it would also be two tests for Holm's correction."""
    once, twice = (run("evaluate", *files, "--methods", names).stdout for names in ("auto", "auto,none,auto"))
    assert twice == once


def test_an_empty_list_of_methods_is_refused(run: RunCommand, files: list[str]) -> None:
    assert "name a method" in run("evaluate", *files, "--methods", ",", exits=2).stderr


@pytest.fixture
def titled(run: RunCommand, tmp_path: Path) -> str:
    """An index of 25 documents, each of which alone has a word of its title."""
    rows = [{"id": f"{n}", "language": "en", "title": f"cat q{n}", "text": "dog"} for n in range(25)]
    run("ingest", str(write_rows(tmp_path / "titled.jsonl", rows)), "--index", "titled")
    return "titled"


def test_without_judgments_each_title_is_to_find_its_document(
    run: RunCommand, titled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINKRANK_FIRST_STAGE", "bm25")  # kNN takes them for the same
    options = ["--index", titled, "--methods", "auto"]
    report = json.loads(run("evaluate", *options, "--json").stdout)
    assert {one["query"] for one in report["queries"]} == {f"cat q{n}" for n in range(25)}
    difference = report["methods"]["auto"]["difference"]
    assert (difference["n_better"], difference["n_worse"]) == (0, 0)
    assert difference["much_worse_at_most"] == pytest.approx(1 - 0.05 ** (1 / 25))
    # 1 - .05^(1/25) is .1129.
    told = "on 25 titles or first sentences of its documents: better 0, worse 0; with 95 % confidence at most 11.3%"
    assert f"auto, {told}" in run("evaluate", *options).stdout


def test_queries_without_judgments_and_too_few_titles_are_refused(run: RunCommand, files: list[str]) -> None:
    assert "give the judgments of these queries" in run("evaluate", *files[:2], exits=2).stderr
    assert "1 documents have a title" in run("evaluate", "--index", "documents", exits=1).stderr


@pytest.mark.parametrize("command", [["search", "cat"], ["explain", "cat", "fr/chat"], ["evaluate"], ["tune"]])
def test_a_first_stage_of_ours_is_refused_for_a_search_through_the_proxy(
    run: RunCommand, files: list[str], command: list[str]
) -> None:
    judgments = files if command[0] in ("evaluate", "tune") else []
    result = run(*command, *judgments, "--template", "template.json", "--first-stage", "bm25", exits=2)
    assert "--first-stage is for an index that Sinkrank made" in result.stderr


def test_tune_needs_judgments(run: RunCommand) -> None:
    assert "give the judgments of your index" in run("tune", exits=2).stderr


def test_a_person_sees_a_table_and_the_queries_that_moved(run: RunCommand, files: list[str]) -> None:
    result = run("evaluate", *files, "--methods", "auto")
    assert "25 queries; p: paired randomisation test of nDCG@10 against none" in result.stdout
    assert "auto" in result.stdout


def test_one_query_is_a_query(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("query,docid,rating\nchat,fr/chat,1\n", encoding="utf-8")
    assert run("evaluate", "--qrels", str(tmp_path / "ratings.csv")).stdout.startswith("1 query; p: ")


@pytest.mark.usefixtures("narrow_terminal")
def test_a_narrow_terminal_cuts_no_measure(run: RunCommand, files: list[str]) -> None:
    shown = run("evaluate", *files, "--methods", "auto").stdout
    assert "…" not in shown
    assert [line.split()[1:] for line in shown.splitlines() if line.split()[:1] == ["method"]] == [
        ["nDCG@10", "MRR", "P@1", "P@10", "R@100", "judged@10"],
        ["95", "%", "difference", "p", "better", "/", "worse", "worse", "by", ".1"],
    ]


def test_an_unknown_method_is_named_before_anything_is_read(run: RunCommand) -> None:
    result = run("evaluate", "--queries", "gone", "--qrels", "gone", "--methods", "relxed", exits=2)
    assert "relaxed" in result.stderr


def test_tune_says_to_keep_what_is_set_and_prints_no_settings(run: RunCommand, files: list[str]) -> None:
    """Two documents are all that a query can find: no way is better than another."""
    result = run("tune", *files, "--method", "relaxed", "--first-stage", "hybrid")
    assert "on the other" in result.stdout
    assert "Nothing was better than the current settings." in result.stdout
    assert "epsilon" not in result.stdout
    as_json = json.loads(run("tune", *files, "--method", "emd", "--json").stdout)
    assert as_json["n_choosing"] + as_json["n_reporting"] == 25
    assert as_json["chosen"]["method"] == "emd"
    assert as_json["is_better"] is False


@pytest.mark.parametrize(
    ("first_stage", "lines"),
    [
        ("bm25", ['first_stage = "bm25"']),
        ("hybrid", ['first_stage = "hybrid"', "knn_weight = 0.5"]),
        ("engine", []),  # the caller's own query, which no setting names
    ],
)
def test_the_lines_of_tune_set_the_first_stage_that_was_measured(
    first_stage: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ways = [Way(name, "auto", first_stage, depth) for name, depth in (("before", 100), ("after", 50))]
    ids = [f"q{i}" for i in range(20)]
    runs = [
        Run(way, dict.fromkeys(ids, ()), {name: dict.fromkeys(ids, value) for name in MEASURES})
        for way, value in zip(ways, (0.2, 0.8), strict=True)
    ]
    present(Tuning("nDCG@10", ((ways[1], 0.8),), ways[1], *runs, n_choosing=20), as_json=False)
    printed = capsys.readouterr().out.splitlines()
    assert "depth = 50" in printed
    assert [line for line in printed if line.startswith(("first_stage =", "knn_weight ="))] == lines


@pytest.mark.parametrize(
    ("before", "after", "is_shown"),
    [
        ([0.2] * 20, [0.8] * 20, True),
        ([0.8] * 20, [0.2] * 20, False),
        # Ten gain what ten lose: a difference of 0.
        ([0.2, 0.8] * 10, [0.8, 0.2] * 10, False),
    ],
)
def test_tune_prints_lines_of_settings_only_where_they_are_better_by_more_than_chance(
    before: list[float], after: list[float], is_shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = Way("before", "auto"), Way("after", "auto", parameters=Parameters(epsilon=0.2))
    runs = [
        Run(
            way,
            {f"q{i}": [] for i in range(20)},
            {name: {f"q{i}": v for i, v in enumerate(values)} for name in MEASURES},
        )
        for way, values in zip(ways, (before, after), strict=True)
    ]
    present(Tuning("nDCG@10", ((ways[1], 0.8),), ways[1], *runs, n_choosing=20), as_json=False)
    shown = capsys.readouterr().out
    assert ("epsilon = 0.2" in shown.splitlines()) == is_shown
    assert ("keep the settings" in shown) == (not is_shown)
