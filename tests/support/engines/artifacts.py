"""Fetches a single jar of Maven Central with the tools that engines are assembled with, and keeps it beside them."""

from __future__ import annotations

from pathlib import Path

from ingest.fetching.maven import COPY_ONE_GOAL, fetched_jar
from tests.support.engines.assemble import cache_folder, fetch_with_maven, only_one_builder
from tests.support.engines.toolchain import find_jdk, find_maven

_MIN_JAVA = 17  # of Maven, and of the engines


def fetched_artifact(coordinates: str, sha256: str) -> Path:
    """The jar of `group:artifact:version` in the engines' cache, fetched where it is not there yet.

    Raises:
        EngineUnavailable: Java, Maven or Maven Central is missing.
        BadInput: the jar is not the expected one.
    """
    return fetched_jar(coordinates, sha256, cache_folder() / "artifacts", _fetch)


def _fetch(coordinates: str, folder: Path) -> None:
    """Into the folder, while no engine is assembled."""
    cache = cache_folder()
    with only_one_builder(cache):
        options = [COPY_ONE_GOAL, f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}"]
        fetch_with_maven(coordinates, options, find_maven(cache), find_jdk(_MIN_JAVA, "Maven"))
