"""Builds an engine's home from Maven Central once, in a cache outside the checkout, and hands out its path.

`python -m tests.support.engines.assemble [ENGINE ...]` builds them ahead of the tests.
A home is never written to afterwards.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.engines.errors import EngineUnavailable
from tests.support.engines.recipes import HERE, LAYOUT_VERSION, RECIPES, Module, Plugin, Recipe
from tests.support.engines.toolchain import Jdk, find_jdk, find_maven

CACHE_VARIABLE = "SINKRANK_ENGINE_CACHE"
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
DOWNLOAD_LIMIT_S = 900
# A line that breaks in the middle of a large artifact is tried again; what has come stays in Maven's own repository.
DOWNLOAD_ATTEMPTS = 3


def cache_folder() -> Path:
    """Where homes are kept: SINKRANK_ENGINE_CACHE, else `engines` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "sinkrank" / "engines"


def recipe_hash(recipe: Recipe) -> str:
    """Twelve hex digits over everything a home is made from, so that a changed recipe is a new home."""
    digest = hashlib.sha256(f"{LAYOUT_VERSION} {recipe!r}".encode())
    sources = sorted((HERE / "java").rglob("*.java"))
    for path in [recipe.pom, HERE / "log4j2.properties", *sources]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def find_recipe(engine: str) -> Recipe:
    """The recipe of that name; ValueError lists the known ones."""
    if engine not in RECIPES:
        raise ValueError(f"engine is {engine!r}, expected one of {', '.join(RECIPES)}")
    return RECIPES[engine]


def assembled_home(recipe: Recipe) -> Path:
    """The home of an engine, built on first use (minutes on a slow line), found at once afterwards.

    Raises EngineUnavailable when Java, Maven or Maven Central is missing.
    """
    cache = cache_folder()
    home = cache / f"{recipe.name}-{recipe_hash(recipe)}"
    if home.exists():
        return home
    cache.mkdir(parents=True, exist_ok=True)
    with only_one_builder(cache):
        if not home.exists():
            _build(recipe, home)
    return home


