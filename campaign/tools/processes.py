"""Reads from /proc what processes use and leave behind: children, memory, descriptors, shared memory."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

TOKEN = "CAMPAIGN_RUN"
"""Environment variable that all processes of a trial inherit. Processes that have it at the end were left behind."""

_PROC = Path("/proc")
_SHARED = Path("/dev/shm")


def with_token(token: str) -> dict[int, str]:
    """The command lines of the living processes of a trial by process id, without this process."""
    entry = f"{TOKEN}={token}".encode()
    found: dict[int, str] = {}
    for folder in _PROC.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with suppress(OSError):
            if entry in (folder / "environ").read_bytes().split(b"\0") and not _is_zombie(folder):
                found[int(folder.name)] = (
                    (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
    return found


def _is_zombie(folder: Path) -> bool:
    return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"


def end_all(token: str) -> list[str]:
    """Kills all processes of a trial and returns their command lines."""
    found = with_token(token)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return list(found.values())


def resident_bytes(pid: int) -> int:
    return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def n_descriptors(pid: int) -> int:
    return len(list((_PROC / str(pid) / "fd").iterdir()))


def n_threads(pid: int) -> int:
    return len(list((_PROC / str(pid) / "task").iterdir()))


def shared_names(pids: Iterable[int]) -> set[str]:
    """The files of shared memory, including semaphores, that processes have mapped."""
    found: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            maps = (_PROC / str(pid) / "maps").read_text(errors="replace")
            found |= set(re.findall(r"/dev/shm/((?:sem|psm|pym)[^ \n]+)", maps))
    return found


def left_in_shared_memory(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if (_SHARED / name).exists())


def wait_until(holds: Callable[[], bool], limit_s: float, step_s: float = 0.05) -> bool:
    """Whether the condition becomes true before the limit. An OSError counts as false."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        with suppress(OSError):
            if holds():
                return True
        time.sleep(step_s)
    return False
