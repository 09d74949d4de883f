"""Reads the files named on standard input as ingest does, and prints the result for each as a line of JSON.

It runs in a separate process, so that a crash, a hang or too much memory does not end the trial.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from campaign.tools.sound_files import EMBEDDINGS
from ingest.documents import Layout, read_records
from ingest.embeddings.importing import import_embeddings
from ingest.embeddings.selection import VectorSource
from ingest.files import open_sources
from reranker.base.errors import SinkrankError

FILE_LIMIT_S = 60
# Limit of the address space. It is so large that only a reader without working limits reaches it.
_MOST_BYTES = 8 * 2**30
_LAYOUT = Layout(default_language="en")


class TooSlow(Exception):
    """Reading a file took longer than the limit."""


def read_documents(path: Path) -> dict[str, Any]:
    """The numbers of documents and rejects."""
    found = {"documents": 0, "rejects": 0}
    with open_sources([str(path)]) as sources:
        for source in sources:
            source.identity()
        for record in read_records(sources, _LAYOUT):
            if record.document is None:
                if not record.reason:
                    raise AssertionError(f"a reject without a reason: {record.row}")
                found["rejects"] += 1
            else:
                record.document.full_text.encode()  # half a surrogate pair cannot be
                found["documents"] += 1
    return found


def read_embeddings(path: Path) -> dict[str, Any]:
    """The number of terms that an import reads."""
    output = path.with_name(path.name + ".store")
    summary = import_embeddings([VectorSource(path, language="en")], output)
    return {"terms": sum(summary.languages.values())}


def outcome(path: Path) -> dict[str, Any]:
    """The result of reading the file: counts, `error` (ours, with a cure) or `traceback`; and peak memory in bytes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak from here on
    before = _peak_bytes()
    is_embeddings = any(suffix in path.suffixes for suffix in EMBEDDINGS)
    signal.alarm(FILE_LIMIT_S)
    try:
        found = read_embeddings(path) if is_embeddings else read_documents(path)
    except SinkrankError as error:
        found = {"error": str(error)}
    except BaseException:
        found = {"traceback": traceback.format_exc()[-1500:]}
    finally:
        signal.alarm(0)
    return {"path": str(path), **found, "bytes": _peak_bytes() - before}


def _peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _too_slow(*_: object) -> None:
    raise TooSlow(f"not read within {FILE_LIMIT_S} s")


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    signal.signal(signal.SIGALRM, _too_slow)
    for line in sys.stdin:
        print(json.dumps(outcome(Path(line.rstrip("\n")))), flush=True)


if __name__ == "__main__":
    main()
