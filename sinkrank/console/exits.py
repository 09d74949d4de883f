"""The exit codes of the command line, and the signals that end it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_FAILED = 1
EXIT_WRONG_USE = 2  # as typer's own usage errors
EXIT_STOPPED = 130  # what a shell reports of a program that Ctrl-C ended: 128 + SIGINT

# End a command as Ctrl-C does. Windows has no SIGHUP.
END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end the run as Ctrl-C does, so that temporary files are removed. By itself SIGTERM does
    nothing to process 1 of a container.

    A signal that is ignored, as under nohup, stays ignored.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    obeyed = [number for number in END_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in obeyed}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
