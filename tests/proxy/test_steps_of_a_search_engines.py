"""A search of the proxy takes the steps that docs/architecture.md names."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import CodeType, FrameType

import pytest
from flask import Flask

import reranker
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.text.documents import Document
from tests.support.engines.sources import Engine
from tests.support.service import fill

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

INDEX = "counted-functions"
N_DOCUMENTS = 60  # several times the page, so that the second search is for an ids-only window
_ROOT = Path(reranker.__file__).parent


@contextmanager
def entered_functions() -> Iterator[set[CodeType]]:
    """The functions that this thread enters, and every thread that starts within."""
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(_ROOT)):
            entered.add(code)

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield entered
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def test_a_search_takes_the_steps_that_are_documented(engine: Engine, embeddings: Embeddings, app: Flask) -> None:
    documents = [Document(f"d{n}", "cat dog", "en", title="A cat", url=f"/{n}") for n in range(N_DOCUMENTS)]
    query = {"multi_match": {"query": "cat dog", "fields": ["text.en", "title.en"]}}
    body = {"query": query, "size": 10, "_source": ["title", "url"]}
    with closing(open_store(engine.url)) as store:
        fill(store, embeddings, INDEX, documents)
        with entered_functions() as entered:
            for _ in range(2):
                entered.clear()
                answer = app.test_client().post(f"/{INDEX}/_search", json=body)
                assert answer.headers["X-Rerank-Status"] == "applied"
        store.drop(INDEX)
    assert main_steps() <= {code.co_qualname for code in entered}


def main_steps() -> set[str]:
    """The functions that docs/architecture.md names, in the table of a search's steps."""
    table = (_ROOT.parent / "docs" / "architecture.md").read_text().partition("| step | functions |\n")[2]
    return set(re.findall("`([^`]+)`", table.partition("\n\n")[0]))
