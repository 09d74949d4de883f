from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from reranker.proxy.read import RerankSection
from reranker.service.requests import BadBody, ClicksBody, MatchesBody, RerankBody, SearchBody, parse

MANY = dict.fromkeys(map(str, range(10_001)), 1)
CLICK = {"search_id": "a", "id": "b", "c": 1}


@pytest.mark.parametrize(
    ("model", "body", "says"),
    [
        (SearchBody, {"query": "cat", "languages": [1] * 20_000}, "'languages': list should have at most 10000"),
        (MatchesBody, {"query": "cat", "texts": [1] * 20_000}, "'texts.0': input should be a valid string; got 1"),
        (MatchesBody, {"query": "cat", "texts": [], "languages": [1] * 20_000}, "'languages'"),
        (RerankBody, {"query": "cat", "documents": [], "document_languages": [1] * 20_000}, "'document_languages'"),
        (ClicksBody, {"clicks": [CLICK] * 1_000}, "'clicks.0.c' is not a key"),
        (ClicksBody, {"clicks": [CLICK | MANY]}, "an object of more than 10,000 keys"),
        (SearchBody, {"query": "cat"} | MANY, "an object of more than 10,000 keys"),
        (RerankSection, MANY, "an object of more than 10,000 keys"),
    ],
)
def test_no_error_is_made_of_each_of_many_wrong_keys_or_items(
    model: type[BaseModel], body: dict[str, Any], says: str
) -> None:
    """Those of a body of 5 MB would take 2 GB, and all threads would wait meanwhile."""
    with pytest.raises(BadBody, match=says) as caught:
        parse(model, body)
    errors = caught.value.__context__
    assert errors is None or (isinstance(errors, ValidationError) and errors.error_count() <= 2)
