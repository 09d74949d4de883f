"""Fetches a single jar from Maven Central with Maven, once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from ingest.fetching.commands import LIMIT_S, run_command
from ingest.fetching.digests import sha256_of
from reranker.base.errors import BadInput, FetchFailed
from reranker.base.temporary import temporary_folder

COPY_ONE_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_MAX_SHOWN = 400

Fetch = Callable[[str, Path], None]
"""Fetches the jar of `group:artifact:version` into a folder."""


def fetched_jar(coordinates: str, sha256: str, folder: Path, fetch: Fetch | None = None) -> Path:
    """The jar of `group:artifact:version` in a folder, fetched if it is missing. It appears complete or not at all.

    Args:
        fetch: fetches the jar; None: `fetch_with_mvn`.

    Raises:
        FetchFailed: Maven is not installed, or could not fetch it.
        BadInput: the jar is not the expected one.
    """
    jar = jar_path(coordinates, folder)
    if not jar.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_folder("fetching-", folder) as work:
            (fetch or fetch_with_mvn)(coordinates, work)
            found = sorted(work.glob("*.jar"))
            if len(found) != 1:
                raise FetchFailed(
                    f"Maven left {len(found)} jars of {coordinates}, not one; look into ~/.m2/settings.xml"
                )
            found[0].rename(jar)
    digest = sha256_of(jar)
    if digest != sha256:
        raise BadInput(f"{jar} has the sha256 {digest}, expected {sha256}; remove it")
    return jar


def jar_path(coordinates: str, folder: Path) -> Path:
    """The path of the jar of `fetched_jar`."""
    return folder / f"{coordinates.replace(':', '-')}.jar"


def fetch_with_mvn(coordinates: str, folder: Path) -> None:
    """Fetches with `mvn`, whose settings may name a mirror.

    Raises:
        FetchFailed: Maven is not installed, failed, or took longer than half an hour.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise FetchFailed(
            f"{coordinates} is fetched with Maven, and mvn is not on PATH; install it (on Debian: "
            "apt-get install maven)"
        )
    # Absolute, since Maven runs in this folder.
    options = [f"-Dartifact={coordinates}", f"-DoutputDirectory={folder.resolve()}"]
    command = [maven, "-B", "-q", COPY_ONE_GOAL, *options]
    try:
        done = run_command(command, folder)
    except subprocess.TimeoutExpired as error:
        raise FetchFailed(f"Maven did not fetch {coordinates} within {LIMIT_S} s; try again") from error
    if done.returncode:
        told = " ".join((done.stdout + done.stderr).split())[:_MAX_SHOWN]
        raise FetchFailed(
            f"Maven could not fetch {coordinates}: {told}; check that Maven Central, or the mirror in "
            "~/.m2/settings.xml, answers"
        )
