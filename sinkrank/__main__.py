"""The console script `sinkrank`, and `python -m sinkrank`."""

from __future__ import annotations

from sinkrank.app import app


def main() -> None:
    """Runs the command line; exits with 0 for done, 1 for failed, 2 for wrong use, 130 for Ctrl-C."""
    app(prog_name="sinkrank")


if __name__ == "__main__":
    main()
