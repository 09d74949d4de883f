"""Reads the settings once: flags come before the environment, that before `.env`, that before `sinkrank.toml`, that
before the defaults."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from rapidfuzz import fuzz, process

from reranker.base.errors import UnknownLanguage, WrongParameter

ENVIRONMENT_PREFIX = "SINKRANK_"
SETTINGS_FILE = "sinkrank.toml"
DOTENV_FILE = ".env"

# Variables of ours that are not settings of the service: they steer the test suite.
_NOT_SETTINGS = frozenset(
    {
        "SINKRANK_TEST_ENGINES",
        "SINKRANK_JAVA_HOMES",
        "SINKRANK_ENGINE_CACHE",
        "SINKRANK_REST_TESTS",
        "SINKRANK_CORPUS_CACHE",
    }
)

# Their values are not told where one does not fit; an address may hold a password.
_MAY_BE_SECRET = frozenset({"store", "store_password", "store_api_key", "proxy_nodes"})
_MAX_SHOWN = 40

_LISTS = ("proxy_text_fields", "proxy_nodes")  # parted by commas in the environment


class Settings(BaseModel):
    """Each setting with its default; docs/settings.md describes them, and a test keeps the two together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    home: Path = Field(Path(".sinkrank"), description="folder of what the demo makes, and of the default store")
    embeddings: Path | None = Field(None, description="embedding store; HOME/embeddings where it is not set")
    store: str | None = Field(None, description="a folder, or opensearch://, elasticsearch:// or https:// address")
    index: str | None = Field(None, description="index to search; the store's only one where it is not set")
    store_username: str | None = Field(None, description="user of the engine")
    store_password: SecretStr | None = Field(None, description="its password; better set in the environment")
    store_ca_certs: Path | None = Field(None, description="PEM file of the authorities to trust for https")
    store_verify_certs: bool = Field(True, description="check the engine's certificate")
    store_client_cert: Path | None = Field(
        None, description="PEM file of the certificate that shows the engine who asks"
    )
    store_client_key: Path | None = Field(None, description="PEM file of its key, where that is a file of its own")
    store_api_key: SecretStr | None = Field(None, description="API key of the engine, encoded; in place of a user")
    store_aws_region: str | None = Field(
        None, description="sign requests for AWS of this region, with boto3's credentials; it needs the extra `aws`"
    )
    store_aws_service: Literal["es", "aoss"] = Field("es", description="service that they are signed for")
    store_pipeline: str | None = Field(None, description="ingest pipeline of the engine that documents go through")
    store_timeout_s: float = Field(10.0, gt=0, le=600, description="how long the store may take to answer")
    host: str = Field("127.0.0.1", description="address to listen at")
    port: int = Field(8080, ge=0, le=65535, description="port to listen at; 0 takes a free one")
    threads: int = Field(
        0, ge=0, le=256, description="threads of one re-ranking; 0 for one a core of each process's share, at most 4"
    )
    workers: int = Field(8, ge=1, le=256, description="requests that a process handles at a time")
    processes: int = Field(1, ge=1, le=64, description="processes that serve; over 1 gunicorn starts them")
    drain_s: float = Field(
        0.0, ge=0, le=600, description="how long, once told to stop, it goes on serving while /-/ready says no"
    )
    grace_s: float = Field(15.0, ge=0, le=3600, description="how long it then waits for running requests to end")
    log_format: Literal["plain", "json"] = Field("plain", description="lines for people, or a JSON object a line")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="from which level on it logs; info has a line for each request"
    )
    log_queries: bool = Field(False, description="log the text of queries also above the level debug")
    slow_query_ms: int = Field(1_000, ge=0, description="a search that takes longer is logged; 0 logs none")
    traces: bool = Field(False, description="trace with OpenTelemetry; it needs the extra `otel`")
    first_stage: Literal["auto", "knn", "bm25", "translated", "hybrid"] = Field(
        "auto", description="what fetches the candidates: see [choosing](choosing.md)"
    )
    knn_weight: float = Field(0.5, ge=0, le=1, description="of kNN in the fusion of `hybrid`; BM25 has the rest")
    depth: int = Field(100, ge=1, le=1000, description="candidates that are re-ranked")
    query_language: str | None = Field(
        None, description="language of a query that names none and whose words do not tell; the index's most frequent"
    )
    size: int = Field(10, ge=0, le=1000, description="hits of a page")
    method: str = Field("auto", description="distance that orders the candidates")
    feedback: bool = Field(True, description="score again with the query moved towards its best candidates")
    first_stage_share: float | None = Field(
        None, ge=0, le=1, description="share of the first stage's score in the order; the documented shares if not set"
    )
    unknown_words: Literal["skip", "nearest", "same", "both", "paper"] = Field(
        "both", description="what a word without an embedding takes: see the methods"
    )
    epsilon: float = Field(0.1, gt=0, description="entropic regularisation, in the unit of the cost")
    n_iterations: int = Field(50, ge=1, le=10_000, description="Sinkhorn iterations at most")
    tau: float | None = Field(None, ge=0, description="price of leaving the document's weights; epsilon if not set")
    max_body_bytes: int = Field(5_000_000, ge=1_000, description="largest body that our own routes read")
    max_documents: int = Field(1_000, ge=1, le=10_000, description="documents of one rerank request")
    bag_cache_size: int = Field(
        10_000, ge=0, le=10_000_000, description="texts whose words are kept for when they come again (5 KB each)"
    )
    proxy_window_size: int = Field(100, ge=1, le=1000, description="hits that the proxy re-ranks")
    proxy_text_fields: tuple[str, ...] = Field(
        (),
        description="_source fields to read where the index is not ours; else those of the query, else every string",
    )
    proxy_learn_weights: bool = Field(
        True,
        description="learn how rare words are in each index that is not ours, from a sample of it",
    )
    proxy_translate: Literal["no_hits", "always", "never"] = Field(
        "no_hits", description="when the proxy asks in the documents' languages for a query in another language"
    )
    proxy_nodes: tuple[str, ...] = Field(
        (), description="the engine's nodes that the proxy asks, the next where one is down; the store where not set"
    )
    proxy_budget_ms: int = Field(
        2_000, ge=1, le=600_000, description="time from a search's arrival after which it is not re-ranked any more"
    )
    proxy_max_reranks: int = Field(
        8, ge=1, le=256, description="searches that are re-ranked at a time; others take the engine's order"
    )
    proxy_breaker_failures: int = Field(5, ge=1, description="re-rankings that fail in a row before it rests")
    proxy_breaker_rest_s: float = Field(30.0, gt=0, le=86_400, description="how long it then rests")
    proxy_timeout_s: float = Field(
        300.0, gt=0, le=86_400, description="how long the engine may take to answer what the proxy passes on"
    )
    proxy_max_body_bytes: int = Field(
        1_073_741_824, ge=1_000, description="largest body that the proxy passes on; kept on disk, not in memory"
    )
    proxy_max_answer_bytes: int = Field(
        32_000_000, ge=1_000, description="largest answer of the engine that is re-ranked"
    )

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
        """What `threads` says, or one a core: the processes share the cores, and none takes more than 4."""
        return self.threads or min(4, max(1, (os.cpu_count() or 1) // self.processes))


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, and for each where its value came from: `flag`, `environment`, `.env`, the settings file's name,
    or `default`."""

    settings: Settings
    origins: Mapping[str, str]


def load_settings(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> LoadedSettings:
    """Reads the settings.

    Args:
        flags: values of the command line; those that are None were not given.
        environ: `os.environ` where it is None, and before it what `.env` of the working folder says.
        file: the settings file; `sinkrank.toml` of the working folder, if there is one, where it is None.

    Raises:
        WrongParameter: an unknown key (the nearest known one is named), or a value that does not fit.
    """
    dotenv = _read_dotenv() if environ is None else {}
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    path = file or Path(SETTINGS_FILE)
    layers: list[tuple[str, Mapping[str, Any]]] = [
        (str(path), _read_file(path, required=file is not None)),
        (DOTENV_FILE, _read_environment(dotenv)),
        ("environment", _read_environment(environ)),
        ("flag", {name: value for name, value in (flags or {}).items() if value is not None}),
    ]
    for origin, layer in layers:
        for name, value in layer.items():
            if name not in Settings.model_fields:
                raise WrongParameter(_unknown_key(name, origin))
            values[name] = value
            origins[name] = origin
    try:
        return LoadedSettings(Settings(**values), origins)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        came = "" if name in _MAY_BE_SECRET else f"; got {str(first['input'])[:_MAX_SHOWN]!r}"
        raise WrongParameter(f"setting {name} (from {origins.get(name, 'flag')}): {first['msg']}{came}") from None


def _read_file(path: Path, required: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise WrongParameter(f"there is no settings file {str(path)!r}; name one that exists") from None
        return {}
    except OSError as error:
        raise WrongParameter(f"settings file {str(path)!r} cannot be read ({error.strerror}); name another") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongParameter(f"{path} is not TOML in UTF-8 ({error}); a line is such as port = 9000") from error


def _read_dotenv() -> dict[str, str]:
    """The variables of `.env`, taken as they stand; a name without a value is left out."""
    path = Path(DOTENV_FILE)
    try:
        found = dotenv_values(path, interpolate=False) if path.is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise WrongParameter(f"{DOTENV_FILE} cannot be read ({error}); mend it, or take it away") from error
    return {name: value for name, value in found.items() if value is not None}


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, value in environ.items():
        # An empty variable is one that was not set: compose files write them so.
        if variable.startswith(ENVIRONMENT_PREFIX) and variable not in _NOT_SETTINGS and value:
            name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
            values[name] = tuple(value.split(",")) if name in _LISTS else value
    return values


def _unknown_key(name: str, origin: str) -> str:
    match = process.extractOne(name, list(Settings.model_fields), scorer=fuzz.ratio)
    nearest = f"; did you mean {match[0]!r}?" if match and match[1] >= 60 else ""
    shown = f"{ENVIRONMENT_PREFIX}{name.upper()}" if origin in ("environment", DOTENV_FILE) else name
    return f"{shown} (from {origin}) is not a setting{nearest or '; `sinkrank serve --print-settings` lists them'}"
