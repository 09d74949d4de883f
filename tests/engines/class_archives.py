"""Keeps the classes that an engine loads at its start (Java's class data sharing): its next node takes a third less
processor time to start.

The first node of a recipe writes the archive when it stops. It stands beside the engine's home, under a digest of the
JDK. Java itself checks whether an archive fits; one that does not is ignored.
"""

from __future__ import annotations

import hashlib
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.engines.toolchain import Jdk

# A node that claimed to write the archive and has not done so by then was killed.
_CLAIM_S = 3600.0


@dataclass(frozen=True)
class ClassArchive:
    """
    Attributes:
        launcher: the launcher's classes as a jar: with a folder in the class path Java shares no classes.
        kept: the archive, once there is one.
        written: where this node writes the archive; None if it is there, or if another node writes it.
    """

    launcher: Path
    kept: Path
    written: Path | None

    def options(self) -> list[str]:
        """Of Java. What Java says of an archive is no concern of the node's log."""
        quiet = ["-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
        if self.written is not None:
            return [*quiet, f"-XX:ArchiveClassesAtExit={self.written}"]
        return [*quiet, f"-XX:SharedArchiveFile={self.kept}"] if self.kept.exists() else quiet

    def keep(self, exit_code: int) -> None:
        """Called after the node has stopped. What a node has written that a signal ended may be a part."""
        if self.written is None:
            return
        if exit_code >= 0 and self.written.exists():
            self.written.rename(self.kept)
        self.written.unlink(missing_ok=True)
        _claim(self.kept).unlink(missing_ok=True)


def class_archive(home: Path, jdk: Jdk) -> ClassArchive:
    """The archive of the engine in `home` for a JDK."""
    release = (jdk.home / "release").read_bytes() if (jdk.home / "release").exists() else str(jdk).encode()
    folder = home.parent / "class-archives" / f"{home.name}-{hashlib.sha256(release).hexdigest()[:12]}"
    launcher, kept = folder / "launcher.jar", folder / "classes.jsa"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not launcher.exists():
            _pack(home / "launcher", launcher)
        is_ours = not kept.exists() and _take(_claim(kept))
    except OSError:  # the cache is read-only
        return ClassArchive(home / "launcher", kept, None)
    return ClassArchive(launcher, kept, folder / f"{time.time_ns()}.jsa" if is_ours else None)


def _pack(classes: Path, jar: Path) -> None:
    draft = jar.with_name(f"{time.time_ns()}.jar")
    with zipfile.ZipFile(draft, "w") as archive:
        for path in sorted(classes.glob("*.class")):
            archive.write(path, path.name)
    draft.rename(jar)


def _claim(kept: Path) -> Path:
    return kept.with_name("being-written")


def _take(claim: Path) -> bool:
    """Whether nobody else writes the archive."""
    with suppress(FileNotFoundError):
        if time.time() - claim.stat().st_mtime > _CLAIM_S:
            for left in [*claim.parent.glob("*.jsa"), claim]:
                left.unlink()
    try:
        claim.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
