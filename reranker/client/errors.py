"""What a call of the client may raise.

ClientError                       a call of the service failed
├── ServiceUnreachable            no connection, or no answer in time
├── UnexpectedAnswer              an answer that is none of the service's: look at the address
└── ServiceProblem                the service's own word for it, in `problem`
    ├── RequestProblem            the request is wrong (4xx)
    │   ├── NotFoundProblem       no such index or document (404)
    │   ├── ConflictProblem       an index of other versions, or not one of ours (409)
    │   └── UnknownWordsProblem   no word of the query has an embedding (422)
    └── ServiceFailure            a fault of the service (5xx)
        └── ServiceUnavailable    its store does not answer, or it has none (503)
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from reranker.answers import Problem
from reranker.base.errors import SinkrankError

# RFC 9457, section 4.2.1: the type of a problem that says no more than its status.
_BLANK = "about:blank"
_SAYS_NOTHING = "no problem details came with it: something between here and the service may have sent it"


class ClientError(SinkrankError):
    """A call of the service failed."""


class ServiceUnreachable(ClientError):
    """No connection, or no answer in time."""


class UnexpectedAnswer(ClientError):
    """An answer that is none of the service's."""


class ServiceProblem(ClientError):
    """The service answered with an error."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.detail} ({problem.status} {problem.title})")
        self.problem = problem


class RequestProblem(ServiceProblem):
    """The request is wrong."""


class NotFoundProblem(RequestProblem):
    """There is no such index or document."""


class ConflictProblem(RequestProblem):
    """The index is of other versions, or not one of ours."""


class UnknownWordsProblem(RequestProblem):
    """No word of the query has an embedding."""


class ServiceFailure(ServiceProblem):
    """A fault of the service."""


class ServiceUnavailable(ServiceFailure):
    """The service's store does not answer, or it has none."""


_BY_STATUS = {404: NotFoundProblem, 409: ConflictProblem, 503: ServiceUnavailable}


def error_of_answer(status: int, body: Any) -> ServiceProblem:
    """The error that an answer of 400 or more stands for.

    Args:
        body: the JSON of the answer: problem details, or Cohere's `message`; None where it is not JSON.
    """
    found = _problem(status, body if isinstance(body, Mapping) else {})
    if found.code == "unknown_words":
        return UnknownWordsProblem(found)
    return _BY_STATUS.get(status, RequestProblem if status < 500 else ServiceFailure)(found)


def _problem(status: int, body: Mapping[str, Any]) -> Problem:
    return Problem(
        type=_text(body, "type") or _BLANK,
        title=_text(body, "title") or _phrase(status),
        status=status,
        detail=_text(body, "detail") or _text(body, "message") or _SAYS_NOTHING,
        code=_text(body, "code"),
    )


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
