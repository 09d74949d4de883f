"""Archives of npm, PyPI and Maven Central: fetched whole or not at all, and read by the exact names of their files."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.fetching.packages import Package, fetched_package, open_member
from reranker.base.errors import FetchFailed

CONTENT = b"an archive"
NPM = Package("npm", "vectors", "1.0.0", hashlib.sha256(CONTENT).hexdigest())
PYPI = Package("PyPI", "some-vectors", "2.0", hashlib.sha256(CONTENT).hexdigest())


class Client:
    """Plays npm and pip: leaves files in the folder, and remembers the commands."""

    def __init__(self, *names: str, content: bytes = CONTENT, code: int = 0, told: str = "") -> None:
        self.names, self.content, self.code, self.told = names, content, code, told
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        for name in self.names:
            (folder / name).write_bytes(self.content)
        return subprocess.CompletedProcess(command, self.code, "", self.told)


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An npm on PATH that nobody runs."""
    (tmp_path / "bin").mkdir()
    found = tmp_path / "bin" / "npm"
    found.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(found.parent))
    return found


def test_npm_packs_the_very_version_and_runs_no_script_of_it(tmp_path: Path, npm: Path) -> None:
    client = Client("vectors-1.0.0.tgz")
    archive = fetched_package(NPM, tmp_path / "v", client)
    assert archive == tmp_path / "v" / "vectors-1.0.0.tgz"
    assert archive.read_bytes() == CONTENT
    ((program, verb, what, *options),) = client.commands
    assert (program, verb, what) == (str(npm), "pack", "vectors@1.0.0")
    assert "--ignore-scripts" in options


def test_pip_of_this_python_takes_a_built_archive_without_what_it_depends_on(tmp_path: Path) -> None:
    client = Client("some_vectors-2.0-py3-none-any.whl")
    archive = fetched_package(PYPI, tmp_path, client)
    assert archive.name == "some-vectors-2.0.whl"
    (command,) = client.commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert command[-1] == "some-vectors==2.0"
    assert {"--no-deps", "--only-binary"} < set(command)


def test_a_wheel_of_another_platform_and_python_is_taken_on_every_machine(tmp_path: Path) -> None:
    client = Client("some_vectors-2.0-cp311-cp311-manylinux2014_x86_64.whl")
    fetched_package(replace(PYPI, platform="manylinux2014_x86_64", python="3.11"), tmp_path, client)
    (command,) = client.commands
    for option, value in (("--platform", "manylinux2014_x86_64"), ("--python-version", "3.11")):
        assert command[command.index(option) + 1] == value


