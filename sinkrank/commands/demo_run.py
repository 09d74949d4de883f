"""The demo: indexes real pages, searches them across languages and in English, and serves."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from reranker.base.errors import BadInput, NotFound, StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.ranking.explanation import telling_pairs
from reranker.search.searcher import SearchAnswer, Searcher, SearchRequest
from reranker.service.examples import Example, write_examples
from reranker.service.settings import Settings
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import Store, WritableStore
from sinkrank.actions import demo_english
from sinkrank.commands.serve import run_service
from sinkrank.console import output, resources, tables
from sinkrank.console.steps import Steps
from sinkrank.demo import Corpus, CorpusUnavailable, load_libreoffice, load_parallel_texts
from sinkrank.demo.pages import as_documents, by_language, write_jsonl
from sinkrank.demo.trained import digest, open_trained, train_on

STATE_FILE = "demo.json"
# The demo's corpora, each with an index of the same name. Only one of them is used.
CORPORA = ("libreoffice", "texts")
N_HITS = 5
N_PAIRS = 3
# Pairs of words with a cosine above 0.5. Other pairs mean nothing to a reader.
NEAR_COST = 1.0


@dataclass(frozen=True, slots=True)
class DemoSearch:
    """A query as a person types it, and the language of the pages to find."""

    text: str
    language: str
    document_language: str


@dataclass(frozen=True, slots=True)
class Showcase:
    """The demo's corpus and examples.

    Attributes:
        index: name of the index and of the file of documents.
        home: folder of its embeddings, store and documents.
    """

    index: str
    home: Path
    corpus: Corpus
    searches: tuple[DemoSearch, ...]

    @property
    def is_help(self) -> bool:
        """Whether its pages are LibreOffice's help, which the everyday queries are about."""
        return self.index == "libreoffice"


LIBREOFFICE_SEARCHES = (
    DemoSearch("taulukon rivin korkeuden muuttaminen", "fi", "el"),  # changing the height of a table's row
    DemoSearch("enregistrer automatiquement toutes les dix minutes", "fr", "en"),  # save every ten minutes
    DemoSearch("how do I print only selected pages", "en", "de"),
)
TEXT_SEARCHES = (
    DemoSearch("un billet d'autobus pour les enfants", "fr", "en"),  # a bus ticket for children
    DemoSearch("light for young plants", "en", "de"),
    DemoSearch("Wasser für die Pflanzen", "de", "fr"),  # water for the plants
)


def run_demo(settings: Settings, console: Console, serve: bool) -> int:
    """Prepares what is missing, prints the searches on standard output, and serves until Ctrl-C.

    Args:
        settings: the demo has its own embeddings, store and index in `home`.
        console: where messages are printed (standard error).

    Returns:
        The exit code: 0.

    Raises:
        BadInput: there are embeddings or an index in its place that the demo did not make.
        StoreUnavailable: the store did not accept the documents.
    """
    steps = Steps(console)
    showcase = _showcase(settings.home, steps, console)
    settings = settings.model_copy(
        update={"home": showcase.home, "embeddings": None, "store": None, "index": showcase.index}
    )
    embeddings = _embeddings(showcase, settings, steps)
    with resources.opened_store(settings) as store:
        _fill(showcase, store, embeddings, steps)
        write_examples(showcase.home, showcase.index, _examples(showcase))
        _search(showcase, Searcher(store, embeddings, settings.n_threads), output.results())
        if serve:
            run_service(settings, store)
    return 0


def _showcase(home: Path, steps: Steps, console: Console) -> Showcase:
    """LibreOffice's help if it can be fetched, otherwise the small texts that come with Sinkrank."""
    try:
        with steps("fetching the LibreOffice help in six languages") as progress:
            corpus = load_libreoffice(home, progress)
    except CorpusUnavailable as error:
        console.print(str(error), markup=False)
        console.print("Using the small texts that come with Sinkrank instead.", markup=False)
        return Showcase("texts", home, load_parallel_texts(), TEXT_SEARCHES)
    return Showcase("libreoffice", home, corpus, LIBREOFFICE_SEARCHES)


def _embeddings(showcase: Showcase, settings: Settings, steps: Steps) -> Embeddings:
    found = open_trained(settings.embeddings_path, showcase.corpus)
    if found is not None:
        return found
    with steps(f"training embeddings on {len(showcase.corpus.train_pages):,} pages") as progress:
        return train_on(showcase.corpus, settings.embeddings_path, progress, replaceable=CORPORA)


