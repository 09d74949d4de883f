"""Finds the Java and the Maven that an engine needs; says what to install where one is missing."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.engines.errors import EngineUnavailable

JAVA_HOMES_VARIABLE = "SINKRANK_JAVA_HOMES"
MAVEN_VERSION = "3.9.9"
MAVEN_ARCHIVE = (
    "https://repo.maven.apache.org/maven2/org/apache/maven/apache-maven/"
    f"{MAVEN_VERSION}/apache-maven-{MAVEN_VERSION}-bin.tar.gz"
)
MAVEN_SHA512 = (
    "a555254d6b53d267965a3404ecb14e53c3827c09c3b94b5678835887ab404556"
    "bfaf78dcfe03ba76fa2508649dca8531c74bca4d5846513522404d48e8c4ac8b"
)
"""Published beside the archive as `.sha512`."""


@dataclass(frozen=True)
class Jdk:
    """A Java with a compiler; `major` is 17 for "17.0.15" and 8 for "1.8.0_392"."""

    home: Path
    major: int

    @property
    def java(self) -> Path:
        return self.home / "bin" / "java"

    @property
    def javac(self) -> Path:
        return self.home / "bin" / "javac"


def find_jdk(min_java: int, engine: str, homes: list[Path] | None = None) -> Jdk:
    """The JDK for an engine: one named by SINKRANK_JAVA_HOMES if it fits, else the oldest that fits.

    `homes` replaces all the places that are looked at. Raises EngineUnavailable where none fits.
    """
    groups = [_homes_in(os.environ.get(JAVA_HOMES_VARIABLE, "")), _usual_homes()] if homes is None else [homes]
    for group in groups:
        fitting = [jdk for jdk in map(read_jdk, group) if jdk and jdk.major >= min_java]
        if fitting:
            return min(fitting, key=lambda jdk: jdk.major)
    raise EngineUnavailable(
        f"{engine} needs a JDK {min_java} or later with javac, and none was found in {JAVA_HOMES_VARIABLE}, "
        "JAVA_HOME, PATH or /usr/lib/jvm; install one (on Debian: apt-get install "
        f"openjdk-{min_java}-jdk-headless) or set {JAVA_HOMES_VARIABLE} to its folder, "
        "or leave this engine out by naming the others in SINKRANK_TEST_ENGINES"
    )


def _homes_in(value: str) -> list[Path]:
    return [Path(part).expanduser() for part in value.split(os.pathsep) if part]


def _usual_homes() -> list[Path]:
    """JAVA_HOME and its kin (CI images set JAVA_HOME_21_X64), `java` on PATH, and where systems put JDKs."""
    on_path = shutil.which("java")
    return [
        *(Path(os.environ[name]) for name in sorted(os.environ) if name.startswith("JAVA_HOME")),
        *([Path(on_path).resolve().parent.parent] if on_path else []),
        *sorted(Path("/usr/lib/jvm").glob("*")),
        *sorted(Path("~/.sdkman/candidates/java").expanduser().glob("*")),
        *sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home")),
    ]


@cache
def read_jdk(home: Path) -> Jdk | None:
    """The JDK at `home`, or None where there is no java, no javac, or no readable version."""
    if not (home / "bin" / "javac").exists():
        return None
    try:
        answer = subprocess.run(
            [str(home / "bin" / "java"), "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    major = parse_java_version(answer.stderr + answer.stdout)
    return None if major is None else Jdk(home, major)


def parse_java_version(text: str) -> int | None:
    """The major version in what `java -version` prints: `version "17.0.15"` is 17, `"1.8.0_392"` is 8."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def find_maven(folder: Path) -> Path:
    """`mvn` on PATH (its settings may name a mirror), else one fetched once from Maven Central into `folder`.

    Raises EngineUnavailable when there is none and none can be fetched.
    """
    on_path = shutil.which("mvn")
    if on_path:
        return Path(on_path)
    fetched = folder / f"apache-maven-{MAVEN_VERSION}" / "bin" / "mvn"
    if not fetched.exists():
        _fetch_maven(folder)
    return fetched


def _fetch_maven(folder: Path) -> None:
    """Unpack Maven under `folder`; it appears there whole or not at all."""
    try:
        with urllib.request.urlopen(MAVEN_ARCHIVE, timeout=60) as answer:
            body = answer.read()
    except (urllib.error.URLError, OSError) as failed:
        raise EngineUnavailable(
            f"mvn is not on PATH and {MAVEN_ARCHIVE} cannot be read ({failed}); "
            "install Maven (on Debian: apt-get install maven)"
        ) from failed
    digest = hashlib.sha512(body).hexdigest()
    if digest != MAVEN_SHA512:
        raise EngineUnavailable(
            f"{MAVEN_ARCHIVE} has SHA-512 {digest[:16]}…, expected {MAVEN_SHA512[:16]}…; "
            "something on the way changes it: install Maven (on Debian: apt-get install maven)"
        )
    with tempfile.TemporaryDirectory(dir=folder) as work:
        archive = Path(work) / "maven.tar.gz"
        archive.write_bytes(body)
        with tarfile.open(archive) as tar:
            tar.extractall(work, filter="data")
        (Path(work) / f"apache-maven-{MAVEN_VERSION}").rename(folder / f"apache-maven-{MAVEN_VERSION}")
