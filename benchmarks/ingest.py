"""Compares ingest with opensearch-py's `parallel_bulk`, which gets the same finished documents.

Both sides write to one node, in turn, into new indices with the same mapping and settings (the engine's default refresh
interval), and end with a refresh. The times include:

    ingest          Starting its processes, each of which loads the vocabulary. Reading a JSONL file twice: first to
                    count document frequencies (tokenise, look up words), then to weight, pack and write JSON. Making
                    the index, the idf and the hubness sample.
    parallel_bulk   Writing the JSON of dictionaries in memory, with its four default threads. The index exists before
                    the clock starts.

Options: `python -m benchmarks.ingest --help`
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ingest.documents import Layout
from ingest.encoding import RowCounter, RowEncoder, RowReader
from ingest.files import in_pieces, open_sources, read_rows
from ingest.pipeline import ingest
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.protocol import WritableStore
from reranker.upstream.addresses import EngineAddress, read_address

# The processes that ingest starts import this module again. So packages that they do not need are imported where they
# are used.
if TYPE_CHECKING:
    import opensearchpy

WORDS_A_DOCUMENT = 150
SEED = 20180326
# The defaults of opensearch-py.
PEER_THREADS, PEER_CHUNK = 4, 500
# Number of documents for the rates of one core.
RATE_DOCUMENTS = 5_000


def write_documents(source: Path, target: Path, n_documents: int) -> None:
    """Documents of 150 words, cut from longer ones of a JSONL file in random order. If the file has too few, they are
    repeated with other ids."""
    cut = list(_cut(source))
    random.Random(SEED).shuffle(cut)  # noqa: S311 - no secret
    with target.open("w", encoding="utf-8") as file:
        for number in range(n_documents):
            language, text = cut[number % len(cut)]
            file.write(json.dumps({"id": str(number), "language": language, "text": text}) + "\n")


def _cut(source: Path) -> Iterator[tuple[str, str]]:
    with source.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            words = row["text"].split()
            for start in range(0, len(words) - WORDS_A_DOCUMENT + 1, WORDS_A_DOCUMENT):
                yield row["language"], " ".join(words[start : start + WORDS_A_DOCUMENT])


class Rates(NamedTuple):
    """Documents a second of processor time, in one process.

    Attributes:
        both: counting, then encoding, as in a first ingest.
        alone: encoding, as in an ingest into an index that has document frequencies.
    """

    both: float
    alone: float


def processor_rates(documents: Path, store: WritableStore, embeddings: Embeddings, rounds: int) -> list[Rates]:
    """The rates of each round. The first round is left out, because it looks up every word for the first time."""
    with open_sources([str(documents)]) as sources:
        rows = (row for source in sources for row in read_rows(source))
        pieces = list(in_pieces(islice(rows, RATE_DOCUMENTS)))
    store.promote("cpu", store.stage("cpu", IndexDescription(embeddings.version, embeddings.dim)))
    count = RowCounter(embeddings.languages)
    encode = RowEncoder(embeddings.idf, store.preparer("cpu"))
    store.drop("cpu")
    rates = []
    for _ in range(rounds + 1):
        reader = RowReader(embeddings, Layout())
        started = time.process_time()
        for piece in pieces:
            count(reader, piece)
        for piece in pieces:
            encode(reader, piece)
        both = time.process_time()
        for piece in pieces:
            encode(reader, piece)
        alone = time.process_time()
        n_documents = sum(map(len, pieces))
        rates.append(Rates(n_documents / (both - started), n_documents / (alone - both)))
    return rates[1:]


def ours(documents: Path, store: WritableStore, embeddings: Embeddings) -> float:
    """Seconds of one ingest into a new index."""
    with open_sources([str(documents)]) as sources:
        started = time.perf_counter()
        summary = ingest(sources, store, "ours", embeddings)
        seconds = time.perf_counter() - started
    if not summary.is_whole:
        raise SystemExit(f"not all documents came in: {summary}")
    return seconds


def finished(store: WritableStore, client: opensearchpy.OpenSearch) -> list[dict[str, object]]:
    """The documents that our ingest wrote, in the form that `parallel_bulk` takes."""
    from opensearchpy import helpers

    (version,) = store.versions("ours")
    hits = helpers.scan(client, index=version.name, size=500)
    return [{"_index": "theirs", "_id": hit["_id"], "_source": hit["_source"]} for hit in hits]


def theirs(
    actions: Sequence[dict[str, object]], store: WritableStore, client: opensearchpy.OpenSearch, embeddings: Embeddings
) -> float:
    """Seconds of one `parallel_bulk` into a new index."""
    from opensearchpy import helpers

    store.promote("theirs", store.stage("theirs", IndexDescription(embeddings.version, embeddings.dim)))
    started = time.perf_counter()
    results = helpers.parallel_bulk(client, actions, thread_count=PEER_THREADS, chunk_size=PEER_CHUNK)
    n_written = sum(1 for ok, _ in results if ok)
    client.indices.refresh(index="theirs", request_timeout=600)
    seconds = time.perf_counter() - started
    if n_written != len(actions):
        raise SystemExit(f"{n_written} of {len(actions)} documents came in")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--home", type=Path, default=Path(".sinkrank"), help="home of the demo, with its embeddings and documents"
    )
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", default="opensearch-2.19.1", help="engine that the test suite can start")
    parser.add_argument("--url", help="URL of a running engine, instead of starting one")
    options = parser.parse_args()
    from tests.support.engines.nodes import start_node

    embeddings = Embeddings.open(options.home / "embeddings")
    with tempfile.TemporaryDirectory(prefix="sinkrank-bench-") as name:
        documents = Path(name, "documents.jsonl")
        write_documents(options.home / "libreoffice.jsonl", documents, options.documents)
        print(
            f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
            f"{options.url or options.engine}; "
            f"{options.documents:,} documents of {WORDS_A_DOCUMENT} words, {embeddings.n_terms:,} terms, "
            f"dim {embeddings.dim}; seed {SEED}"
        )
        with ExitStack() as stack:
            url = options.url
            if url is None:
                # The node compiles fully, since its speed is measured. With half the heap it would sometimes refuse
                # requests for lack of memory, which `parallel_bulk` does not repeat.
                started = start_node(options.engine, heap="2g", java_options=["-XX:TieredStopAtLevel=4"])
                url = stack.enter_context(started).url
            compare(documents, url, embeddings, options.rounds)


def compare(documents: Path, url: str, embeddings: Embeddings, rounds: int) -> None:
    """Measures both sides in turn and prints medians, spread and ratio."""
    from reranker.stores.engine.client import connect
    from reranker.upstream.nodes import Upstream

    where = read_address(url)
    if not isinstance(where, EngineAddress):
        raise SystemExit(f"{url} is no engine")
    store, client = open_store(url, timeout_s=600), connect(Upstream(where, timeout_s=600))
    rates = processor_rates(documents, store, embeddings, rounds)
    for name, values in (
        ("counted and encoded", [one.both for one in rates]),
        ("encoded", [one.alone for one in rates]),
    ):
        median = statistics.median(values)
        print(f"one core, documents a second {name}: {median:,.0f} ({min(values):,.0f} to {max(values):,.0f})")
    seconds: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        our_seconds = ours(documents, store, embeddings)
        actions = finished(store, client)
        store.drop("ours")
        their_seconds = theirs(actions, store, client, embeddings)
        store.drop("theirs")
        if number:  # the first round warms the node up
            seconds.append((our_seconds, their_seconds))
            ratio = our_seconds / their_seconds
            print(
                f"  ingest {our_seconds:.1f} s, parallel_bulk {their_seconds:.1f} s, ratio {ratio:.2f}, "
                f"load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    ratios = sorted(ours_ / theirs_ for ours_, theirs_ in seconds)
    print(
        f"ingest {statistics.median(one for one, _ in seconds):.1f} s, parallel_bulk "
        f"{statistics.median(one for _, one in seconds):.1f} s, ratio {statistics.median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )
    client.close()
    store.close()


if __name__ == "__main__":
    main()
