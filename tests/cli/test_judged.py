"""`sinkrank evaluate --qrels` and `sinkrank tune` on a small index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.conftest import Run

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


def test_methods_are_compared_with_the_first_stage(run: Run, files: list[str], tmp_path: Path) -> None:
    result = run("evaluate", *files, "--methods", "relaxed,emd", "--output", str(tmp_path / "out"), "--json")
    assert result.exit_code == 0, result.stderr
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


def test_a_person_sees_a_table_and_the_queries_that_moved(run: Run, files: list[str]) -> None:
    result = run("evaluate", *files, "--methods", "auto")
    assert result.exit_code == 0, result.stderr
    assert "25 queries; p: paired randomisation test of nDCG@10 against none" in result.stdout
    assert "auto" in result.stdout


def test_a_narrow_terminal_cuts_no_measure(run: Run, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sinkrank.console.output.results", lambda: Console(highlight=False, width=80))
    shown = run("evaluate", *files, "--methods", "auto").stdout
    assert "…" not in shown
    assert [line.split()[1:] for line in shown.splitlines() if line.split()[:1] == ["method"]] == [
        ["nDCG@10", "MRR", "P@1", "P@10", "R@100", "judged@10"],
        ["95", "%", "difference", "p", "better", "/", "worse", "worse", "by", ".1"],
    ]


def test_qrels_without_queries_say_what_is_missing(run: Run, files: list[str]) -> None:
    result = run("evaluate", *files[2:])
    assert result.exit_code == 2
    assert "--queries" in result.stderr


def test_an_unknown_method_is_named_before_anything_is_read(run: Run) -> None:
    result = run("evaluate", "--queries", "gone", "--qrels", "gone", "--methods", "relxed")
    assert result.exit_code == 2
    assert "relaxed" in result.stderr


def test_tune_prints_settings_and_whether_they_are_more_than_chance(run: Run, files: list[str]) -> None:
    result = run("tune", *files, "--method", "relaxed", "--first-stage", "hybrid")
    assert result.exit_code == 0, result.stderr
    assert 'method = "relaxed"' in result.stdout
    assert "on the other" in result.stdout
    as_json = json.loads(run("tune", *files, "--method", "emd", "--json").stdout)
    assert as_json["n_choosing"] + as_json["n_reporting"] == 25
    assert as_json["chosen"]["method"] == "emd"


def test_too_few_judgments_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "queries").write_text("q\tcat\n", encoding="utf-8")
    (tmp_path / "qrels").write_text("q 0 fr/animaux 1\n", encoding="utf-8")
    result = run("tune", "--queries", str(tmp_path / "queries"), "--qrels", str(tmp_path / "qrels"))
    assert result.exit_code == 1
    assert "judge more" in result.stderr
