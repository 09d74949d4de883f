"""A jar of Maven Central is fetched once, and is the one that is expected."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from reranker.base.errors import BadInput
from tests.engines import artifacts
from tests.engines.artifacts import fetched_artifact
from tests.engines.toolchain import Jdk

CONTENT = b"a jar"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Notes each call of a Maven that brings the content."""
    calls, maven = tmp_path / "calls", tmp_path / "mvn"
    maven.write_text(
        f'#!/bin/sh\necho "$@" >> {calls}\n'
        'for option in "$@"; do case "$option" in -DoutputDirectory=*) folder="${option#*=}";; esac; done\n'
        'printf "a jar" > "$folder/whatever-1.jar"\n'
    )
    maven.chmod(0o755)
    monkeypatch.setenv("SINKRANK_ENGINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(artifacts, "find_maven", lambda folder: maven)
    monkeypatch.setattr(artifacts, "find_jdk", lambda min_java, engine: Jdk(tmp_path, 17))
    return calls


def test_a_jar_is_fetched_once(calls: Path) -> None:
    first = fetched_artifact("org.example:thing:1.0", DIGEST)
    assert first.read_bytes() == CONTENT
    assert fetched_artifact("org.example:thing:1.0", DIGEST) == first
    (call,) = calls.read_text().splitlines()
    assert "-Dartifact=org.example:thing:1.0" in call


def test_another_jar_is_refused_each_time(calls: Path) -> None:
    for _ in range(2):
        with pytest.raises(BadInput, match=r"has the sha256 .* expected 0000; remove it"):
            fetched_artifact("org.example:thing:1.0", "0000")