@contextmanager
def only_one_builder(cache: Path) -> Iterator[None]:
    """Held by one process at a time: two Mavens writing one local repository can spoil it."""
    with (cache / "assemble.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(recipe: Recipe, home: Path) -> None:
    """Build in a folder beside `home` and rename at the end, so that a home is whole or absent."""
    jdk = find_jdk(recipe.min_java, recipe.name)
    maven = find_maven(home.parent)
    with tempfile.TemporaryDirectory(prefix=f"building-{recipe.name}-", dir=home.parent) as work:
        jars, draft = Path(work) / "jars", Path(work) / "home"
        _download(recipe, maven, jdk, jars)
        _lay_out(recipe, jdk, jars, draft)
        draft.rename(home)


def _download(recipe: Recipe, maven: Path, jdk: Jdk, target: Path) -> None:
    """Bring every artifact of the pom into one flat folder."""
    options = ["-f", str(recipe.pom), COPY_GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    fetch_with_maven(recipe.name, [*options, *(f"-P{profile}" for profile in recipe.profiles)], maven, jdk)


def fetch_with_maven(what: str, options: list[str], maven: Path, jdk: Jdk) -> None:
    """Run a goal of Maven that fetches `what`, all attempts together within the limit.

    Raises EngineUnavailable, with Maven's last words, when every attempt fails.
    """
    command = [str(maven), "-B", "-q", *options]
    deadline = time.monotonic() + DOWNLOAD_LIMIT_S
    for attempt in range(DOWNLOAD_ATTEMPTS):
        # Without -U a failure is remembered for a day.
        again = ["-U"] if attempt else []
        left_s = max(1.0, deadline - time.monotonic())
        done = _run([*command, *again], {**os.environ, "JAVA_HOME": str(jdk.home)}, left_s)
        if done.returncode == 0:
            return
    raise EngineUnavailable(
        f"Maven could not fetch {what} in {DOWNLOAD_ATTEMPTS} attempts (exit code {done.returncode}); check "
        f"that Maven Central or the mirror in ~/.m2/settings.xml answers, then run again:\n{_tail(done.stdout)}"
    )


def _lay_out(recipe: Recipe, jdk: Jdk, jars: Path, home: Path) -> None:
    """Sort the artifacts into `modules/`, `plugins/` and `lib/`, in that order, and compile the launcher."""
    (home / "config").mkdir(parents=True)
    shutil.copy(HERE / "log4j2.properties", home / "config")
    for module in recipe.modules:
        folder = home / "modules" / module.name
        folder.mkdir(parents=True)
        if module.jars:
            _move(jars, module.jars, folder)
        (folder / "plugin-descriptor.properties").write_text(_descriptor(recipe, module))
    (home / "plugins").mkdir()
    for plugin in recipe.plugins:
        _unpack(plugin, jars, home)
    for pattern in recipe.dropped_jars:
        for jar in jars.glob(pattern):
            jar.unlink()
    _move(jars, ("*.jar",), home / "lib")
    _compile(jdk, recipe, HERE / "java" / "launchers", home / "launcher", home, recipe.launcher)
    for module in recipe.modules:
        if module.sources:
            _compile_jar(jdk, recipe, module.sources, home / "modules" / module.name, home)
    for plugin in recipe.plugins:
        if plugin.sources:
            _compile_jar(jdk, recipe, plugin.sources, home / "plugins" / plugin.name, home)


def _move(jars: Path, patterns: tuple[str, ...], folder: Path) -> None:
    """Move every match; ValueError where a module's first pattern, its own jar, matches nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    if not list(jars.glob(patterns[0])):
        raise ValueError(f"no artifact matches {patterns[0]!r} for {folder.name}; name it in the pom.xml")
    for pattern in patterns:
        for jar in jars.glob(pattern):
            jar.rename(folder / jar.name)


def _descriptor(recipe: Recipe, module: Module) -> str:
    lines = {
        "name": module.name,
        "description": module.name,
        "version": recipe.version,
        f"{recipe.distribution}.version": recipe.version,
        "java.version": str(recipe.min_java),
        "classname": module.class_name,
        "extended.plugins": module.extends,
        "has.native.controller": "false",
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _unpack(plugin: Plugin, jars: Path, home: Path) -> None:
    folder = home / "plugins" / plugin.name
    archives = list(jars.glob(plugin.zip))
    if len(archives) != 1:
        raise ValueError(f"{len(archives)} artifacts match {plugin.zip!r}, expected 1; see the pom.xml")
    with zipfile.ZipFile(archives[0]) as archive:
        archive.extractall(folder)
    if plugin.extra_jars:
        _move(jars, plugin.extra_jars, folder)
    if plugin.descriptor:
        _mend(folder / "plugin-descriptor.properties", dict(plugin.descriptor))


def _mend(descriptor: Path, changes: dict[str, str]) -> None:
    """Replace or add lines of a properties file."""
    kept = [line for line in descriptor.read_text().splitlines() if line.split("=")[0] not in changes]
    descriptor.write_text("\n".join([*kept, *(f"{key}={value}" for key, value in changes.items()), ""]))


def _compile(jdk: Jdk, recipe: Recipe, sources: Path, target: Path, home: Path, main_class: str = "*") -> None:
    """Compile the Java files below `sources` into `target`; with `main_class`, only what that class needs."""
    files = [str(path) for path in sorted(sources.rglob(f"{main_class}.java"))]
    command = [str(jdk.javac), "--release", str(recipe.min_java), "-proc:none", "-d", str(target)]
    command += ["-cp", str(home / "lib" / "*"), "-sourcepath", str(sources), *files]
    done = _run(command, dict(os.environ), 120)
    if done.returncode != 0:
        raise EngineUnavailable(f"{jdk.javac} could not compile for {recipe.name}:\n{_tail(done.stdout)}")


def _compile_jar(jdk: Jdk, recipe: Recipe, sources: str, folder: Path, home: Path) -> None:
    with tempfile.TemporaryDirectory() as work:
        classes = Path(work)
        _compile(jdk, recipe, HERE / "java" / sources, classes, home)
        with zipfile.ZipFile(folder / f"{sources}.jar", "w") as jar:
            for path in sorted(classes.rglob("*.class")):
                jar.write(path, path.relative_to(classes).as_posix())


def _run(command: list[str], environment: dict[str, str], limit_s: float) -> subprocess.CompletedProcess[str]:
    """Run with both streams in `stdout`; a run past its limit is an EngineUnavailable."""
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise EngineUnavailable(f"{command[0]} took longer than {limit_s:g} s; run again") from late


def _tail(text: str, n_lines: int = 30) -> str:
    return "\n".join(text.splitlines()[-n_lines:])


if __name__ == "__main__":
    for engine in sys.argv[1:] or RECIPES:
        print(assembled_home(find_recipe(engine)))
