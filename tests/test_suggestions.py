"""Errors about an unknown name offer the nearest known one."""

import pytest

from reranker.base.suggestions import did_you_mean, nearest_name


@pytest.mark.parametrize(
    ("name", "nearest"), [("prot", "port"), ("PORT", "port"), ("hots", "host"), ("x", None), ("", None)]
)
def test_the_nearest_name_is_offered_where_one_is_similar(name: str, nearest: str | None) -> None:
    assert nearest_name(name, ["host", "port"]) == nearest


def test_without_a_similar_name_nothing_is_said() -> None:
    assert did_you_mean("zzz", ["host", "port"]) == ""
    assert did_you_mean("zzz", []) == ""
