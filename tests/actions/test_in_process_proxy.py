"""What the commands ask of an engine before they search an index of others through the proxy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from reranker.base.errors import WrongParameter
from reranker.service.settings import Settings
from reranker.stores import open_store
from sinkrank.actions.in_process_proxy import caller_headers, check_engine


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
