"""The checks of `sinkrank doctor`. The result of each is one sentence."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.staleness import stale_parts
from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import MIN_QUERIES, HubnessSample
from reranker.native.library import LEVEL
from reranker.service.settings import Settings
from reranker.service.settings_sources import LoadedSettings
from reranker.stores.base.cures import store_command
from reranker.stores.base.description import check_versions
from reranker.stores.base.protocol import WritableStore
from reranker.stores.embedded.store import EmbeddedStore
from reranker.stores.engine.store import EngineStore
from sinkrank.actions import in_process_proxy
from sinkrank.console import resources


@dataclass(frozen=True, slots=True)
class Finding:
    """The name of a check, whether it passed, and what was found or what to do."""

    name: str
    ok: bool
    message: str


def run_checks(loaded: LoadedSettings, quick: bool = False) -> list[Finding]:
    """Runs all checks in order, also after one has failed.

    Args:
        quick: whether to skip reading all embeddings and the whole embedded store.
    """
    embeddings, found = _embeddings(loaded.settings, quick)
    return [_python(), _processor(), _settings(loaded), found, *_store(loaded.settings, embeddings, quick)]


def _processor() -> Finding:
    instructions = {"base": "those of any processor", "avx2": "AVX2 and FMA", "avx512": "AVX-512 with VNNI"}
    return Finding("processor", True, f"the compiled loops use {instructions[LEVEL]}")


def _python() -> Finding:
    return Finding("python", True, platform.python_version())


def _settings(loaded: LoadedSettings) -> Finding:
    counted = Counter(origin for origin in loaded.origins.values() if origin != "default")
    given = "".join(f"{n} from {origin}, " for origin, n in counted.items())
    return Finding("settings", True, f"{given}the others have their defaults")


def _embeddings(settings: Settings, quick: bool) -> tuple[Embeddings | None, Finding]:
    try:
        embeddings = resources.open_embeddings(settings)
        if not quick:
            for _ in embeddings.checked_blocks():
                pass
    except SinkrankError as error:
        return None, Finding("embeddings", False, str(error))
    found = (
        f"{embeddings.path}: version {embeddings.version}, {embeddings.n_terms:,} terms of {embeddings.dim} "
        f"dimensions ({', '.join(embeddings.languages)})"
    )
    for encoder in embeddings.query_encoders:
        encoder.load()
        if encoder.problem:
            return embeddings, Finding("embeddings", False, f"{found}; queries are not encoded: {encoder.problem}")
        languages = ", ".join(encoder.model.languages)
        found += f"; queries in {languages} are encoded by {encoder.model.name}"
    return embeddings, Finding("embeddings", True, found)


def _store(settings: Settings, embeddings: Embeddings | None, quick: bool) -> Iterator[Finding]:
    try:
        with resources.opened_store(settings) as store:
            names = store.indices()
            indices = "1 index" if len(names) == 1 else f"{len(names)} indices"
            if not quick and isinstance(store, EmbeddedStore):
                for _ in store.checked_steps():
                    pass
            yield Finding("store", True, f"{store.address}: {indices} that Sinkrank made")
            for problem in store.problems():
                yield Finding("node", False, problem)
            for name in names:
                yield _index(store, name, embeddings)
            if settings.index is not None and settings.index not in names:
                yield _other_index(settings, store, settings.index, embeddings)
    except SinkrankError as error:
        yield Finding("store", False, str(error))


def _index(store: WritableStore, name: str, embeddings: Embeddings | None) -> Finding:
    label = f"index {name}"
    try:
        reader = store.open(name)
        made = reader.description
        if embeddings is not None:
            check_versions(name, made, embeddings, store.address)
        idf = reader.idf()
        found = f"{reader.count():,} documents, idf of {', '.join(sorted(idf.languages)) or 'no language'}"
        found += f", {_hubness(reader.hubness_sample(), store, name)}"
        stale = [] if embeddings is None else list(stale_parts(store, name, embeddings, idf))
        found += _versions(store, name)
    except SinkrankError as error:
        return Finding(label, False, str(error))
    if embeddings is None:
        return Finding(
            label, False, f"{found}; made with embeddings of version {made.embeddings_version}, which are missing"
        )
    return Finding(label, not stale, "; ".join([found, *stale]))


def _other_index(settings: Settings, store: WritableStore, name: str, embeddings: Embeddings | None) -> Finding:
    """Checks an index that Sinkrank did not make, which the proxy may re-rank, or that does not exist."""
    if not isinstance(store, EngineStore) or not in_process_proxy.is_foreign(store, name):
        return _index(store, name, embeddings)
    label = f"index {name}"
    if embeddings is None:
        passes = "not made by Sinkrank; the proxy passes its searches to the engine until there are embeddings"
        return Finding(label, False, passes)
    from sinkrank.actions.foreign_index import look_at

    try:
        return Finding(label, *look_at(settings, store, name, embeddings))
    except SinkrankError as error:
        return Finding(label, False, str(error))


def _hubness(sample: HubnessSample, store: WritableStore, index: str) -> str:
    counted = {language: len(queries) for language, queries in sample.languages.items()}
    enough = [f"{language} {n}" for language, n in counted.items() if n >= MIN_QUERIES]
    few = [f"{language} {n}" for language, n in counted.items() if n < MIN_QUERIES]
    if not sample.embeddings_version:
        refresh = store_command(store.address, "ingest", "refresh", "--index", index)
        return f"no hubness sample ({refresh} draws one)"
    too_few = f" (under {MIN_QUERIES}, so not used: {', '.join(few)})" if few else ""
    return f"hubness sample of {', '.join(enough) or 'no language'}{too_few}"


def _versions(store: WritableStore, name: str) -> str:
    versions = store.versions(name)
    others = [version.name for version in versions if not version.is_serving]
    serving = "".join(f", version {version.name}" for version in versions if version.is_serving)
    return f"{serving}, also kept: {', '.join(others)}" if others else serving
