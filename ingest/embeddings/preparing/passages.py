"""The last step for English documents: encodes passages, and maps the joined embeddings to their encodings."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from ingest.embeddings.preparing.parts import PASSAGES, Estimate
from ingest.embeddings.preparing.texts import Texts
from ingest.embeddings.sentence_map import map_store, sentence_map
from ingest.embeddings.summary import Summary
from ingest.embeddings.word_encoder import WordVectors
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings, Precision
from reranker.embeddings.query_encoder import QueryEncoderFiles, QueryModel

N_PASSAGES = 6_000
"""Maximum number of encoded passages. Half as many gain nearly as much (docs/evaluation.md)."""

MIN_PASSAGES = 500
"""With fewer passages the map is mostly noise."""

PASSAGE_WORDS = 40
ENCODING_S = 60.0
"""Time limit of encoding, in seconds. A slow machine uses fewer passages."""

PASSAGES_A_SECOND = 250
"""Passages per second and core on an AMD EPYC (AVX-512)."""

ENCODER_BYTES = 24_000_000
"""The model, which the store keeps for queries."""

_LANGUAGE = "en"
# Passages between two looks at the clock.
_BATCH = 256
_DISTINCT_WORDS_A_PASSAGE = 25


@dataclass(frozen=True, slots=True)
class PassageMap:
    """Maps joined English embeddings to all-MiniLM-L6-v2's vectors of passages."""

    home: Path
    n_threads: int = 1
    seconds: float = ENCODING_S
    name: str = PASSAGES
    description: str = "map the joined words to all-MiniLM-L6-v2's encodings of passages; keep the model for queries"

    def estimate(self, texts: Texts) -> Estimate:
        n_passages = min(N_PASSAGES, texts.n_pairs / _DISTINCT_WORDS_A_PASSAGE)
        return Estimate(min(self.seconds, n_passages / (PASSAGES_A_SECOND * self.n_threads)))

    def make(
        self,
        joined: Embeddings,
        texts: Texts,
        output: Path,
        notes: list[str],
        *,
        replace: bool = False,
        precision: Precision = "float32",
        progress: Progress = no_progress,
    ) -> Summary:
        """Writes the mapped store.

        Args:
            notes: the method adds sentences for the user.

        Raises:
            SinkrankError: the encoder cannot be fetched or loaded, or there are too few passages.
        """
        from ingest.embeddings.onnx_model import MINILM
        from ingest.embeddings.onnx_words import minilm_words

        passages = draw_passages(texts)
        if len(passages) < MIN_PASSAGES:
            raise BadInput(
                f"the documents have {len(passages)} passages of {PASSAGE_WORDS} words, fewer than {MIN_PASSAGES}"
            )
        encoder = minilm_words(self.home / "models", self.n_threads)._replace(batch_words=_BATCH)
        # Beside the texts and deleted with them, since the file contains text of the documents.
        with WordVectors(texts.path.parent / "passages.sqlite3", encoder) as vectors:
            encoded = vectors.encode(
                passages, lambda done, of, _: progress(done, of, "encoding passages"), seconds=self.seconds
            )
        bags = (joined.idf.weigh(joined.bag(passage, _LANGUAGE), _LANGUAGE) for passage in passages)
        means = [joined.nbow(bag) for bag in bags]
        known = [place for place, mean in enumerate(means) if mean is not None and encoded[place].any()]
        if len(known) < MIN_PASSAGES:
            raise BadInput(
                f"{len(known)} passages were encoded in {self.seconds:.0f} s; at least {MIN_PASSAGES} are needed"
            )
        sentences = sentence_map(np.array([means[place] for place in known]), encoded[known])
        onnx, tokenizer = MINILM.files(self.home / "models")
        query_encoder = QueryEncoderFiles(
            QueryModel(MINILM.name, MINILM.pooling, _LANGUAGE, MINILM.query_prefix),
            onnx,
            tokenizer,
            encoded[known].mean(axis=0),
        )
        notes.append(
            f"passages: the words were mapped to the encodings of {len(known):,} passages; queries are encoded too"
        )
        source = {"mapped": joined.meta["source"], "encoder": encoder.name, "n_passages": len(known)}
        return map_store(
            joined,
            sentences,
            output,
            source=source,
            replace=replace,
            precision=precision,
            query_encoder=query_encoder,
            progress=progress,
        )


def draw_passages(texts: Texts, n: int = N_PASSAGES) -> list[str]:
    """A random sample of passages in random order, the same in each run."""
    # Each document has at least one passage.
    share = min(1.0, 2 * n / texts.n_documents)
    drawn = ((_draw(passage), passage) for document in texts.documents(share) for passage in split(document.full_text))
    return [passage for _, passage in heapq.nsmallest(n, drawn)]


def split(text: str) -> Iterator[str]:
    """Splits a text into passages of `PASSAGE_WORDS` words. A rest of less than half as many is dropped, unless it is
    the whole text."""
    words = text.split()
    for start in range(0, len(words), PASSAGE_WORDS):
        passage = words[start : start + PASSAGE_WORDS]
        if start == 0 or len(passage) >= PASSAGE_WORDS / 2:
            yield " ".join(passage)


def _draw(passage: str) -> bytes:
    return blake2b(passage.encode(), digest_size=8).digest()
