"""`sinkrank doctor`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reranker.embeddings import EmbeddingsWriter
from reranker.embeddings.hubness import HubnessSample
from reranker.stores import open_store
from tests.support.commands import Run, write_rows
from tests.support.listening import closed_port


def checks(run: Run, *arguments: str, exits: int | None = 1) -> dict[str, dict[str, Any]]:
    """The checks by name."""
    result = run("doctor", "--json", *arguments, exits=exits)
    found = json.loads(result.stdout)
    assert found["ok"] is (result.exit_code == 0)
    return {check["name"]: check for check in found["checks"]}


def test_all_is_well(indexed: Path, run: Run) -> None:
    found = checks(run, exits=0)
    assert set(found) == {"python", "settings", "embeddings", "store", "index documents", "processor"}
    assert found["processor"]["message"].startswith("the compiled loops use ")
    assert "10 terms of 2 dimensions (en, fr)" in found["embeddings"]["message"]
    assert found["index documents"]["message"] == (
        "4 documents, idf of en, fr, hubness sample of no language (under 50, so not used: en 1, fr 3), "
        "version documents-000001"
    )


def test_the_lines_say_ok_or_problem(home: Path, run: Run) -> None:
    lines = dict(line.split(":", 1) for line in run("doctor", "--quick", exits=1).stdout.splitlines())
    assert "ok      embeddings" in lines
    assert "sinkrank ingest" in lines["problem store"]


def test_nothing_made_yet(empty_home: Path, run: Run) -> None:
    found = checks(run, "--quick")
    assert "sinkrank embeddings prepare FILE" in found["embeddings"]["message"]
    assert found["store"]["ok"] is False


def test_a_stale_index_is_named_with_the_command_that_rebuilds_it(indexed: Path, run: Run) -> None:
    with EmbeddingsWriter(indexed / "other", dim=2, source="test") as writer:
        writer.append("en", ["cat"], np.array([[1.0, 0.0]]))
        writer.commit()
    found = checks(run, "--quick", "--embeddings", "other")
    assert found["embeddings"]["ok"] is True
    assert (
        "`sinkrank ingest FILE --index documents --rebuild --store .sinkrank/store`"
        in found["index documents"]["message"]
    )


def test_damaged_embeddings_are_found(indexed: Path, run: Run) -> None:
    path = indexed / ".sinkrank" / "embeddings" / "vectors.npy"
    contents = bytearray(path.read_bytes())
    contents[-1] ^= 1
    path.write_bytes(contents)
    found = checks(run)
    assert "damaged" in found["embeddings"]["message"]


@pytest.mark.parametrize(
    ("arguments", "name", "said"),
    [
        (["--store", f"opensearch://127.0.0.1:{closed_port()}"], "store", "start the engine"),
        (["--index", "absent"], "index absent", "has no index 'absent'"),
    ],
)
def test_what_is_set_wrong_is_named(indexed: Path, run: Run, arguments: list[str], name: str, said: str) -> None:
    assert said in checks(run, "--quick", *arguments)[name]["message"]


def test_an_index_that_has_grown_is_stale_until_it_is_refreshed(indexed: Path, run: Run) -> None:
    rows = [{"id": f"new/{number}", "language": "fr", "text": "eau"} for number in range(3)]
    run("ingest", str(write_rows(indexed / "more.jsonl", rows)))
    message = checks(run, "--quick")["index documents"]["message"]
    assert "the idf of fr was counted over 3 documents; there are 6 now" in message
    assert "`sinkrank ingest refresh --index documents --store .sinkrank/store`" in message

    assert "document frequencies recounted for fr, 6 documents reweighted" in run("ingest", "refresh").stdout
    found = checks(run, "--quick", exits=0)
    assert found["index documents"]["message"].startswith("7 documents,")


def test_an_index_without_a_hubness_sample_says_how_to_get_one(indexed: Path, run: Run) -> None:
    store = open_store(str(indexed / ".sinkrank" / "store"))
    store.save_hubness_sample("documents", HubnessSample())
    store.close()
    # It is searched as well without.
    message = checks(run, "--quick", exits=0)["index documents"]["message"]
    assert (
        "no hubness sample (`sinkrank ingest refresh --index documents --store .sinkrank/store` draws one)" in message
    )
    run("ingest", "refresh")
    assert "en 1, fr 3" in checks(run, "--quick", exits=0)["index documents"]["message"]


def test_a_version_that_a_rebuild_left_is_named(indexed: Path, run: Run) -> None:
    run("ingest", "documents.jsonl", "--rebuild")
    found = checks(run, "--quick", exits=0)
    assert "version documents-000002, also kept: documents-000001" in found["index documents"]["message"]


def test_an_ingest_that_did_not_come_to_its_end_is_named(indexed: Path, run: Run) -> None:
    store = open_store(str(indexed / ".sinkrank" / "store"))
    store.stage("documents", store.open("documents").description, "a run")
    found = checks(run, "--quick")["index documents"]
    assert found["ok"] is False
    assert "the run that makes documents-000002 has not finished" in found["message"]