@pytest.mark.parametrize(
    ("package", "name", "option"),
    [(NPM, "vectors-1.0.0.tgz", "--pack-destination"), (PYPI, "some_vectors-2.0-py3-none-any.whl", "--dest")],
)
def test_in_a_relative_folder_the_client_is_told_the_whole_path(
    package: Package, name: str, option: str, tmp_path: Path, npm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It works in that folder, so that a relative path would lead below it."""
    monkeypatch.chdir(tmp_path)
    client = Client(name)
    fetched_package(package, Path("vectors"), client)
    (command,) = client.commands
    assert Path(command[command.index(option) + 1]).parent == tmp_path / "vectors"


def test_an_archive_is_fetched_once(tmp_path: Path, npm: Path) -> None:
    client = Client("vectors-1.0.0.tgz")
    assert fetched_package(NPM, tmp_path, client) == fetched_package(NPM, tmp_path, client)
    assert len(client.commands) == 1


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (Client("vectors-1.0.0.tgz", content=b"another"), "has the sha256 .* expected"),
        (Client(), "left 0 files"),
        (Client("a.tgz", "b.tgz"), "left 2 files"),
        (Client(code=1, told="npm error 404"), "npm could not fetch npm vectors 1.0.0: npm error 404; check"),
    ],
)
def test_what_is_not_the_archive_is_refused_and_leaves_nothing(
    tmp_path: Path, npm: Path, client: Client, said: str
) -> None:
    with pytest.raises(FetchFailed, match=said):
        fetched_package(NPM, tmp_path / "v", client)
    assert {path.name for path in (tmp_path / "v").iterdir()} == set()


def test_an_archive_that_somebody_changed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some-vectors-2.0.whl").write_bytes(b"changed")
    with pytest.raises(FetchFailed, match=r"has the sha256 .* delete it"):
        fetched_package(PYPI, tmp_path, Client())


def test_without_npm_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchFailed, match="npm, which is not installed; install it"):
        fetched_package(NPM, tmp_path)


def test_without_pip_the_cure_is_named(tmp_path: Path) -> None:
    client = Client(code=1, told=f"{sys.executable}: No module named pip")
    with pytest.raises(FetchFailed, match="no pip; install it"):
        fetched_package(PYPI, tmp_path, client)


def test_a_client_that_takes_too_long_is_told(tmp_path: Path) -> None:
    def slow(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        raise subprocess.TimeoutExpired(command, 1)

    with pytest.raises(FetchFailed, match=r"did not fetch PyPI some-vectors 2\.0 within"):
        fetched_package(PYPI, tmp_path, slow)


@pytest.fixture
def maven_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven on PATH that notes each call and brings three bytes."""
    calls, folder = tmp_path / "calls", tmp_path / "bin"
    folder.mkdir()
    maven = folder / "mvn"
    maven.write_text(
        f'#!/bin/sh\necho "$@" >> {calls}\n'
        'for option in "$@"; do case "$option" in -DoutputDirectory=*) folder="${option#*=}";; esac; done\n'
        'printf "jar" > "$folder/whatever-1.jar"\n'
    )
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return calls


# Of the bytes `jar`, by sha256sum.
SHA256 = "0163f1eea7894350060624d315234d40c508ab251ba121714e234503045faadd"
JAR = Package("Maven Central", "org.example:thing", "1.0", SHA256)


def test_a_jar_is_fetched_once_and_kept(maven_calls: Path, tmp_path: Path) -> None:
    first = fetched_package(JAR, tmp_path / "models")
    assert fetched_package(JAR, tmp_path / "models") == first
    assert first.read_bytes() == b"jar"
    (call,) = maven_calls.read_text(encoding="utf-8").splitlines()
    assert "-Dartifact=org.example:thing:1.0" in call


# Members


def tgz(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


MAKERS = {"a.tgz": tgz, "a.whl": zipped, "a.zip": zipped}


@pytest.fixture(params=MAKERS)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    (tmp_path / "folder").mkdir()
    return lambda files: MAKERS[request.param](tmp_path / "folder" / request.param, files)


def test_a_file_is_read_by_its_exact_name_and_nothing_is_unpacked(
    tmp_path: Path, archive: Callable[[dict[str, bytes]], Path]
) -> None:
    path = archive({"../evil": b"out", "/etc/evil": b"out", "package/v.json": b"in", "v.json": b"other"})
    with open_member(path, "package/v.json", 10) as stream:
        assert stream.read() == b"in"
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == [path.name]


def test_a_file_that_is_not_in_it_is_named(archive: Callable[[dict[str, bytes]], Path]) -> None:
    with pytest.raises(FetchFailed, match=r"has no package/v\.json"), open_member(archive({}), "package/v.json", 10):
        pass


def test_a_file_that_unpacks_to_more_than_it_may_is_not_read(archive: Callable[[dict[str, bytes]], Path]) -> None:
    path = archive({"v": b"0" * 10_000_000})
    assert path.stat().st_size < 50_000
    with (
        pytest.raises(FetchFailed, match="has 10,000,000 bytes, more than the expected 1,000"),
        open_member(path, "v", 1_000),
    ):
        pass


def test_a_damaged_archive_is_named(archive: Callable[[dict[str, bytes]], Path]) -> None:
    path = archive({"v": bytes(range(256)) * 1_000})
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FetchFailed, match="cannot be read"), open_member(path, "v", 1_000_000) as stream:
        stream.read()
