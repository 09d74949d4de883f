"""`sinkrank keys`: a key is shown once, and its hash is kept."""

from __future__ import annotations

import base64
import hashlib
import json
import stat
from pathlib import Path

from tests.support.commands import Run


def test_a_key_is_printed_once_and_its_hash_is_kept(empty_home: Path, run: Run) -> None:
    made = run("keys", "add", "shop", "--api-keys", "keys")
    key = made.stdout.strip()
    assert key not in made.stderr
    (line,) = (empty_home / "keys").read_text().splitlines()
    assert line.split()[:2] == ["shop", hashlib.sha256(key.encode()).hexdigest()]
    assert stat.S_IMODE((empty_home / "keys").stat().st_mode) == 0o600
    assert len(base64.urlsafe_b64decode(key.removeprefix("sinkrank_") + "=")) == 32


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
    run("keys", "add", "page", "--api-keys", "pages")
    for arguments, status, words in (
        (("add", "shop"), 2, "give it with --api-keys"),
        (("remove", "shop", "--api-keys", "no keys"), 1, "`sinkrank keys add NAME --api-keys 'no keys'`"),
        (("add", "a b", "--api-keys", "keys"), 2, "cannot name a key"),
        (("add", "shop", "--api-keys", "no/folder/keys"), 1, "No such file or directory"),
        (("add", "page", "--api-keys", "pages"), 2, "has a key 'page' already"),
        (("remove", "shop", "--api-keys", "pages"), 1, "has no key 'shop'; it has: page"),
    ):
        assert words in run("keys", *arguments, exits=status).stderr
