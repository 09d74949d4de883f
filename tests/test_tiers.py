"""Each test is in one of the three tiers that `make` runs, and the tiers hold what CONTRIBUTING.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.engines.sources import chosen_engines, repeated_engines
from tests.support.tiers import MARKERS

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def markers(request: pytest.FixtureRequest) -> dict[str, set[str]]:
    """Markers by test."""
    collected = request.config.stash[MARKERS]
    modules = {test.partition("::")[0] for test in collected}
    if not modules >= {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "clients").glob("test_*.py")}:
        pytest.skip("a part of the tests was collected; run pytest without a path")
    return {test: found for test, found in collected.items() if test.startswith("tests/")}


def of(markers: dict[str, set[str]], marker: str) -> set[str]:
    return {test for test, found in markers.items() if marker in found}


def test_make_runs_the_tiers_by_their_markers() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    chosen = dict(re.findall(r"^(\w+):.*\n\t\$\(PYTEST\) \d -m (.+)$", makefile, re.MULTILINE))
    assert chosen == {"check": "unit", "test": '"not conformance"', "conformance": "conformance"}


def test_a_unit_test_needs_nothing_and_every_other_says_what_it_needs(markers: dict[str, set[str]]) -> None:
    others = ("slow", "engine", "corpus", "conformance")
    assert of(markers, "unit") == markers.keys() - set().union(*(of(markers, name) for name in others))
    assert len(of(markers, "unit")) > len(markers) / 2


@pytest.mark.parametrize("module", ["javascript_clients", "browser_search", "frameworks", "haystack"])
def test_suites_and_clients_of_others_are_in_conformance_alone(markers: dict[str, set[str]], module: str) -> None:
    tests = {test for test in markers if test.startswith(f"tests/clients/test_{module}.py")}
    assert tests
    assert tests <= of(markers, "conformance")


def test_conformance_has_the_whole_rest_suite_of_each_engine_and_the_others_a_sample_of_the_first(
    markers: dict[str, set[str]],
) -> None:
    whole = "tests/clients/test_rest_suites.py::test_each_test_turns_out_through_the_proxy_as_directly"
    some = "tests/clients/test_rest_suites.py::test_each_test_of_a_sample_turns_out_through_the_proxy_as_directly"
    assert {f"{whole}[{engine}]" for engine in chosen_engines()} <= of(markers, "conformance")
    first, *others = chosen_engines()
    assert f"{some}[{first}]" in markers.keys() - of(markers, "conformance")
    assert {f"{some}[{engine}]" for engine in others} <= of(markers, "conformance")


def test_what_any_engine_shows_runs_on_the_first_and_in_conformance_on_the_others(markers: dict[str, set[str]]) -> None:
    for place, engine in enumerate(chosen_engines()):
        tests = {test for test in of(markers, "any_engine") & of(markers, "engine") if f"[{engine}" in test}
        in_conformance = tests & of(markers, "conformance")
        assert len(in_conformance) == len(tests) > 0 if place else len(in_conformance) < len(tests) / 2


def test_the_second_version_of_an_engine_is_in_conformance_alone(markers: dict[str, set[str]]) -> None:
    by_engine = {name: {test for test in of(markers, "engine") if name in test} for name in chosen_engines()}
    for name, tests in by_engine.items():
        in_both = tests - of(markers, "conformance")
        assert bool(in_both) == (name not in repeated_engines())
    # What runs on one runs on the other: by the names of the tests, without the engines'.
    first, *others = ({test.replace(name, "") for test in tests} for name, tests in by_engine.items())
    assert all(len(first & other) > len(first) / 2 for other in others)
