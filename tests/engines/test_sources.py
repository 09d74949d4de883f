"""Where an engine comes from and what is said when it cannot be had; no node is started here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines import toolchain
from tests.engines.assemble import find_recipe
from tests.engines.class_archives import class_archive
from tests.engines.errors import EngineUnavailable
from tests.engines.nodes import free_ports
from tests.engines.recipes import OPENSEARCH_2
from tests.engines.sources import EnginePool, chosen_engines
from tests.engines.toolchain import Jdk, find_jdk, find_maven, parse_java_version


def fake_jdk(home: Path, version: str) -> Path:
    """A folder that passes for a JDK of that version."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "javac").touch()
    (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    (home / "bin" / "java").chmod(0o755)
    return home


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16 LTS', 25),
        ('java version "1.8.0_392"', 8),
        ("command not found", None),
    ],
)
def test_the_java_version_is_read_from_what_java_prints(text: str, major: int | None) -> None:
    assert parse_java_version(text) == major


def test_the_oldest_jdk_that_fits_is_taken(tmp_path: Path) -> None:
    homes = [fake_jdk(tmp_path / version, version) for version in ("25.0.1", "11.0.2", "21.0.3")]
    assert find_jdk(17, "an-engine", homes).home == tmp_path / "21.0.3"


def test_a_missing_jdk_is_an_error_that_names_the_cure(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable) as raised:
        find_jdk(21, "opensearch-3.5.0", [fake_jdk(tmp_path / "jdk", "17.0.15"), tmp_path / "absent"])

    for part in (
        "opensearch-3.5.0 needs a JDK 21",
        "apt-get install",
        "SINKRANK_JAVA_HOMES",
        "SINKRANK_TEST_ENGINES",
    ):
        assert part in str(raised.value)


def test_missing_maven_is_an_error_that_names_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "MAVEN_ARCHIVE", (tmp_path / "absent.tar.gz").as_uri())
    with pytest.raises(EngineUnavailable, match=r"mvn is not on PATH .*apt-get install maven"):
        find_maven(tmp_path)


def test_an_unknown_engine_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="engine is 'solr', expected one of opensearch-2"):
        find_recipe("solr")


def test_the_environment_restricts_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENSEARCH_URL", raising=False)
    monkeypatch.setenv("SINKRANK_TEST_ENGINES", "opensearch-3.5.0, opensearch-2.19.1")
    assert chosen_engines() == ["opensearch-2.19.1", "opensearch-3.5.0"]


def test_an_unknown_name_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SINKRANK_TEST_ENGINES", "opensearch-1")
    with pytest.raises(ValueError, match=r"SINKRANK_TEST_ENGINES names 'opensearch-1', expected some of"):
        chosen_engines()


def test_a_given_url_stands_for_every_opensearch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SINKRANK_TEST_ENGINES", raising=False)
    monkeypatch.delenv("ELASTICSEARCH_URL", raising=False)
    monkeypatch.setenv("OPENSEARCH_URL", "http://127.0.0.1:9200/")
    assert chosen_engines() == ["opensearch-2.19.1", "elasticsearch-8.15.5"]


def test_a_given_url_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENSEARCH_URL", f"http://127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(EngineUnavailable, match=r"no opensearch answers at OPENSEARCH_URL .*; start it or unset"):
        EnginePool().get(OPENSEARCH_2.name)


def test_with_none_of_the_three_sources_the_error_names_them_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENSEARCH_URL", raising=False)
    monkeypatch.setattr("tests.engines.sources.docker_answers", lambda: False)
    monkeypatch.setattr(toolchain, "_usual_homes", list)
    monkeypatch.setenv("SINKRANK_JAVA_HOMES", str(tmp_path))
    with pytest.raises(EngineUnavailable, match=r"OPENSEARCH_URL .*Docker daemon.*Maven Central.*needs a JDK 17"):
        EnginePool().get(OPENSEARCH_2.name)


def test_one_node_writes_the_archive_of_classes_and_what_a_killed_one_wrote_is_not_kept(tmp_path: Path) -> None:
    home, jdk = tmp_path / "engine", Jdk(tmp_path / "jdk", 17)
    first, second = class_archive(home, jdk), class_archive(home, jdk)
    assert first.written is not None
    assert second.written is None
    first.written.write_bytes(b"a part")
    first.keep(-9)
    third = class_archive(home, jdk)
    assert third.written is not None
    third.written.write_bytes(b"whole")
    third.keep(0)
    assert class_archive(home, jdk).options()[-1] == f"-XX:SharedArchiveFile={third.kept}"
    assert {path.name for path in third.kept.parent.iterdir()} == {"classes.jsa", "launcher.jar"}
    assert third.kept.read_bytes() == b"whole"
