"""Finds the parts of an index that are out of date: documents, document frequencies, vectors."""

from __future__ import annotations

from collections.abc import Iterator

from reranker.embeddings import Embeddings
from reranker.stores.base.cures import store_command
from reranker.stores.base.protocol import WritableStore
from reranker.text.idf import IdfTable

# A tenth more documents change log(N / df) by 0.1 at most.
_GROWTH_WORTH_A_REFRESH = 0.1


def stale_parts(store: WritableStore, index: str, embeddings: Embeddings, idf: IdfTable) -> Iterator[str]:
    """The parts that are out of date, each with the command that updates it; empty if there are none.

    Args:
        idf: the idf of the index.
    """
    for version in store.versions(index):
        if version.run is not None:
            yield (
                f"the run that makes {version.name} has not finished; if it was stopped, give its command again, or if "
                f"its files have changed since, ingest them with --rebuild"
            )
    refresh = f"{store_command(store.address, 'ingest', 'refresh', '--index', index)} counts again"
    grown = []
    for language, n_documents in sorted(store.open(index).languages().items()):
        if language not in embeddings.languages:
            continue
        counted = idf.languages[language].n_documents if language in idf.languages else 0
        if abs(n_documents - counted) > _GROWTH_WORTH_A_REFRESH * max(1, counted):
            grown.append(f"the idf of {language} was counted over {counted:,} documents; there are {n_documents:,} now")
    if grown:
        yield f"{', '.join(grown)}; {refresh}"
    versions = {language: idf.weights_version(language) for language in idf.languages}
    if versions and next(iter(store.bags(index, versions)), None) is not None:
        yield f"some documents are weighted with older document frequencies; {refresh}"
