"""Declares each setting once: type, default, limits, description.

The commands' options, `docs/settings.md` and the errors are made from these declarations. `settings_sources.py` reads
the values. A new setting needs a field here and `python -m docs.settings_table`, which writes its row.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import regex
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic.fields import FieldInfo

from reranker.base.cores import n_cores
from reranker.base.errors import UnknownLanguage

# `*`, a name or IPv4 address, or an IPv6 address.
_HOST_NAME = regex.compile(r"\*|[A-Za-z0-9_.-]*[A-Za-z0-9]|[0-9A-Fa-f.]*(:[0-9A-Fa-f.]*){2,}")


def _see(page: str) -> dict[str, Any]:
    """Links a setting to the page that explains it."""
    return {"see": page}


class Settings(BaseModel):
    """All settings with their defaults. Values are validated here; nothing is read from the environment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    home: Path = Field(Path(".sinkrank"), description="folder of the default store, embeddings and fetched files")
    embeddings: Path | None = Field(None, description="embedding store; default: HOME/embeddings")
    store: str | None = Field(
        None,
        description="a folder, or opensearch://, elasticsearch:// or https:// HOST:PORT; several nodes as "
        "opensearch://A:9200,B:9200; default: HOME/store",
        json_schema_extra=_see("operations.md#several-nodes"),
    )
    index: str | None = Field(None, description="index to search; default: the store's only index")
    store_username: str | None = Field(None, description="user name for the engine")
    store_password: SecretStr | None = Field(
        None,
        description="password for the engine; `store_password_file` reads it from a file",
        json_schema_extra=_see("settings.md#secrets"),
    )
    store_ca_certs: Path | None = Field(None, description="certificate authorities (PEM) to trust for https")
    store_verify_certs: bool = Field(True, description="verify the engine's certificate")
    store_client_cert: Path | None = Field(
        None, description="client certificate (PEM) for mutual TLS; the proxy presents it too"
    )
    store_client_key: Path | None = Field(
        None, description="key of the client certificate (PEM), if it is in a file of its own"
    )
    store_api_key: SecretStr | None = Field(
        None,
        description="encoded API key for the engine, instead of user name and password; `store_api_key_file` reads it "
        "from a file",
        json_schema_extra=_see("settings.md#secrets"),
    )
    store_aws_region: str | None = Field(
        None, description="sign requests for this AWS region with boto3's credentials; needs the extra `aws`"
    )
    callers_without_credentials: Literal["refuse", "service_rights"] = Field(
        "refuse",
        description="what searches of an engine do for callers who send no credentials, if the service has some: "
        "answer 401, or read with the service's own rights",
        json_schema_extra=_see("operations.md#who-may-read-what"),
    )
    store_timeout_s: float = Field(10.0, gt=0, le=600, description="timeout of a request to the store, in seconds")

    host: str = Field("127.0.0.1", description="address to listen on")
    allowed_hosts: tuple[str, ...] = Field(
        (),
        description="further host names to answer to, without port; `*` allows any; default: on a loopback address "
        "only localhost and loopback addresses, else any",
        json_schema_extra=_see("http.md#hosts-and-origins"),
    )
    api_keys: Path | None = Field(
        None,
        description="file of the hashed API keys that callers need; default: none are needed",
        json_schema_extra=_see("operations.md#api-keys"),
    )
    port: int = Field(8080, ge=0, le=65535, description="port to listen on; 0 picks a free one")
    threads: int = Field(
        0, ge=0, le=256, description="threads per re-ranking; 0 divides the cores among the processes, at most 4 each"
    )
    workers: int = Field(
        8,
        ge=1,
        le=256,
        description="number of re-rankings at once, per server process: further requests of Sinkrank's own routes "
        "wait, further searches of the proxy keep the engine's order",
        json_schema_extra=_see("operations.md#limits"),
    )
    processes: int = Field(
        0,
        ge=0,
        le=64,
        description="number of server processes; 0: one for each core, at most 4",
        json_schema_extra=_see("operations.md#processes"),
    )
    max_engine_calls: int = Field(
        128,
        ge=1,
        le=1024,
        description="number of requests that wait for one engine node, per server process; further ones get 429",
        json_schema_extra=_see("operations.md#limits"),
    )
    max_client_requests: int = Field(
        64,
        ge=1,
        le=2048,
        description="number of requests of one client address in progress, per server process; further ones wait up to "
        "5 seconds, then get 429",
        json_schema_extra=_see("operations.md#limits"),
    )
    drain_s: float = Field(
        0.0,
        ge=0,
        le=600,
        description="seconds to keep serving after SIGTERM while `/-/ready` returns 503, so that load balancers stop "
        "sending traffic",
    )
    grace_s: float = Field(15.0, ge=0, le=3600, description="seconds to wait, after that, for running requests to end")

    log_format: Literal["plain", "json"] = Field("plain", description="plain text, or one JSON object per line")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="lowest level to log; `info` logs one line per request"
    )
    log_queries: bool = Field(False, description="log the text of queries at `info` too; by default only at `debug`")
    first_stage: Literal["auto", "knn", "bm25", "translated", "hybrid"] = Field(
        "auto", description="how candidates are fetched", json_schema_extra=_see("choosing.md")
    )
    knn_weight: float = Field(0.5, ge=0, le=1, description="weight of kNN in `hybrid`; BM25 has the rest")
    depth: int = Field(100, ge=1, le=1000, description="number of candidates to re-rank, in the proxy too")
    query_language: str | None = Field(
        None,
        description="language of a query that names none, if its words fit several; default: the index's most "
        "frequent language",
    )
    method: str = Field(
        "auto",
        description="method that orders the candidates: auto, relaxed, sinkhorn, emd, rwmd or nbow",
        json_schema_extra=_see("methods.md"),
    )
    feedback: bool = Field(
        True,
        description="score again with the query moved towards its best candidates",
        json_schema_extra=_see("methods.md#feedback"),
    )
    first_stage_share: float | None = Field(
        None,
        ge=0,
        le=1,
        description="share of the first stage's score in the order; default: by first stage",
        json_schema_extra=_see("methods.md#how-much-the-first-stage-counts"),
    )
    epsilon: float = Field(0.1, gt=0, description="entropic regularisation, in the unit of the cost")
    tau: float | None = Field(
        None, ge=0, description="penalty of `relaxed` for leaving the document's weights; default: epsilon"
    )

    max_body_bytes: int = Field(5_000_000, ge=1_000, description="maximum request body of Sinkrank's own routes")
    proxy_mode: Literal["on", "shadow", "interleave"] = Field(
        "on",
        description="re-rank searches; or leave the engine's order and record what would change (`shadow`); or mix "
        "both orders and count clicks (`interleave`)",
        json_schema_extra=_see("proof.md"),
    )
    proxy_text_fields: tuple[str, ...] = Field(
        (), description="`_source` fields to read; default: those of the query, else every string field"
    )
    proxy_learn_weights: bool = Field(
        True,
        description="estimate word frequencies of an index from a sample of its documents",
        json_schema_extra=_see("http.md#any-index"),
    )
    proxy_translate: Literal["no_hits", "always", "never"] = Field(
        "no_hits",
        description="when to search again with the query translated into the documents' languages",
        json_schema_extra=_see("http.md#across-languages"),
    )
    proxy_budget_ms: int = Field(
        2_000, ge=1, le=600_000, description="time limit of a search; after it the hits keep the engine's order"
    )
    proxy_timeout_s: float = Field(
        300.0, gt=0, le=86_400, description="timeout of a request passed to the engine, in seconds"
    )
    proxy_max_body_bytes: int = Field(
        1_073_741_824, ge=1_000, description="maximum request body passed to the engine; buffered on disk"
    )

    @field_validator("allowed_hosts")
    @classmethod
    def _check_hosts(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if _HOST_NAME.fullmatch(name) is None:
                raise ValueError(f"{name!r} is not a host name; give one without scheme and port, such as example.org")
        return names

    @field_validator("query_language")
    @classmethod
    def _check_language(cls, name: str | None) -> str | None:
        if name is None:
            return None
        from reranker.text.languages import language_code  # its lists take time to import

        try:
            return language_code(name)
        except UnknownLanguage as error:
            raise ValueError(str(error)) from None

    @property
    def embeddings_path(self) -> Path:
        return self.embeddings or self.home / "embeddings"

    @property
    def store_address(self) -> str:
        return self.store or str(self.home / "store")

    @property
    def n_threads(self) -> int:
        """The setting `threads`; by default the cores divided by the processes, at most 4."""
        return self.threads or min(4, max(1, n_cores() // (self.processes or 1)))

    @property
    def n_processes(self) -> int:
        """The setting `processes`; by default one for each core, at most 4, and one if the system cannot fork."""
        return self.processes or (min(4, n_cores()) if hasattr(os, "fork") else 1)


def may_be_secret(name: str) -> bool:
    """Whether a setting's value may contain a password, so that it must not be shown. An address may."""
    return name == "store" or SecretStr in value_types(Settings.model_fields[name])


def value_types(field: FieldInfo) -> tuple[Any, ...]:
    """The types of a setting's value, without None: (Path,) for `Path | None`, (tuple[str, ...],) for a tuple."""
    choices = get_args(field.annotation) if type(None) in get_args(field.annotation) else (field.annotation,)
    return tuple(one for one in choices if one is not type(None))


def allowed_values(field: FieldInfo) -> str:
    """A setting's choices or range as text: `es, aoss`, 0 to 65,535; empty without limits."""
    choices = [choice for kind in value_types(field) for choice in get_args(kind) if get_origin(kind) is Literal]
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    limits = {key: getattr(one, key) for one in field.metadata for key in ("gt", "ge", "le") if hasattr(one, key)}
    low = f"over {limits['gt']:,}" if "gt" in limits else f"{limits['ge']:,}" if "ge" in limits else ""
    return f"{low} to {limits['le']:,}" if "le" in limits else f"{low} or more" if "ge" in limits else low
