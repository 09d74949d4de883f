"""Runs the function of `python -m PACKAGE.MODULE`; prints errors in one line, without a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable

from reranker.base.errors import SinkrankError, one_line


def run(main: Callable[[], None]) -> None:
    """Calls the function. An error of ours or of the system ends the process with code 1."""
    try:
        main()
    except (SinkrankError, OSError) as error:
        sys.exit(one_line(error))
