"""What only Unix has is not needed: Sinkrank is also for Windows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reranker.service.key_file import read_keys
from tests.support.commands import write_rows

WITHOUT_UNIX = """
import os, select, signal, sys
sys.modules |= dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios"))
for name in ("fork", "getuid", "pread", "pwrite", "register_at_fork", "sched_getaffinity", "O_NONBLOCK"):
    vars(os).pop(name, None)
for name in ("SIGCHLD", "SIGHUP", "SIGKILL", "pthread_kill", "pthread_sigmask"):
    vars(signal).pop(name, None)
for name in ("epoll", "kqueue", "poll"):
    vars(select).pop(name, None)
"""
IMPORTED = """
import ingest.fetching.https, ingest.pipeline
import reranker.adapters.ranking
import sinkrank.actions.preparing, sinkrank.commands.embeddings, sinkrank.commands.serve
"""


def test_modules_are_imported_where_what_only_unix_has_is_missing() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_UNIX + IMPORTED], check=True)


@pytest.mark.slow
def test_documents_are_indexed_and_searched_where_what_only_unix_has_is_missing(home: Path) -> None:
    # So many that several processes would encode them.
    write_rows(home / "in.jsonl", [{"id": str(n), "lang": "fr", "text": "pain"} for n in range(2_300)])
    write_rows(home / "more.jsonl", [{"id": "chat", "lang": "fr", "text": "chat"}])

    def sinkrank(*arguments: str) -> str:
        code = f"{WITHOUT_UNIX}\nfrom sinkrank.__main__ import main\nmain()\n"
        # filelock warns that its locks are soft.
        command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    assert "2,301 of 2,301 documents" in sinkrank("ingest", "in.jsonl", "more.jsonl", "--workers", "2")
    (hit, *_) = json.loads(sinkrank("search", "cat", "--lang", "en", "--json"))["hits"]
    assert hit["id"] == "chat"
    key = sinkrank("keys", "add", "one", "--api-keys", "keys")
    assert sinkrank("keys", "add", "two", "--api-keys", "keys") != key
    sinkrank("keys", "remove", "one", "--api-keys", "keys")
    assert list(read_keys(home / "keys").values()) == ["two"]
