"""Indexes a judged collection, and prints and writes the comparison of methods on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sinkrank.actions import judged
from sinkrank.console import output, resources

if TYPE_CHECKING:
    from ingest.progress import Progress
    from papers.judged.beir import Collection
    from papers.judged.indexing import Indexed
    from reranker.search.searcher import Searcher
    from reranker.service.settings import Settings
    from sinkrank.evaluation.comparison import Run
    from sinkrank.evaluation.judgments import JudgedQuery


@dataclass(frozen=True)
class Wanted:
    """The collection, and where to index it.

    Attributes:
        source: a folder in BEIR's layout, or a name of ir_datasets.
        lang: language of queries and documents, `en` or `en-de`; None to detect it.
        store: None for a temporary store, unless `index` is given.
        index: name of the index, which is kept; None for an index that is deleted at the end.
    """

    source: str
    qrels: Path | None
    lang: str | None
    store: str | None
    index: str | None


@dataclass(frozen=True)
class IndexedCollection:
    """A collection in an index.

    Attributes:
        languages: of the queries, and of the documents.
        queries: the collection's, each with its language.
    """

    collection: Collection
    languages: tuple[str, str]
    queries: Sequence[JudgedQuery]
    index: Indexed
    searcher: Searcher

    def run(self, settings: Settings, method: str, queries: Sequence[JudgedQuery], progress: Progress) -> Run:
        """Runs queries by a method in the way of the settings, and measures the results."""
        from sinkrank.evaluation.comparison import Way, run_way

        return run_way(Way.of(settings, method), self.searcher, self.index.index, queries, progress)

    def described(self) -> dict[str, Any]:
        """The collection in a report."""
        return {
            "name": self.collection.name,
            "documents": self.index.n_documents,
            "queries": len(self.queries),
            "query_language": self.languages[0],
            "document_language": self.languages[1],
        }


@contextmanager
def opened(wanted: Wanted, settings: Settings, progress: Progress) -> Iterator[IndexedCollection]:
    """Opens a collection and indexes it. An index without a name is deleted at the end."""
    from papers.judged.indexing import indexed
    from papers.judged.languages import languages_of
    from papers.judged.sources import opened_collection
    from reranker.search.searcher import Searcher

    embeddings = resources.open_embeddings(settings)
    with opened_collection(wanted.source, wanted.qrels, progress) as collection:
        languages = languages_of(collection, wanted.lang, embeddings)
        queries = [replace(query, language=query.language or languages[0]) for query in collection.queries]
        with (
            _opened_store(wanted, settings) as store_settings,
            resources.opened_store(store_settings) as store,
            indexed(collection, languages[1], store, embeddings, wanted.index, progress) as index,
        ):
            searcher = Searcher(store, embeddings, settings.n_threads)
            yield IndexedCollection(collection, languages, queries, index, searcher)


@contextmanager
def _opened_store(wanted: Wanted, settings: Settings) -> Iterator[Settings]:
    """The settings with the store for the index: the given one, or a temporary folder."""
    if wanted.store is not None or wanted.index is not None:
        yield settings
        return
    from reranker.base.temporary import temporary_folder

    with temporary_folder("sinkrank-measured-") as folder:
        yield settings.model_copy(update={"store": str(folder)})


def present(
    found: IndexedCollection,
    runs: Sequence[Run],
    folder: Path | None,
    as_json: bool,
    more: dict[str, Any],
) -> None:
    """Prints the comparison of the runs, and writes it into the folder.

    Args:
        more: added to the report in JSON.
    """
    if found.index.n_left_out:
        rows = output.counted(found.index.n_left_out, "row")
        output.talk().print(f"{rows} of {found.collection.corpus} left out: no text, no id, or the id of a row before")
    described = {"collection": found.described()} | more
    judged.present(found.index.index, runs, found.collection.queries, folder, as_json, described)
    if not as_json:
        documents = output.counted(found.index.n_documents, "document")
        asking, searched = found.languages
        output.results().print(f"{documents} in {searched!r}, queries in {asking!r}")
