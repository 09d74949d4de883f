"""Opens a judged collection, indexes it in a temporary store, and prints and writes the comparison of methods on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ingest.progress import Progress
from papers.base.language_pairs import language_pair
from papers.judged.beir import Collection, read_beir
from papers.judged.indexing import INDEX, Indexed, index_collection
from reranker.base.errors import UnknownLanguage
from reranker.base.temporary import temporary_folder
from reranker.embeddings import Embeddings
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.text.languages import language_code
from sinkrank.actions import judged
from sinkrank.console import output, resources
from sinkrank.evaluation.comparison import IndexSearches, Run, Way
from sinkrank.evaluation.judgments import JudgedQuery


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
        return IndexSearches(self.searcher, INDEX).run(Way.of(settings, method), queries, progress)

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
def opened(
    source: Path, qrels: Path | None, lang: str, settings: Settings, progress: Progress
) -> Iterator[IndexedCollection]:
    """Opens a collection and indexes it in a store that is deleted at the end.

    Args:
        source: a folder in BEIR's layout.
        qrels: other judgments than the collection's own.
        lang: language of queries and documents, `en` or `en-de`.
    """
    embeddings = resources.open_embeddings(settings)
    collection = read_beir(source, qrels)
    with temporary_folder("sinkrank-measured-") as folder, closing(open_store(str(folder))) as store:
        languages = languages_of(collection, lang, embeddings)
        queries = [replace(query, language=query.language or languages[0]) for query in collection.queries]
        index = index_collection(collection, languages[1], store, embeddings, progress)
        searcher = Searcher(store, embeddings, settings.n_threads)
        searcher.open(INDEX)
        yield IndexedCollection(collection, languages, queries, index, searcher)


def languages_of(collection: Collection, lang: str, embeddings: Embeddings) -> tuple[str, str]:
    """Returns the languages of the queries and of the documents.

    Args:
        lang: `en` for both, `en-de` for queries in English and documents in German.

    Raises:
        UnknownLanguage, WrongParameter: it is neither a language nor two, or the embeddings lack one.
    """
    found = language_pair(lang) if "-" in lang else (language_code(lang), language_code(lang))
    for language, what in zip(found, ("queries", "documents"), strict=True):
        if language not in embeddings.languages:
            raise UnknownLanguage(
                f"the {what} of {collection.name} are in {language!r}, and the embeddings have only "
                f"{', '.join(embeddings.languages)}; give other embeddings with --embeddings, or the right languages "
                "with --lang (en, or en-de for English queries and German documents)"
            )
    return found


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
    name = found.collection.name
    if found.index.n_left_out:
        rows = output.counted(found.index.n_left_out, "row")
        output.talk().print(f"{rows} of {found.collection.corpus} left out: no text, no id, or the id of a row before")
    described = {"collection": found.described()} | more
    judged.present(name, runs, found.collection.queries, folder, as_json, described)
    if not as_json:
        documents = output.counted(found.index.n_documents, "document")
        asking, searched = found.languages
        output.results().print(f"{documents} in {searched!r}, queries in {asking!r}")
