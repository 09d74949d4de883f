"""Makes a corpus's embeddings as `sinkrank embeddings prepare` does, from its training pages alone: training in all
languages, encoded English words and passages, and the encoder of English queries.

`prepare` maps the words to the encodings of English passages. That helps English queries, and parts translations a
little. So each word gets two vectors side by side, the trained one and the mapped one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ingest.documents import Layout, read_records
from ingest.embeddings.preparing.parts import TRAINING, Encoded
from ingest.embeddings.preparing.passages import PassageMap
from ingest.embeddings.preparing.plan import PreparationPlan
from ingest.embeddings.preparing.run import prepare
from ingest.embeddings.preparing.texts import DocumentFile, read_texts
from ingest.embeddings.sentence_models import MINILM
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.training import open_made
from ingest.files import open_sources
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.base.temporary import temporary_folder
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.embeddings.query_encoder import QueryEncoderFiles
from sinkrank.demo.pages import Corpus, as_documents, write_jsonl
from sinkrank.demo.trained import source_of, train_on

N_PASSAGES = 3_000
"""As many fit into the demo's time on two cores. They gain nearly as much as 6,000 (papers/results/order.md)."""

_LANGUAGES = ("en",)


def open_prepared(path: Path, corpus: Corpus) -> Embeddings | None:
    """Opens the store at the path if `prepare_on` made it from exactly this corpus's training pages; otherwise None."""
    return open_made(path, _source(corpus))


def prepare_on(
    corpus: Corpus, path: Path, home: Path, n_threads: int = 1, progress: Progress = no_progress
) -> Embeddings:
    """Makes the store at the path anew, if `check_replaceable` allows it.

    Args:
        home: folder of fetched models.

    Raises:
        BadInput: there are too few pages.
        FetchFailed, NotFound: the sentence encoder cannot be fetched, or a package for it is not installed.
    """
    with temporary_folder(f".{path.name}.preparing-", path.parent) as folder:
        texts = _texts(corpus, folder)
        plan = PreparationPlan(
            [_Training(corpus), Encoded(MINILM, _LANGUAGES, home, n_threads=n_threads)],
            {},
            [PassageMap(MINILM, _LANGUAGES, home, n_threads, N_PASSAGES)],
        )
        report = prepare(texts, plan, folder / "mapped", progress=progress)
        if report.left_out:
            raise BadInput("; ".join(report.left_out.values()))
        _side_by_side(
            Embeddings.open(texts.path.parent / TRAINING), Embeddings.open(folder / "mapped"), path, _source(corpus)
        )
    return Embeddings.open(path)


def _source(corpus: Corpus) -> dict[str, Any]:
    made = {"encoder": MINILM.version, "n_passages": N_PASSAGES}
    return source_of(corpus) | {"prepared": made}


@dataclass(frozen=True, slots=True)
class _Training:
    """The part of `prepare` that learns from the aligned paragraphs of all languages."""

    corpus: Corpus
    name: str = TRAINING
    description: str = "train on aligned paragraphs"

    def make(self, texts: DocumentFile, output: Path, progress: Progress) -> EmbeddingsSummary:
        return EmbeddingsSummary.of(train_on(self.corpus, output, progress), 0.0)


def _texts(corpus: Corpus, folder: Path) -> DocumentFile:
    pages = folder / "pages.jsonl"
    write_jsonl(pages, as_documents(corpus.train_pages))
    layout = Layout()
    with open_sources([str(pages)]) as sources:
        return read_texts(read_records(sources, layout), layout, folder / "texts")


def _side_by_side(trained: Embeddings, mapped: Embeddings, output: Path, source: object) -> None:
    """Writes the words of `mapped`, each with its trained vector (zeros if it was not trained) and its mapped one."""
    encoders = [
        _of_second_half(QueryEncoderFiles.read(mapped.path, each.model), trained.dim) for each in mapped.query_encoders
    ]
    with EmbeddingsWriter(
        output, dim=trained.dim + mapped.dim, source=source, query_encoders=encoders, replace=True
    ) as writer:
        for language in mapped.languages:
            term_ids = mapped.vocabulary.term_ids(language)
            terms = [mapped.term(term_id)[1] for term_id in term_ids.tolist()]
            found = np.array([trained.vocabulary.find(language, term) for term in terms])
            first = np.where((found >= 0)[:, None], trained.vectors[found], np.float32(0))
            frequencies = mapped.document_frequencies
            rows = np.hstack([first, mapped.vectors[term_ids]])
            writer.append(language, terms, rows, None if frequencies is None else frequencies[term_ids])
        writer.commit(mapped.meta["n_documents"])


def _of_second_half(files: QueryEncoderFiles, n_first: int) -> QueryEncoderFiles:
    """The encoder of a store whose space has become the second half of another."""
    n = files.means.shape[1]
    ahead = np.zeros((n, n_first), dtype=np.float32)
    return replace(
        files, model=replace(files.model, is_mapped=True), map=np.hstack([ahead, np.eye(n, dtype=np.float32)])
    )
