"""`sinkrank ingest` of damaged files."""

from __future__ import annotations

import json
from pathlib import Path

import zstandard

from tests.cli.conftest import Run


def test_half_of_a_trec_file_ends_with_exit_code_1_and_a_reject(home: Path, run: Run) -> None:
    whole = b"".join(
        b"<DOC>\n<DOCNO>%d</DOCNO>\n<TEXT>chat %d</TEXT>\n</DOC>\n" % (n, n * 7919 % 10007) for n in range(2000)
    )
    packed = zstandard.compress(whole)
    (home / "a.trec.zst").write_bytes(packed[: len(packed) // 2])

    run("ingest", "a.trec.zst", "--lang", "fr", "--rejects", "bad.jsonl", exits=1)

    reasons = [json.loads(line) for line in (home / "bad.jsonl").read_text().splitlines()]
    assert any(row["file"].endswith("a.trec.zst") and "fetch or write it again" in row["reason"] for row in reasons)
