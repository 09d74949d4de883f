"""The console script `sinkrank`, and `python -m sinkrank`."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
from typing import Any

from sinkrank.console.exits import END_SIGNALS, EXIT_STOPPED

# Long enough for the destructor that swallowed it, and the hook, to be over on a busy machine.
_AGAIN_SECONDS = 0.25
_NEW_OBJECTS = 50_000


def main() -> None:
    """Runs the command line; exits with 0 for done, 1 for failed, 2 for wrong use, 130 for Ctrl-C."""
    _write_any_text()
    sys.unraisablehook = _keep_signal
    # Imported objects stay. Collecting garbage after every 700 new objects would take a twentieth of a search.
    gc.set_threshold(_NEW_OBJECTS)
    # Pydantic would look for plugins in every installed package; the declarations of settings need none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        # Imported here, because Ctrl-C may come during the import.
        from sinkrank.commands.app import app

        app(prog_name="sinkrank")
    except KeyboardInterrupt:
        print("sinkrank: stopped", file=sys.stderr)  # noqa: T201
        sys.exit(EXIT_STOPPED)


def _write_any_text() -> None:
    """Lets the output take any text: in UTF-8 where it goes into a file or a pipe, whatever the locale, and in its own
    encoding on a terminal. What that lacks, such as half a surrogate pair in UTF-8, becomes an escape, as of JSON."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def _keep_signal(unraisable: Any) -> None:
    """Sends a signal again if a destructor swallowed the error of its handler. Otherwise the run would continue."""
    number = _signal_of(unraisable.exc_value)
    if number is None:
        sys.__unraisablehook__(unraisable)
    elif hasattr(signal, "pthread_kill"):
        main_thread = threading.main_thread().ident
        # A signal, not `interrupt_main`, which wakes no thread that waits.
        threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (main_thread, number)).start()
    else:  # Windows
        threading.Timer(_AGAIN_SECONDS, signal.raise_signal, (number,)).start()


def _signal_of(error: BaseException | None) -> int | None:
    """The signal whose handler raised the error: KeyboardInterrupt, or SystemExit with 128 + its number."""
    if isinstance(error, KeyboardInterrupt):
        return signal.SIGINT
    if isinstance(error, SystemExit) and error.code in [128 + number for number in END_SIGNALS]:
        return int(str(error.code)) - 128
    return None


if __name__ == "__main__":
    main()
