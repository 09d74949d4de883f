"""Opens stores and embeddings named on standard input, searches them, and prints what came of each as a line of JSON.

A process of its own, since a damaged file may crash it. A line of input is `{"store": FOLDER, "embeddings": FOLDER,
"queries": [[text, language], …]}`.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

from reranker.api.app import create_app, warm_up
from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store

INDEX = "probed"


def probe(store_path: Path, embeddings_path: Path, queries: list[list[str]]) -> dict[str, Any]:
    """`answers` (hits with scores, one list a query), `error` for a failure that says so, or `traceback`."""
    try:
        embeddings = Embeddings.open(embeddings_path)
        settings = Settings.model_validate({"store": str(store_path), "index": INDEX})
        with closing(open_store(str(store_path))) as store:
            app = create_app(settings, store, embeddings)
            warm_up(app)
            return _answers(app.test_client(), queries)
    except SinkrankError as error:
        return {"error": str(error)}
    except BaseException:
        return {"traceback": traceback.format_exc()[-1500:]}


def _answers(client: Any, queries: list[list[str]]) -> dict[str, Any]:
    found = []
    for text, language in queries:
        answer = client.post("/v1/search", json={"query": text, "language": language, "size": 20})
        said = answer.get_json(silent=True)
        if answer.status_code == 500:
            return {"traceback": f"answered 500: {said}"}
        if answer.status_code != 200:
            return {"error": f"{answer.status_code}: {said}"}
        found.append([[hit["id"], hit.get("title"), hit.get("text"), hit["score"]] for hit in said["hits"]])
    return {"answers": found}


def main() -> None:
    logging.disable()
    for line in sys.stdin:
        given = json.loads(line)
        outcome = probe(Path(given["store"]), Path(given["embeddings"]), given["queries"])
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
