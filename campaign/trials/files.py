"""Ingest reads damaged and hostile files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from campaign.tools.context import Context
from campaign.tools.mutation import mutated
from campaign.tools.reading import FILE_LIMIT_S
from campaign.tools.service import environment
from campaign.tools.sound_files import sound_file

ASSERTS = (
    "5,000 mutated files (JSONL, CSV, TSV, Parquet, HTML, Markdown, text, embeddings; plain, gzip, bzip2)"
    " are read by ingest and by the import of embeddings: each gives documents, rejects with "
    "reasons, or one error with its cure; no traceback, no crash, at most 256 MiB more memory, at most a minute"
    " each; every line of a plain JSONL file is a document or a reject."
)
LIMIT_S = 1800.0
N_FILES = 5000
BATCH = 100
SOUND = 0.05
MOST_BYTES = 256 * 2**20


def run(context: Context) -> None:
    n_files, largest = context.times(N_FILES), 0
    for first in range(0, n_files, BATCH):
        folder = context.folder / f"files-{first}"
        folder.mkdir()
        numbers = range(first, min(first + BATCH, n_files))
        paths = {str(path): number for number in numbers for path in [_write(folder, context.random(number), number)]}
        for found in _read(context, list(paths), paths):
            _check(context, found, paths[found["path"]])
            largest = max(largest, found["bytes"])
        shutil.rmtree(folder)
        context.say(f"{first + len(numbers)} files")
    context.figures["largest growth of memory, MiB"] = largest // 2**20


def _write(folder: Path, random: Random, number: int) -> Path:
    """A file damaged before it is compressed, after, or both. One of 20 stays valid, and its name says so."""
    suffix, content, pack = sound_file(random)
    is_sound = random.random() < SOUND
    when = random.choice(("before", "after", "both"))
    if not is_sound and (when != "after" or pack is None):
        content = mutated(content, random)
    if pack is not None:
        content = pack(content)
        if not is_sound and when != "before":
            content = mutated(content, random)
    path = folder / f"{'sound-' if is_sound else ''}{number}{suffix}"
    path.write_bytes(content)
    return path


def _read(context: Context, paths: list[str], numbers: dict[str, int]) -> list[dict[str, Any]]:
    """The result of each file. If the reading process dies at a file, this is a failure; the others are still read."""
    results: list[dict[str, Any]] = []
    while len(results) < len(paths):
        waiting = paths[len(results) :]
        done = _reader(waiting)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        results += found
        if len(found) < len(waiting):
            died = waiting[len(found)]
            what = f"the reader died with code {done.returncode}: {done.stderr[-400:]}"
            results.append({"path": died, "traceback": what, "bytes": 0})
            context.add("crashes")
    return results


def _reader(paths: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "campaign.tools.reading"]
    given = "".join(f"{path}\n" for path in paths)
    limit = 2 * FILE_LIMIT_S * len(paths)
    return subprocess.run(
        command, input=given, env=environment(), capture_output=True, text=True, timeout=limit, check=False
    )


def _check(context: Context, found: dict[str, Any], number: int) -> None:
    path = Path(found["path"])
    name = f"file {path.name}"
    context.add("files read")
    context.check("traceback" not in found, f"{name}: {found.get('traceback')}")
    context.check(found["bytes"] <= MOST_BYTES, f"{name} ({path.stat().st_size} bytes) took {found['bytes']:,} bytes")
    if "error" in found:
        context.add("files refused with an error")
        context.check(len(found["error"].splitlines()) <= 3, f"{name}: a long error: {found['error'][:300]}")
    if path.name.startswith("sound-"):
        context.add("sound files among them")
        is_whole = found.get("rejects", 0) == 0 and found.get("documents", 0) + found.get("terms", 0) > 0
        context.check(is_whole, f"{name} is sound and gave {found}")
    for what in ("documents", "rejects", "terms"):
        context.add(f"{what} read" if what != "rejects" else "rejects with a reason", found.get(what, 0))
    if "documents" in found:
        n_records = found["documents"] + found["rejects"]
        content = path.read_bytes()
        if path.suffixes == [".jsonl"] and not content.startswith((b"\x1f\x8b", b"BZh")):
            n_lines = sum(1 for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip())
            context.check(n_records == n_lines, f"{name}: {n_lines} lines and {n_records} documents and rejects")
