"""Checks out an earlier version of this project into another folder, and installs it there."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

from campaign.tools.service import ROOT

# How far to go back if no release was tagged: far enough for many changes.
_MERGES_BACK = 40


def older_revision(given: str | None) -> str:
    """The short name of the given revision, of the last tag, or of an older revision.

    Raises:
        RuntimeError: there is no such revision, or no Git history.
    """
    if given is not None:
        return _git("rev-parse", "--short", "--verify", f"{given}^{{commit}}")
    try:
        return _git("describe", "--tags", "--abbrev=0")
    except RuntimeError:
        history = _git("rev-list", "--first-parent", "--abbrev-commit", f"--max-count={_MERGES_BACK + 1}", "HEAD")
        return history.splitlines()[-1]


def checked_out(revision: str, folder: Path) -> Path:
    """Writes the files of a revision to a new folder, and installs it with its own dependencies and compiled loops in
    `.venv` there. The repository is not changed.

    Raises:
        RuntimeError: it cannot be installed.
    """
    archive = folder.with_suffix(".tar")
    _git("archive", "--format=tar", f"--output={archive}", revision)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    archive.unlink()
    done = subprocess.run(["make", ".venv/.runtime"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{revision} cannot be installed: {done.stderr[-1000:]}; name another commit with --older")
    return folder


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {arguments[0]} failed ({done.stderr.strip()}); name a commit with --older")
    return done.stdout.strip()
