"""`sinkrank keys`: a key is shown once, and its hash is kept."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.support.commands import Run


def test_a_key_is_printed_once_and_its_hash_is_kept(empty_home: Path, run: Run) -> None:
    made = run("keys", "add", "shop", "--api-keys", "keys")
    key = made.stdout.strip()
    assert key not in made.stderr
    (line,) = (empty_home / "keys").read_text().splitlines()
    assert line.split()[:2] == ["shop", hashlib.sha256(key.encode()).hexdigest()]


def test_a_key_is_removed(empty_home: Path, run: Run) -> None:
    (empty_home / "sinkrank.toml").write_text('api_keys = "keys"\n')
    key = json.loads(run("keys", "add", "one", "--json").stdout)["key"]
    assert key.startswith("sinkrank_")
    run("keys", "add", "two")
    run("keys", "remove", "one")
    left = [line.split() for line in (empty_home / "keys").read_text().splitlines() if not line.startswith("#")]
    assert [name for name, _, _ in left] == ["two"]
    assert left[0][2].endswith("+00:00")


def test_wrong_use_says_what_to_do(empty_home: Path, run: Run) -> None:
    for arguments, status, words in (
        (("add", "shop"), 2, "give it with --api-keys"),
        (("remove", "shop", "--api-keys", "none"), 1, "there is no file of API keys 'none'"),
        (("add", "a b", "--api-keys", "keys"), 2, "cannot name a key"),
        (("add", "shop", "--api-keys", "no/folder/keys"), 1, "No such file or directory"),
    ):
        assert words in run("keys", *arguments, exits=status).stderr
