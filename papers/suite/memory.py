"""Measures the peak memory that a part of the work adds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

# Resets the peak of resident memory (VmHWM) to the current value: proc(5).
_RESET_PEAK = "5"


class PeakMemory:
    """The peak of resident memory in bytes above the start; None except on Linux.

    Use it as `with peak.running(): …`.
    """

    def __init__(self) -> None:
        self.n_bytes: int | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
            before = _field("VmRSS")
        except OSError:
            yield
            return
        yield
        self.n_bytes = max(0, _field("VmHWM") - before)


def _field(name: str) -> int:
    """Reads a field of this process's status, which is in kB, as bytes."""
    for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {name}")
