"""Finds the pages of a folder, and the format of a file by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

FORMATS = ("jsonl", "csv", "tsv", "parquet", "html", "markdown", "text")
PAGE_FORMATS = ("html", "markdown", "text")

_FORMAT_OF_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".rejects": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
}
_COMPRESSIONS = (".gz", ".bz2")


def format_of_name(path: Path) -> str | None:
    """The format of a file by its name, or None."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return _FORMAT_OF_SUFFIX.get(suffixes[-1] if suffixes else "")


def pages_of(folder: Path) -> Iterator[Path]:
    """The HTML, Markdown and text files of a folder and its subfolders, in the order of their paths. Hidden files and
    folders (names with a leading dot), special files, and links to folders or out of the folder are ignored."""
    yield from (path for path, kind in walk(folder) if kind is None)


def walk(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """The contents of a folder and its subfolders, each with its kind if it is ignored, and None if it is a page. A
    folder that cannot be listed counts as a page, so that it is rejected as a page that cannot be read."""
    unread: list[OSError] = []
    top = os.path.realpath(folder)
    for parent, folders, names in os.walk(folder, onerror=unread.append):
        folders.sort()
        for name in list(folders):
            path = Path(parent, name)
            if name.startswith(".") or path.is_symlink():
                folders.remove(name)
                yield path, "hidden folder" if name.startswith(".") else "link to a folder"
        for name in sorted(names):
            path = Path(parent, name)
            yield path, "hidden file" if name.startswith(".") else _ignored(path, top)
    yield from ((Path(error.filename), None) for error in unread)


def _ignored(path: Path, top: str) -> str | None:
    """The kind of a file that is ignored, or None.

    Args:
        top: real path of the given folder.
    """
    if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(top):
        return "link out of the folder"
    if not path.is_file():
        return "device, socket, FIFO or broken link"
    if format_of_name(path) in PAGE_FORMATS:
        return None
    packed = -2 if path.suffix.lower() in _COMPRESSIONS else -1
    return "".join(path.suffixes[packed:]).lower() or "file without a suffix"
