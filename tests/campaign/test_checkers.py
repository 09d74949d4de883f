"""What the campaign checks with: each check fails when what it checks is broken on purpose."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
import urllib3

from campaign.report import Result, report
from campaign.tools import reading
from campaign.tools.answers import compare
from campaign.tools.contents import differences
from campaign.tools.context import Context
from campaign.tools.flatness import growth
from campaign.tools.mutation import mutated
from campaign.tools.processes import TOKEN, end_all, with_token
from campaign.tools.queries import make_request
from campaign.tools.raw import make_bytes, status_of
from campaign.tools.relay import Fault, relaying
from campaign.trials import clocks, files, kills, versions
from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.stores.base.protocol import WritableStore
from tests.support.tiny import tiny_embeddings

ROWS = [
    {"id": "1", "lang": "en", "title": "", "text": "cat"},
    {"id": "2", "lang": "en", "title": "dog", "text": "dog"},
    {"id": "3", "lang": "fr", "title": "", "text": "pain"},
]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context("files", seed=1, scale=0.5, folder=tmp_path, engine="none")


@pytest.fixture
def embeddings(tmp_path: Path) -> Embeddings:
    return tiny_embeddings(tmp_path / "embeddings")


def written(store: WritableStore, embeddings: Embeddings, folder: Path, rows: list[dict[str, str]]) -> None:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_sources([str(path)]) as sources:
        assert ingest(sources, store, "pets", embeddings, Options(n_workers=1)).indexed == len(rows)


def changed(number: int, **values: str) -> list[dict[str, str]]:
    return [row | values if place == number else row for place, row in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        (ROWS, []),
        (ROWS[1:], ["1 documents missing: ['1']", "count 2, not 3", "the idf counts 1 documents in en, not 2"]),
        (changed(1, text="car"), ["1 documents with another text: ['2']"]),
        (changed(1, title=""), ["1 documents with another text: ['2']"]),
        (
            [*ROWS, {"id": "4", "lang": "fr", "title": "", "text": "eau"}],
            ["1 documents not of the input: ['4']", "count 4, not 3", "the idf counts 2 documents in fr, not 1"],
        ),
    ],
)
def test_an_index_that_does_not_hold_exactly_the_input_is_told(
    tmp_path: Path, embeddings: Embeddings, rows: list[dict[str, str]], wrong: list[str]
) -> None:
    with closing(open_store(str(tmp_path / "store"))) as store:
        written(store, embeddings, tmp_path, rows)
        assert differences(store, "pets", ROWS) == wrong


def answer(body: Any, **headers: str) -> urllib3.HTTPResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return urllib3.HTTPResponse(json.dumps(body).encode(), headers=named, status=200)


def page(*ids: str, total: int = 9, took: int = 1) -> dict[str, Any]:
    return {"took": took, "hits": {"total": {"value": total}, "hits": [{"_id": one} for one in ids]}}


def test_a_passed_answer_that_differs_from_the_engines_is_told_and_its_time_is_not() -> None:
    skipped = {"X_Rerank_Status": "skipped"}
    assert compare(answer(page("a", took=3), **skipped), answer(page("a", took=5)), None) == ""
    assert compare(answer("took: 3\nhits: 1", **skipped), answer("took: 5\nhits: 1"), None) == ""
    assert "hits.hits.0._id is 'a'" in compare(answer(page("b"), **skipped), answer(page("a")), None)
    assert "hits.hits is" in compare(answer(page("a", "b"), **skipped), answer(page("a")), None)


def test_behind_the_window_the_scores_alone_may_be_others() -> None:
    beyond = {"X_Rerank_Status": "skipped", "X_Rerank_Reason": "beyond_window"}
    scored = [{"hits": {"max_score": score, "hits": [{"_id": "a", "_score": score}]}} for score in (1.0, 2.0)]
    assert compare(answer(scored[0], **beyond), answer(scored[1]), None) == ""
    assert compare(answer(scored[0], X_Rerank_Status="skipped"), answer(scored[1]), None) != ""


@pytest.mark.parametrize(
    ("ours", "wrong"),
    [
        (page("b", "a"), ""),
        (page("b", "c"), ""),
        (page("a"), "hits.hits.0 is 2, through the proxy 1"),
        (page("a", "a"), "a hit comes twice"),
        (page("a", "x"), "hits that the engine does not find: ['x']"),
        (page("a", "b", total=8), "hits.total.value is 9, through the proxy 8"),
        ({**page("a", "b"), "aggregations": {}}, "'aggregations': {}}"),
    ],
)
def test_a_reranked_page_may_have_another_order_and_nothing_else(ours: dict[str, Any], wrong: str) -> None:
    applied = answer(ours, X_Rerank_Status="applied")
    found = compare(applied, answer(page("a", "b")), answer(page("a", "b", "c")))
    assert found.endswith(wrong)
    assert bool(found) == bool(wrong)


def test_a_line_through_the_second_half_says_how_much_is_added_there() -> None:
    steep_then_flat = [(float(t), 100.0 * min(t, 10)) for t in range(21)]
    rising = [(float(t), 3.0 * t) for t in range(21)]
    assert growth(steep_then_flat) == pytest.approx(0.0)
    assert growth(rising) == pytest.approx(30.0)
    assert growth(rising[:5]) == 0.0


def test_a_reader_that_raises_gives_a_traceback_and_the_trial_fails(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = context.folder / "1.jsonl"
    path.write_text('{"id": "1", "text": "a"}\n')

    def broken(*_: object) -> None:
        raise KeyError("a fault of ours")

    sound = reading.outcome(path)
    monkeypatch.setattr(reading, "read_records", broken)
    files._check(context, sound, 1)
    assert context.failures == []
    files._check(context, reading.outcome(path), 1)
    assert ["a fault of ours" in failure for failure in context.failures] == [True]


def test_a_line_that_is_neither_document_nor_reject_fails_the_trial(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = context.folder / "1.jsonl"
    path.write_text('{"id": "1", "text": "a"}\n{"id": broken\n')
    read = reading.read_records

    def forgetful(*given: Any) -> Any:
        return (record for record in read(*given) if record.document is not None)

    files._check(context, reading.outcome(path), 1)
    assert context.failures == []
    monkeypatch.setattr(reading, "read_records", forgetful)
    files._check(context, reading.outcome(path), 1)
    assert context.failures == ["file 1.jsonl: 2 lines and 1 documents and rejects"]


def test_a_file_that_takes_much_memory_fails_the_trial(context: Context) -> None:
    path = context.folder / "1.txt"
    path.write_text("a")
    files._check(context, {"path": str(path), "documents": 1, "rejects": 0, "bytes": 300 * 2**20}, 1)
    assert context.failures == ["file 1.txt (1 bytes) took 314,572,800 bytes"]


def test_negative_times_of_answers_and_metrics_are_found() -> None:
    assert clocks.negative_times('{"took": 3, "took_ms": {"all": 1}, "rerank_ms": 0.5}') == []
    assert clocks.negative_times('{"took": -3, "rerank_ms": -0.5}') == ['"took": -3', '"rerank_ms": -0.5']
    assert clocks.negative_times('a_seconds_sum 3\nb_seconds_sum{x="y"} -0.1\n') == ['b_seconds_sum{x="y"} -0.1']


@pytest.mark.parametrize(
    ("stderr", "n_failures"),
    [
        ("sinkrank: the index has version 2; rebuild it with --rebuild", 0),
        ("sinkrank: the store has layout 5, this reads 4; ingest the documents\ninto a new folder with `x`", 0),
        ("sinkrank: no", 1),
        ("Traceback (most recent call last): rebuild", 1),
    ],
)
def test_a_refusal_names_its_cure_and_has_no_traceback(context: Context, stderr: str, n_failures: int) -> None:
    versions.check_refusal(context, subprocess.CompletedProcess([], 1, "", stderr), "it")
    assert context.n_failures == n_failures


def test_what_is_drawn_depends_on_the_seed_alone(context: Context) -> None:
    same = Context("files", seed=1, scale=1, folder=context.folder, engine="none")
    other = Context("files", seed=2, scale=1, folder=context.folder, engine="none")
    makers: list[Callable[[Random], object]] = [
        make_request,
        lambda random: make_bytes(random, "pets"),
        lambda random: mutated(b"some bytes of a file" * 9, random),
    ]
    for make in makers:
        drawn = [[make(one.random(number)) for number in range(20)] for one in (context, same, other)]
        assert drawn[0] == drawn[1] != drawn[2]


def test_the_status_is_read_from_the_first_line() -> None:
    assert status_of(b"HTTP/1.1 404 NOT FOUND\r\n\r\n500") == 404
    assert status_of(b"") is None


def test_a_relay_passes_cuts_and_resets_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as target, relaying(target.getsockname()[1]) as relay:

        def ask() -> bytes:
            with socket.create_connection(("127.0.0.1", relay.port), timeout=30) as client:
                client.sendall(b"question")
                server, _ = target.accept()
                with server:
                    assert server.recv(100) == b"question"
                    server.sendall(b"the answer")
                    server.shutdown(socket.SHUT_WR)
                    found = b""
                    while part := client.recv(100):
                        found += part
                    return found

        assert ask() == b"the answer"
        relay.fault = Fault("close", n_bytes=3)
        assert ask() == b"the"
        relay.fault = Fault("reset")
        with pytest.raises(ConnectionResetError):
            ask()
        assert (relay.n_connections, relay.n_faults) == (3, 2)


@pytest.mark.slow
def test_a_process_that_is_left_behind_is_found_by_its_token_and_ended() -> None:
    environment = {**os.environ, TOKEN: "of-this-test"}
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environment)
    end = time.monotonic() + 60
    while process.pid not in with_token("of-this-test"):  # its environment shows a moment after its start
        assert time.monotonic() < end
        time.sleep(0.01)
    assert len(end_all("of-this-test")) == 1
    assert process.wait(60) != 0
    assert with_token("of-this-test") == {}


def test_the_report_names_what_failed_and_how_to_see_it_again() -> None:
    held = Result("files", "Files are read.", seed=7, scale=0.1, took_s=60, n_checks=5, figures={"files read": 1200})
    failed = Result("kills", "It ends.", 7, 0.1, 90, 3, n_failures=1, failures=["run 2\nhangs"])
    text = report([held, failed], "a machine")
    assert "| `files` | held | 5 | 0 | 1.0 |" in text
    assert "| `kills` | FAILED | 3 | 1 | 1.5 |" in text
    assert "| files read | 1,200 |" in text
    assert "python -m campaign --only kills --seed 7 --scale 0.1" in text
    assert "- run 2 hangs" in text


def test_a_traceback_counts_unless_python_was_interrupted_before_it_had_found_our_code() -> None:
    before = 'Traceback (most recent call last):\n  File "<frozen runpy>", in _get_module_details\nKeyboardInterrupt\n'
    assert not kills.has_traceback(before)
    assert kills.has_traceback(f"{before}Traceback (most recent call last):\nOSError: 5\n")
    assert kills.has_traceback("Traceback (most recent call last):\n  File main.py\nKeyboardInterrupt\n")
