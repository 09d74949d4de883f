"""The benchmark of devices: both sides do the same work, and the results are written."""

import json

import pytest

from benchmarks import device

pytestmark = pytest.mark.filterwarnings("default")  # matplotlib may warn


def test_both_sides_solve_the_same_and_the_results_are_written(tmp_path, capsys):
    work = "--rounds 1 --threads 1 --queries 3 --query-words 10 --vocabulary 1000 --candidates 5"
    device.main([*work.split(), "--out", str(tmp_path)])
    assert "3 queries with 5 candidates each, sinkhorn, 10 query words" in capsys.readouterr().out
    (result,) = json.loads((tmp_path / "results.json").read_text())["workloads"]
    assert set(result["sides"]) == {device.ONE_BY_ONE, "cpu"}
    assert result["sides"]["cpu"]["largest_difference"] == pytest.approx(0, abs=1e-5)
