"""What is said where a framework is not installed."""

from __future__ import annotations

import importlib
import sys

import pytest

from reranker.base.errors import MissingPackage


@pytest.mark.parametrize(
    ("adapter", "framework", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llamaindex", "llama_index.core", "llamaindex"),
        ("pyterrier", "pyterrier", "pyterrier"),
    ],
)
def test_a_missing_framework_is_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, adapter: str, framework: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name == framework or name.startswith(f"{framework}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"reranker.adapters.{adapter}", raising=False)
    with pytest.raises(MissingPackage, match=rf"this adapter .* pip install 'sinkrank\[{extra}\]'"):
        importlib.import_module(f"reranker.adapters.{adapter}")
    sys.modules.pop(f"reranker.adapters.{adapter}", None)
