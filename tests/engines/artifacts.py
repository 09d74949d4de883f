"""Fetches a single jar of Maven Central with the tools that engines are assembled with, and keeps it beside them."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from tests.engines.assemble import cache_folder, fetch_with_maven, only_one_builder
from tests.engines.toolchain import find_jdk, find_maven

COPY_ONE_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_MIN_JAVA = 17  # of Maven, and of the engines


def fetched_artifact(coordinates: str, sha256: str) -> Path:
    """The jar of `group:artifact:version` in the engines' cache, fetched where it is not there yet.

    Raises:
        EngineUnavailable: Java, Maven or Maven Central is missing.
        ValueError: the jar is not the expected one.
    """
    cache = cache_folder()
    jar = cache / "artifacts" / f"{coordinates.replace(':', '-')}.jar"
    if not jar.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with only_one_builder(cache):
            if not jar.exists():
                _fetch(coordinates, jar)
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    if digest != sha256:
        raise ValueError(f"{jar} has the sha256 {digest}, expected {sha256}; remove it")
    return jar


def _fetch(coordinates: str, jar: Path) -> None:
    """Into a folder beside `jar`, renamed at the end, so that the jar is whole or absent."""
    cache = jar.parent.parent
    jar.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=cache) as work:
        options = [COPY_ONE_GOAL, f"-Dartifact={coordinates}", f"-DoutputDirectory={work}"]
        fetch_with_maven(coordinates, options, find_maven(cache), find_jdk(_MIN_JAVA, "Maven"))
        (found,) = Path(work).glob("*.jar")
        found.rename(jar)
