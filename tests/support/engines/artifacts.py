"""Fetches a single jar of Maven Central with the tools that engines are assembled with, and keeps it beside them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ingest.fetching.packages import Package, fetched_package
from tests.support.engines.assemble import cache_folder, fetch_with_maven, only_one_builder
from tests.support.engines.toolchain import find_jdk, find_maven

_MIN_JAVA = 17  # of Maven, and of the engines


def fetched_artifact(coordinates: str, sha256: str) -> Path:
    """The jar of `group:artifact:version` in the engines' cache, fetched where it is not there yet.

    Raises:
        EngineUnavailable: Java, Maven or Maven Central is missing.
        FetchFailed: the jar is not the expected one.
    """
    name, _, version = coordinates.rpartition(":")
    return fetched_package(Package("Maven Central", name, version, sha256), cache_folder() / "artifacts", _run_maven)


def _run_maven(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command of Maven, while no engine is assembled."""
    cache = cache_folder()
    with only_one_builder(cache):
        _, _, _, *options = command  # mvn -B -q
        fetch_with_maven(command[-2], options, find_maven(cache), find_jdk(_MIN_JAVA, "Maven"))
    return subprocess.CompletedProcess(command, 0, "", "")
