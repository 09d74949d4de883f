"""Runs what `python -m PACKAGE.MODULE` calls: an error is told in one line, without a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable

from reranker.base.errors import SinkrankError, one_line


def run(main: Callable[[], None]) -> None:
    """Calls it; an error of ours or of the system ends the process with the code 1."""
    try:
        main()
    except (SinkrankError, OSError) as error:
        sys.exit(one_line(error))
