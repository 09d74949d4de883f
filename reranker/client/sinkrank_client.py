"""Asks the service: one method a route, one answer type each, and an error for each way to fail."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import urllib3
from urllib3.util import parse_url

from reranker.answers import ExplainAnswer, NotThisAnswer, Readiness, RerankAnswer, SearchAnswer, read_answer
from reranker.answers.answer import Kind
from reranker.base.errors import WrongParameter
from reranker.client.errors import ServiceUnreachable, UnexpectedAnswer, error_of_answer

# A thousand hits of a page of text each are some 10 MB.
MAX_ANSWER_BYTES = 64_000_000
# Between two tries: 0, 0.4, 0.8, 1.6, … s, and up to 0.1 s more, so that many clients do not come back at once.
_BACKOFF_S = 0.2
_LONGEST_WAIT_S = 10.0
_JITTER_S = 0.1


class SinkrankClient:
    """The service at one address; safe to share between threads. Close it, or use it as a context manager.

    A 503 and a connection that is refused are tried again with back-off, since all routes only read. An answer that
    is slow is not: the service would do the work twice. Redirects are not followed.

    Raises, in all methods but `ready`:
        ServiceUnreachable: no connection, or no answer in time.
        ServiceProblem: the service answered with an error; its subclasses say which (`reranker.client.errors`).
        UnexpectedAnswer: what answers there is not the service, or it answers with more than 64 MB.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        timeout_s: float = 30.0,
        connect_timeout_s: float = 3.0,
        n_retries: int = 3,
        headers: Mapping[str, str] | None = None,
        pool: urllib3.PoolManager | None = None,
    ) -> None:
        """
        Args:
            url: of the service, with a path where a gateway has it under one.
            timeout_s: the longest silence while the answer is waited for.
            connect_timeout_s: the longest that a connection may take.
            n_retries: how often a call is tried again; 0 never.
            headers: sent with each request: `Authorization` for the engine, `X-Api-Key` for the service, what a gateway
                wants to see, `X-Opaque-Id`, `traceparent`.
            pool: connections of the caller's own making (proxies, certificates), which stay the caller's to close.

        Raises:
            WrongParameter: the URL is none, or a number is out of its range.
        """
        self._url = _checked_url(url)
        for name, seconds in (("timeout_s", timeout_s), ("connect_timeout_s", connect_timeout_s)):
            if not seconds > 0:
                raise WrongParameter(f"{name} is {seconds}; give seconds, more than 0")
        if n_retries < 0:
            raise WrongParameter(f"n_retries is {n_retries}; give 0 for none, or how many")
        self._headers = dict(headers or {})
        self._timeout = urllib3.Timeout(connect=connect_timeout_s, read=timeout_s)
        self._n_retries = n_retries
        self._owns_pool = pool is None
        self._pool = urllib3.PoolManager() if pool is None else pool

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, where they are its own."""
        if self._owns_pool:
            self._pool.clear()

    def search(
        self,
        query: str,
        *,
        index: str | None = None,
        language: str | None = None,
        languages: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        first_stage: str | None = None,
        knn_weight: float | None = None,
        depth: int | None = None,
        method: str | None = None,
        epsilon: float | None = None,
        tau: float | None = None,
        n_iterations: int | None = None,
        feedback: bool | None = None,
        first_stage_share: float | None = None,
        offset: int | None = None,
        size: int | None = None,
    ) -> SearchAnswer:
        """Searches an index in two stages; what is None is the service's to choose (docs/http.md).

        Args:
            language, languages: of the query; of the documents, any of them.
            offset, size: the page: `from` and `size` of the route.
        """
        body = {
            "query": query,
            "index": index,
            "language": language,
            "languages": None if languages is None else list(languages),
            "filters": None if filters is None else dict(filters),
            "first_stage": first_stage,
            "knn_weight": knn_weight,
            "depth": depth,
            "method": method,
            "epsilon": epsilon,
            "tau": tau,
            "n_iterations": n_iterations,
            "feedback": feedback,
            "first_stage_share": first_stage_share,
            "from": offset,
            "size": size,
        }
        return self._post("/v1/search", body, SearchAnswer)

    def explain(
        self,
        query: str | None,
        doc_id: str,
        *,
        search: Mapping[str, Any] | None = None,
        index: str | None = None,
        language: str | None = None,
        languages: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        first_stage: str | None = None,
        knn_weight: float | None = None,
        depth: int | None = None,
        method: str | None = None,
        epsilon: float | None = None,
        tau: float | None = None,
        n_iterations: int | None = None,
        feedback: bool | None = None,
        first_stage_share: float | None = None,
    ) -> ExplainAnswer:
        """Takes the score of a document for a search apart; arguments as of `search`.

        Args:
            query: None with `search`.
            search: the body of a search of the engine, as it is sent to the proxy; its options stand in it.
        """
        body = {
            "query": query,
            "id": doc_id,
            "search": None if search is None else dict(search),
            "index": index,
            "language": language,
            "languages": None if languages is None else list(languages),
            "filters": None if filters is None else dict(filters),
            "first_stage": first_stage,
            "knn_weight": knn_weight,
            "depth": depth,
            "method": method,
            "epsilon": epsilon,
            "tau": tau,
            "n_iterations": n_iterations,
            "feedback": feedback,
            "first_stage_share": first_stage_share,
        }
        return self._post("/v1/explain", body, ExplainAnswer)

    def rerank(
        self,
        query: str,
        documents: Sequence[str | Mapping[str, Any]],
        *,
        top_n: int | None = None,
        rank_fields: Sequence[str] | None = None,
        return_documents: bool | None = None,
        index: str | None = None,
        language: str | None = None,
        document_languages: str | Sequence[str] | None = None,
        method: str | None = None,
        epsilon: float | None = None,
        tau: float | None = None,
        n_iterations: int | None = None,
    ) -> RerankAnswer:
        """Re-ranks texts, or objects with a key `text` or those of `rank_fields`, by `POST /v2/rerank`.

        Args:
            index: whose document frequencies weigh the words; None for those of the embeddings' training texts.
            document_languages: one for all, or one each; guessed where it is None.
        """
        one_each = document_languages is not None and not isinstance(document_languages, str)
        body = {
            "query": query,
            "documents": list(documents),
            "top_n": top_n,
            "rank_fields": None if rank_fields is None else list(rank_fields),
            "return_documents": return_documents,
            "index": index,
            "language": language,
            "document_languages": list(document_languages or ()) if one_each else document_languages,
            "method": method,
            "epsilon": epsilon,
            "tau": tau,
            "n_iterations": n_iterations,
        }
        return self._post("/v2/rerank", body, RerankAnswer)

    def ready(self) -> Readiness:
        """What the service says of its parts; one that is not ready is no error, and is not asked again.

        Raises:
            ServiceUnreachable, UnexpectedAnswer, ServiceProblem: it does not say.
        """
        status, answer = self._ask("GET", "/-/ready", None, n_retries=0)
        if isinstance(answer, dict) and isinstance(answer.get("checks"), dict):
            return self._read(Readiness, answer)
        raise self._failure(status, answer)

    def _post(self, path: str, body: Mapping[str, Any], kind: type[Kind]) -> Kind:
        given = {name: value for name, value in body.items() if value is not None}
        status, answer = self._ask("POST", path, given, self._n_retries)
        if status == 200 and isinstance(answer, dict):
            return self._read(kind, answer)
        raise self._failure(status, answer)

    def _read(self, kind: type[Kind], answer: Any) -> Kind:
        try:
            return read_answer(kind, answer)
        except NotThisAnswer as error:
            raise UnexpectedAnswer(
                f"{self._url} answered what this client cannot read ({error}); use the client of its version"
            ) from error

    def _failure(self, status: int, answer: Any) -> Exception:
        if status >= 400:
            return error_of_answer(status, answer)
        return UnexpectedAnswer(
            f"{self._url} answered {status}, and not as Sinkrank does; give the address of `sinkrank serve`"
        )

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, n_retries: int) -> tuple[int, Any]:
        """Status and JSON of the answer; None for one that is not JSON."""
        try:
            response = self._pool.request(
                method,
                self._url + path,
                json=body,
                headers={**self._headers, **({} if body is None else {"Content-Type": "application/json"})},
                timeout=self._timeout,
                retries=_retries(n_retries),
                redirect=False,
                preload_content=False,
            )
            data = response.read(MAX_ANSWER_BYTES + 1)
        except urllib3.exceptions.HTTPError as error:
            raise ServiceUnreachable(
                f"{self._url} does not answer ({_reason(error)}); start it with `sinkrank serve`, give its address, or "
                f"more time"
            ) from error
        if len(data) > MAX_ANSWER_BYTES:
            response.close()
            raise UnexpectedAnswer(f"the answer is over {MAX_ANSWER_BYTES} bytes; ask for fewer hits at a time")
        response.release_conn()
        try:
            return response.status, json.loads(data)
        except (ValueError, RecursionError):
            return response.status, None


def _checked_url(url: str) -> str:
    try:
        parsed = parse_url(url)
    except urllib3.exceptions.LocationParseError:
        parsed = urllib3.util.Url()
    # The URL is not shown: it may hold a password.
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
        raise WrongParameter("the URL of the service is no http:// or https:// address; give http://HOST:PORT")
    if parsed.auth:
        raise WrongParameter("the URL of the service holds credentials; give them in headers (Authorization)")
    return url.rstrip("/")


def _retries(n: int) -> urllib3.Retry:
    return urllib3.Retry(
        total=None,
        connect=n,
        status=n,
        read=0,
        other=0,
        redirect=0,
        allowed_methods=None,
        status_forcelist=(503,),
        backoff_factor=_BACKOFF_S,
        backoff_max=_LONGEST_WAIT_S,
        backoff_jitter=_JITTER_S,
        raise_on_status=False,
        # It may name hours.
        respect_retry_after_header=False,
    )


def _reason(error: urllib3.exceptions.HTTPError) -> str:
    cause = error.reason if isinstance(error, urllib3.exceptions.MaxRetryError) else error
    return type(cause or error).__name__
