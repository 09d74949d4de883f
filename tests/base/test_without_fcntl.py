"""Windows has no fcntl: what is read and prepared there imports none."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODULES = ("ingest.pipeline", "ingest.fetching.https", "sinkrank.actions.preparing", "sinkrank.commands.embeddings")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_imported_where_only_unix_modules_are_missing(module: str) -> None:
    code = (
        f"import sys\nsys.modules |= dict.fromkeys(('fcntl', 'grp', 'pwd', 'resource', 'termios'))\nimport {module}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
