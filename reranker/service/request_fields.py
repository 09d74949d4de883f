"""The types of the keys of requests, with the limits and defaults that OpenAPI states.

Limits on length are checked when the body is read. Ranges are checked where the value is used (`SearchRequest`,
`Parameters`, `Service.parameters`), with messages that name the cure. Both use the same constants.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, FailFast, Field
from pydantic.fields import FieldInfo

from reranker.search.request import FIRST_STAGES, LIMITS
from reranker.service.settings import Settings
from reranker.transport import METHODS
from reranker.transport.parameters import FLOAT64_FROM_EPSILON, MAX_EPSILON

# A page of text is some 3,000 characters; the tokenizer reads 500 words of a query anyway.
MAX_QUERY_CHARS = 100_000
# Length of the name of a language, method or index. To find the nearest known name of a longer one would take seconds.
_MAX_NAME_CHARS = 200
MAX_TEXTS = 100
MAX_DOCUMENTS = 1_000
# Each is looked up in each document.
MAX_RANK_FIELDS = 100
# Keys of an object, and items of a list that has no other limit. Pydantic makes an error of 1 KB of each wrong one, and
# all threads wait meanwhile.
MAX_ENTRIES = 10_000

# What a request may ask for of itself. 10,000 iterations in the log domain, which begins below this epsilon, take
# minutes for one long document, and a kernel under way cannot be stopped: a few such requests would hold the service.
MAX_REQUEST_ITERATIONS = 1_000
MIN_REQUEST_EPSILON = FLOAT64_FROM_EPSILON


def setting(name: str) -> Any:
    """An optional key with the description of the setting of this name, which is its default."""
    declared = Settings.model_fields[name]
    default = "" if declared.default is None else f", {json.dumps(declared.default)} if not set"
    return Field(None, description=f"{declared.description} (default: the setting `{name}`{default})")


def _stated(**limits: Any) -> FieldInfo:
    """JSON Schema for OpenAPI, which is not checked here."""
    found: FieldInfo = Field(json_schema_extra=limits)
    return found


def _range(name: str) -> FieldInfo:
    least, most = LIMITS[name]
    return _stated(minimum=least, maximum=most)


def _check_text(filters: dict[str, Any]) -> dict[str, Any]:
    """Refuses half a surrogate pair in values of any type; pydantic refuses it only in a `str`."""
    try:
        json.dumps(filters, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a value is not Unicode text") from None
    return filters


QueryText = Annotated[str, Field(max_length=MAX_QUERY_CHARS)]
Name = Annotated[str, Field(max_length=_MAX_NAME_CHARS)]
FirstStage = Annotated[Name, _stated(enum=list(FIRST_STAGES))]
Method = Annotated[Name, _stated(enum=list(METHODS))]
MethodOrNone = Annotated[Name, _stated(enum=[*METHODS, "none"])]
ConditionsOnMetadata = Annotated[dict[str, Any], AfterValidator(_check_text)]
Share = Annotated[float, _stated(minimum=0, maximum=1)]
KnnWeight = Annotated[float, _range("knn_weight")]
Depth = Annotated[int, _range("depth")]
Offset = Annotated[int, _range("from")]
DEFAULT_SIZE = 10
# null means the default, as for the keys with a setting.
Size = Annotated[int, _range("size"), BeforeValidator(lambda value: DEFAULT_SIZE if value is None else value)]
Epsilon = Annotated[float, _stated(minimum=MIN_REQUEST_EPSILON, maximum=MAX_EPSILON)]
Tau = Annotated[float, _stated(minimum=0)]
Iterations = Annotated[int, _stated(minimum=1, maximum=MAX_REQUEST_ITERATIONS)]
Names = Annotated[list[Name], Field(max_length=MAX_ENTRIES)]
Texts = Annotated[list[str], FailFast(), _stated(maxItems=MAX_TEXTS)]
