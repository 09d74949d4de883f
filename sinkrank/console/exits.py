"""The exit codes of the command line."""

EXIT_FAILED = 1
EXIT_WRONG_USE = 2  # as typer's own usage errors
EXIT_STOPPED = 130  # what a shell reports of a program that Ctrl-C ended: 128 + SIGINT
