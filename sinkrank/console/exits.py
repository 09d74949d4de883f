"""The exit codes of the command line, and the signals that end it."""

import signal

EXIT_FAILED = 1
EXIT_WRONG_USE = 2  # as typer's own usage errors
EXIT_STOPPED = 130  # what a shell reports of a program that Ctrl-C ended: 128 + SIGINT

# End a command as Ctrl-C does. Windows has no SIGHUP.
END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
