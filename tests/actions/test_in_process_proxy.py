"""What the commands ask of an engine before they search an index of others through the proxy."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from reranker.base.errors import WrongParameter
from reranker.service.settings import Settings
from reranker.stores import open_store
from sinkrank.actions.in_process_proxy import caller_headers, check_engine, is_foreign
from tests.stores.fake_engine import serve
from tests.support.commands import Run


@pytest.mark.parametrize(
    ("given", "headers"),
    [
        ({"store": "https://me:secret@host"}, {"authorization": "Basic bWU6c2VjcmV0"}),
        (
            {"store": "https://host", "store_username": "me", "store_password": SecretStr("secret")},
            {"authorization": "Basic bWU6c2VjcmV0"},
        ),
        ({"store": "https://host", "store_api_key": SecretStr("a2V5")}, {"authorization": "ApiKey a2V5"}),
        ({"store": "opensearch://host:9200"}, {}),
        ({"store": "folder"}, {}),
    ],
)
def test_the_credentials_of_the_settings_are_sent_as_a_callers(given: Any, headers: dict[str, str]) -> None:
    assert caller_headers(Settings(**given)) == headers


def test_requests_that_are_signed_cannot_pass_the_proxy(tmp_path: Path) -> None:
    store = open_store("opensearch://127.0.0.1:1")
    check_engine(Settings(), store)  # type: ignore[arg-type]
    with pytest.raises(WrongParameter, match="signed for AWS"):
        check_engine(Settings(store_aws_region="eu-west-1"), store)
    store.close()
    folder = open_store(str(tmp_path / "store"))
    with pytest.raises(WrongParameter, match="needs an engine"):
        check_engine(Settings(), folder)
    folder.close()


def test_an_engine_without_an_index_of_ours_asks_for_a_name(run: Run, home: Path) -> None:
    (home / "queries").write_text("q\tcat\n", encoding="utf-8")
    (home / "qrels").write_text("q 0 1 1\n", encoding="utf-8")
    with serve(lambda *request: (200, {})) as node:
        result = run("evaluate", "--queries", "queries", "--qrels", "qrels", "--store", node.address, exits=2)
        assert "name yours with --index NAME" in result.stderr
    with closing(open_store(str(home / "store"))) as folder:
        assert not is_foreign(folder, "pages")


@pytest.mark.parametrize(
    ("mapping", "answer"),
    [
        ({}, True),
        (
            {
                "_meta": {
                    "sinkrank": {"embeddings_version": "v", "dim": 2, "mapping_version": 1, "tokenizer_version": 1}
                }
            },
            False,
        ),
    ],
)
def test_an_index_is_foreign_where_no_meta_says_that_it_is_ours(mapping: Any, answer: bool) -> None:
    def mapped(method: str, path: str, body: str) -> tuple[int, object]:
        return 200, {"pages": {"mappings": mapping}} if mapping else {}

    with serve(mapped) as node, closing(open_store(node.address)) as store:
        assert is_foreign(store, "pages") is answer
