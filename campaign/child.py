"""Runs one trial in this process and writes its result as JSON; started by `campaign.running`."""

from __future__ import annotations

import json
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from campaign.tools.context import Context
from campaign.trials import find_trial


class Ended(BaseException):
    """Told to stop. Nothing that catches errors, such as an optional import, may catch it."""


def outcome(context: Context) -> dict[str, Any]:
    """Runs the trial of this context. An error in the trial itself is a failure."""
    try:
        find_trial(context.trial).run(context)
    except (Exception, Ended):
        context.check(False, f"the trial itself failed: {traceback.format_exc()[-1500:]}")
    return {key: getattr(context, key) for key in ("figures", "failures", "n_failures", "n_checks")}


def _end(*_: object) -> None:
    raise Ended("it was ended at its limit")


def main() -> None:
    signal.signal(signal.SIGTERM, _end)  # what was found until then is kept, and what runs is stopped
    given = json.loads(sys.argv[1])
    result = Path(given.pop("result"))
    context = Context(**{**given, "folder": Path(given["folder"])})
    result.write_text(json.dumps(outcome(context), default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
