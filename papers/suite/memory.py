"""Measures how much memory a part of the work takes at most, beyond what was held before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

# Sets the peak of resident memory (VmHWM) back to what is resident now: proc(5).
_RESET_PEAK = "5"


class PeakMemory:
    """The peak of resident memory in bytes above the start; None where the system does not tell (only Linux does).

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
    """Bytes of a field of this process's status, which is in kB."""
    for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {name}")