def _fill(showcase: Showcase, store: WritableStore, embeddings: Embeddings, steps: Steps) -> None:
    """Indexes the held-out pages, unless the index has all of them.

    The state file is written before the first document and completed after the last one. So the index of a stopped run
    is made again.
    """
    rows = list(as_documents(showcase.corpus.test_pages))
    wanted = {
        "index": showcase.index,
        "documents": digest(rows),
        **asdict(IndexDescription(embeddings.version, embeddings.dim)),
    }
    state_file = showcase.home / STATE_FILE
    state = _read_state(state_file)
    if _is_whole(store, showcase.index, len(rows), wanted, state):
        return
    if _description(store, showcase.index) is not None and state.get("index") != showcase.index:
        raise BadInput(
            f"{store.address} holds an index {showcase.index!r} that the demo did not make; run the demo in another "
            "folder, with `sinkrank demo --home DIR`"
        )
    before = state.get("index")
    if before in CORPORA and before != showcase.index and _description(store, before) is not None:
        store.drop(before)  # of a run without apt, say: its embeddings are gone
    write_jsonl(state_file, [wanted | {"whole": False}])
    documents = showcase.home / f"{showcase.index}.jsonl"
    write_jsonl(documents, rows)
    with (
        steps(f"indexing {len(rows):,} held-out pages") as progress,
        open_sources([str(documents)]) as sources,
    ):
        summary = ingest(sources, store, showcase.index, embeddings, Options(rebuild=True), progress=progress)
    if summary.failure is not None or summary.indexed != len(rows):
        reason = summary.failure or f"{summary.rejected} were rejected, with their reasons in {summary.rejects}"
        raise StoreUnavailable(
            f"{summary.indexed} of {len(rows)} pages are in the index ({reason}); run the demo again"
        )
    write_jsonl(state_file, [wanted | {"whole": True}])


def _is_whole(store: Store, index: str, n_documents: int, wanted: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    if state != {**wanted, "whole": True}:
        return False
    made = _description(store, index)
    return made is not None and asdict(made).items() <= wanted.items() and store.open(index).count() == n_documents


def _description(store: Store, index: str) -> IndexDescription | None:
    """The description of the index; None if there is no such index or store."""
    try:
        return store.open(index).description
    except NotFound:
        return None


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _search(showcase: Showcase, searcher: Searcher, console: Console) -> None:
    english = by_language(showcase.corpus.test_pages, "en")
    titles = {page_id: page.title for page_id, page in english.items()}
    for search in showcase.searches:
        request = SearchRequest(
            search.text,
            showcase.index,
            search.language,
            Filters(languages=(search.document_language,)),
            size=N_HITS,
        )
        if search is showcase.searches[0]:
            searcher.search(request)  # loads embeddings and code: the times shown are of searching
        answer = searcher.search(request)
        console.print()
        console.print(_hits(search, request, answer, searcher, titles))
        console.print(tables.search_footer(answer), markup=False)
    if showcase.is_help:
        demo_english.show_english(searcher, showcase.index, console)
    first = showcase.searches[0]
    is_default = showcase.home == Settings.model_fields["home"].default
    home = "" if is_default else f" --home {shlex.quote(str(showcase.home))}"
    languages = f"--lang {first.language} --to {first.document_language}"
    console.print(
        f"\nSearch on: {_as_called()} search {shlex.quote(first.text)} {languages}{home}",
        markup=False,
        soft_wrap=True,
    )


def _examples(showcase: Showcase) -> list[Example]:
    """The examples that the page offers."""
    found = [Example(search.text, search.language, search.document_language) for search in showcase.searches]
    return [*found, Example(demo_english.QUERY, "en", "en")] if showcase.is_help else found


def _as_called() -> str:
    """The command as the user can type it: with its path if the environment is not active, as in `make demo`."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "sinkrank" and shutil.which("sinkrank") is None else "sinkrank"


def _hits(
    search: DemoSearch,
    request: SearchRequest,
    answer: SearchAnswer,
    searcher: Searcher,
    english_titles: Mapping[str, str],
) -> Table:
    """The hits with both ranks and scores, and the word pairs that contributed most to each."""
    table = Table(
        box=box.SIMPLE_HEAD,
        title=f"“{search.text}”: {search.language} asks for pages in {search.document_language}",
        title_justify="left",
        pad_edge=False,
    )
    for name in ("rank", "score", f"{answer.first_stage} rank", f"{answer.first_stage} score"):
        table.add_column(name, justify="right")
    table.add_column("page", ratio=1)
    table.add_column("what brought it nearest", ratio=1)
    for hit in answer.hits:
        explanation = searcher.explain(request, hit.id)
        page = tables.plain(hit.title)
        english = english_titles.get(str(hit.metadata.get("page")), "")
        if hit.language != "en" and english:
            page.append(f"  ({tables.plain(english).plain})", style="dim")
        pairs = [
            f"{pair.query_word} → {pair.document_word}"
            for pair in telling_pairs(explanation.words, N_PAIRS)
            if pair.saving > 0 and pair.cost < NEAR_COST
        ]
        table.add_row(
            str(hit.rank),
            f"{hit.score:.4f}",
            str(hit.first_stage_rank),
            f"{hit.first_stage_score:z.4f}",
            page,
            ", ".join(pairs),
        )
    return table
