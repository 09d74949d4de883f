"""Errors about an unknown name offer the nearest known one."""

import pytest

from reranker.base.suggestions import did_you_mean


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("prot", "did you mean 'port'?"),
        ("PORT", "did you mean 'port'?"),
        ("hots", "did you mean 'host'?"),
        ("x", ""),
        ("", ""),
    ],
)
def test_the_nearest_name_is_offered_where_one_is_similar(name: str, offered: str) -> None:
    assert did_you_mean(name, ["host", "port"]) == offered


def test_without_names_nothing_is_said() -> None:
    assert did_you_mean("zzz", []) == ""
