"""`POST /v1/matches`: where the words of a query, and words near to them, stand in texts that come with the request."""

from __future__ import annotations

from flask import Blueprint, Response

from reranker.answers.matches import MatchedText, MatchesAnswer
from reranker.base.errors import BadInput
from reranker.embeddings.detection import guess_languages
from reranker.ranking.matches import find_matches
from reranker.service.errors import json_response
from reranker.service.request_fields import MAX_TEXTS
from reranker.service.requests import MatchesBody, parse, read_object
from reranker.service.service import current_service
from reranker.text.languages import language_code

blueprint = Blueprint("matches", __name__)


@blueprint.post("/v1/matches")
def matches() -> Response:
    """See `requests.MatchesBody` for the body, docs/http.md for the answer."""
    service = current_service()
    body = parse(MatchesBody, read_object())
    if len(body.texts) > MAX_TEXTS:
        raise BadInput(f"{len(body.texts)} texts came; send at most {MAX_TEXTS}", http_status=413, code="too_large")
    if body.languages is not None and len(body.languages) != len(body.texts):
        raise BadInput(f"{len(body.languages)} languages came for {len(body.texts)} texts; give one for each, or none")
    query = service.reranker.query_with_unknown_words(body.query, body.language)
    languages = [language_code(code) for code in body.languages or ()] or guess_languages(
        body.texts, service.embeddings, (query.language,)
    )
    found = [
        MatchedText(language, find_matches(query, text, language, service.embeddings))
        for text, language in zip(body.texts, languages, strict=True)
    ]
    return json_response(MatchesAnswer(query.language, list(query.unknown_words), found))
