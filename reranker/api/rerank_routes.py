"""`POST /v1/rerank`, `/v2/rerank` and `/rerank`: the shapes of Cohere's, Jina's and text-embeddings-inference's APIs.

One answer serves the clients of Cohere and Jina; on `/rerank` the key `texts` (TEI) or `documents` (Cohere, Jina)
tells whose client is asking. Keys that the service has no use for (`max_chunks_per_doc`, `truncate`, …) are accepted,
since those clients send them. `raw_scores` changes nothing: the score is a fixed function of the distance.

No documents is no error: a search without a hit may well be re-ranked.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from flask import Blueprint, Response

from reranker.answers.rerank import RankedText, RerankAnswer, RerankResult, Usage
from reranker.api.rerank_texts import rank_texts
from reranker.base.errors import BadInput
from reranker.service.errors import BadBody, json_response, use_shape
from reranker.service.request_fields import MAX_DOCUMENTS
from reranker.service.requests import RerankBody, TextsBody, parse, read_object
from reranker.service.service import current_service

MODEL = "sinkrank"

blueprint = Blueprint("rerank", __name__)


@blueprint.post("/v1/rerank")
def rerank_v1() -> Response:
    """Cohere's v1 and Jina's."""
    return _rerank_documents(read_object(), api_version="1")


@blueprint.post("/v2/rerank")
def rerank_v2() -> Response:
    """Cohere's v2."""
    return _rerank_documents(read_object(), api_version="2")


@blueprint.post("/rerank")
def rerank() -> Response:
    """TEI's, or Cohere's at the address where TEI's is."""
    body = read_object()
    if "texts" not in body and "documents" in body:
        use_shape("cohere")
        return _rerank_documents(body, api_version="1")
    return _rerank_texts(body)


def _rerank_documents(raw: dict[str, Any], api_version: Literal["1", "2"]) -> Response:
    service = current_service()
    body = parse(RerankBody, raw)
    _check_count(len(body.documents))
    texts = [_text(document, place, body.rank_fields) for place, document in enumerate(body.documents)]
    ranked, meta = rank_texts(service, body, texts, body.top_n, api_version)
    n_words = sum(len(text.split()) for text in (body.query, *texts))
    return json_response(
        RerankAnswer(
            id=str(uuid.uuid4()),
            object="rerank",
            model=body.model or MODEL,
            results=[_result(text, body) for text in ranked],
            usage=Usage(n_words, n_words),
            meta=meta,
        )
    )


def _result(ranked: RankedText, body: RerankBody) -> RerankResult:
    document = None
    if body.return_documents:
        given = body.documents[ranked.index]
        document = {"text": given} if isinstance(given, str) else given
    return RerankResult(ranked.index, ranked.score, ranked.without_known_word, document, ranked.relevance)


def _rerank_texts(raw: dict[str, Any]) -> Response:
    service = current_service()
    body = parse(TextsBody, raw)
    _check_count(len(body.texts))
    for place, text in enumerate(body.texts):
        if not isinstance(text, str):
            raise BadBody(f"text {place} is not a string; give one")
    ranked, meta = rank_texts(service, body, body.texts)
    if body.return_text:
        ranked = [replace(one, text=body.texts[one.index]) for one in ranked]
    response = json_response(ranked)
    # Its answer is a bare list, which has no place for what the others say in their `meta`.
    response.headers["X-Rerank-Method"] = meta.method
    response.headers["X-Rerank-Precision"] = meta.precision
    if meta.no_good_answer is not None:
        response.headers["X-Rerank-No-Good-Answer"] = "true" if meta.no_good_answer else "false"
    return response


def _check_count(n_documents: int) -> None:
    if n_documents > MAX_DOCUMENTS:
        raise BadInput(
            f"{n_documents} documents came; send at most {MAX_DOCUMENTS} in one request",
            http_status=413,
            code="too_large",
        )


def _text(document: Any, place: int, rank_fields: list[str] | None) -> str:
    """What is ranked of a document: the text, or the values in the named fields of an object, one a line."""
    if isinstance(document, str):
        return document
    if not isinstance(document, dict):
        raise BadBody(f'document {place} is neither a text nor an object; give a string or {{"text": "…"}}')
    if rank_fields:
        return "\n".join(text for name in dict.fromkeys(rank_fields) for text in _values(document.get(name)))
    text = document.get("text")
    if not isinstance(text, str):
        raise BadBody(f"document {place} has no text in its key 'text'; give it one, or name others in rank_fields")
    return text


def _values(value: Any) -> Iterator[str]:
    """The texts and numbers in a value, and in the lists and objects of it."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _values(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
