"""Folders import each other in one direction only; import-linter checks which (`make check`)."""

from __future__ import annotations

from itertools import combinations

import grimp

PACKAGES = ("reranker", "ingest", "mappings", "sinkrank", "papers", "campaign")


def test_no_two_folders_import_each_other() -> None:
    graph = grimp.build_graph(*PACKAGES)

    def folder(module: str) -> str:
        return module if graph.find_children(module) else module.rpartition(".")[0] or module

    imports = {
        (folder(module), folder(imported))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    }
    folders = sorted({folder(module) for module in graph.modules})
    assert len(folders) > 30
    assert [pair for pair in combinations(folders, 2) if {pair, pair[::-1]} <= imports] == []
