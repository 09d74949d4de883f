"""The last step: encodes passages, and maps the joined embeddings to their encodings."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.copying import append_store
from ingest.embeddings.preparing.parts import PASSAGES
from ingest.embeddings.preparing.texts import DocumentFile
from ingest.embeddings.sentence_map import ridge
from ingest.embeddings.spectral import unit_rows
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.word_encoder import BATCH
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.embeddings.query_encoder import QueryEncoderFiles
from reranker.text.segmentation import UNSPACED_LANGUAGES, split_words

if TYPE_CHECKING:
    from ingest.embeddings.sentence_models import SentenceModel

N_PASSAGES = 6_000
"""Maximum number of encoded passages. Half as many gain nearly as much (papers/results/order.md)."""

MIN_PASSAGES = 50
"""The least that was tried (papers/results/embeddings.md), in all and for a language's own mean."""

PASSAGE_WORDS = 40


@dataclass(frozen=True, slots=True)
class PassageMap:
    """Maps joined embeddings to a sentence encoder's vectors of passages.

    Attributes:
        languages: of the passages, and of the queries that the encoder reads.
        n_passages: maximum number of encoded passages.
    """

    model: SentenceModel
    languages: Sequence[str]
    home: Path
    n_threads: int = 1
    n_passages: int = N_PASSAGES
    name: str = PASSAGES

    @property
    def description(self) -> str:
        return f"map the joined words to {self.model.name}'s encodings of passages; keep the model for queries"

    def make(
        self,
        joined: Embeddings,
        texts: DocumentFile,
        output: Path,
        progress: Progress = no_progress,
    ) -> EmbeddingsSummary:
        """Writes the mapped store.

        Raises:
            SinkrankError: the encoder cannot be fetched or loaded, or there are too few passages.
        """
        started = time.monotonic()
        passages = draw_passages(texts, self.languages, self.n_passages)
        if len(passages) < MIN_PASSAGES:
            raise BadInput(
                f"the documents have {len(passages)} passages of {PASSAGE_WORDS} words, fewer than {MIN_PASSAGES}"
            )
        encoded = encode_passages(self.model, passages, self.home, self.n_threads, progress)
        known, means = passage_means(joined, passages)
        if len(known) < MIN_PASSAGES:
            raise BadInput(f"{len(known)} passages have a known word; at least {MIN_PASSAGES} are needed")
        # Each language has a region of its own in the encoder's space, which is unrelated to the meaning. Its vectors
        # lie in a narrow cone around its mean.
        spoken = np.array([passages[place][0] for place in known])
        centres = np.array([_mean(encoded[known][spoken == language], encoded[known]) for language in self.languages])
        centred = encoded[known] - centres[[self.languages.index(language) for language in spoken]]
        sentences = ridge(means, unit_rows(centred))
        onnx, tokenizer = self.model.files(self.home / "models")
        query_encoder = QueryEncoderFiles(self.model.query_model(self.languages), onnx, tokenizer, centres)
        source = {"mapped": joined.meta["source"], "encoder": self.model.version, "n_passages": len(known)}
        progress(0, None, "writing the mapped embeddings")
        with EmbeddingsWriter(output, dim=sentences.shape[1], source=source, query_encoders=[query_encoder]) as writer:
            append_store(writer, joined, lambda rows: (rows @ sentences).astype(np.float32))
            writer.commit(joined.meta["n_documents"])
        mapped = f"the words were mapped to the encodings of {len(known):,} passages; queries are encoded too"
        return EmbeddingsSummary.of(Embeddings.open(output), started, warnings=[mapped])


def _mean(vectors: NDArray[np.float32], otherwise: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of vectors; of others if there are too few."""
    found: NDArray[np.float32] = (vectors if len(vectors) >= MIN_PASSAGES else otherwise).mean(axis=0)
    return found


Passage = tuple[str, str]
"""The language and the text."""


def encode_passages(
    model: SentenceModel, passages: Sequence[Passage], home: Path, n_threads: int, progress: Progress
) -> NDArray[np.float32]:
    """(n_passages, dim): an encoder's vectors of passages.

    Raises:
        NotFound, FetchFailed, BadInput: the encoder cannot be fetched or read.
    """
    from ingest.embeddings.sentence_models import open_encoder

    encoder = open_encoder(model, home / "models", n_threads, model.passage_prefix)
    vectors = np.empty((len(passages), encoder.dim), dtype=np.float32)
    for start in range(0, len(passages), BATCH):
        progress(start, len(passages), "encoding passages")
        vectors[start : start + BATCH] = encoder.encode([text for _, text in passages[start : start + BATCH]])
    progress(len(passages), len(passages), "encoded passages")
    return vectors


def passage_means(embeddings: Embeddings, passages: Sequence[Passage]) -> tuple[list[int], NDArray[np.float32]]:
    """The places of the passages with a known word, and their nBOW embeddings (n, dim)."""
    languages = [language for language, _ in passages]
    bags = embeddings.bags([passage for _, passage in passages], languages)
    means = embeddings.nbows(embeddings.idf.weigh_all(list(zip(bags, languages, strict=True))))
    known = [place for place, mean in enumerate(means) if mean is not None]
    return known, np.array([means[place] for place in known], dtype=np.float32)


def draw_passages(texts: DocumentFile, languages: Sequence[str], n: int = N_PASSAGES) -> list[Passage]:
    """A random sample of passages in random order, the same in each run; each with its language."""
    # Each document has at least one passage.
    share = min(1.0, 2 * n / max(1, sum(texts.languages.get(language, 0) for language in languages)))
    drawn = (
        (_draw(passage), unit.language, passage)
        for unit in texts.units(share)
        if unit.language in languages
        for passage in split(unit.text, unit.language)
    )
    return [(language, passage) for _, language, passage in heapq.nsmallest(n, drawn)]


def split(text: str, language: str) -> Iterator[str]:
    """Splits a text into passages of `PASSAGE_WORDS` words. A rest of less than half as many is dropped, unless it is
    the whole text. In a language without spaces marks between words count as words."""
    words = [f"{word} " for word in text.split()]
    if language in UNSPACED_LANGUAGES:
        words = split_words(words)
    for start in range(0, len(words), PASSAGE_WORDS):
        passage = words[start : start + PASSAGE_WORDS]
        if start == 0 or len(passage) >= PASSAGE_WORDS / 2:
            yield "".join(passage).strip()


def _draw(passage: str) -> bytes:
    return blake2b(passage.encode(), digest_size=8).digest()
